"""Looking: whether a look showed enough for anything to be said."""

from hostler.domain.errors import ProviderError
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.snapshot import HostsSnapshot, Snapshot


def whole(snapshot: Snapshot) -> None:
    """Raise ProviderError where nothing could be looked at whole: then nothing can be said."""
    _check(snapshot.inventory)


def whole_hosts(snapshot: HostsSnapshot) -> HostsSnapshot:
    """Return it, or raise ProviderError as `whole` does."""
    _check(snapshot.inventory)
    return snapshot


def unseen(inventory: Inventory) -> dict[str, str]:
    """Return each place that could not be looked at whole, with why."""
    return {
        f"{kind}s in {zone}": observed.error
        for (zone, kind), observed in sorted(inventory.failed.items())
    }


def _check(inventory: Inventory) -> None:
    if inventory.failed and not inventory.whole:
        errors = dict.fromkeys(
            f"{zone}: {found.error}" for (zone, _), found in inventory.failed.items()
        )
        raise ProviderError("the provider could not be looked at: " + "; ".join(errors))
