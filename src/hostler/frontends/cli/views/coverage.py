"""Looking: whether a look showed enough for anything to be said."""

from hostler.domain.errors import ProviderError
from hostler.domain.model.inventory import View
from hostler.domain.model.snapshot import HostsSeen, Seen


def whole(seen: Seen) -> None:
    """Raise ProviderError where nothing could be looked at whole: then nothing can be said."""
    _check(seen.view)


def whole_hosts(seen: HostsSeen) -> HostsSeen:
    """Return it, or raise ProviderError as `whole` does."""
    _check(seen.view)
    return seen


def unseen(view: View) -> dict[str, str]:
    """Return each place that could not be looked at whole, with why."""
    return {
        f"{kind}s in {zone}": looked.error for (zone, kind), looked in sorted(view.failed.items())
    }


def _check(view: View) -> None:
    if view.failed and not view.whole:
        errors = dict.fromkeys(f"{zone}: {found.error}" for (zone, _), found in view.failed.items())
        raise ProviderError("the provider could not be looked at: " + "; ".join(errors))
