"""The end of a Provider's object: it stays while fleets name it, or have something of it. Pure.

Whoever deletes a whole namespace waits for it: what it says is why, and what ends that.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.frontends.kubernetes.objects.models import PROVIDERS
from hostler.kubernetes.objects import Key
from hostler.queries.removed import RemovedFleet

LEAVE_ORPHANS = "hostler.dev/leave-orphans"
"""The annotation by which a deleted Provider goes though orphans are left: its value is `true`."""

_NOT_LEFT = frozenset(
    {
        OrphanClass.FOREIGN,
        OrphanClass.OUTSIDE,
        OrphanClass.CLAIMED_LOOKING,
        OrphanClass.SCHEDULED,
        OrphanClass.SET_ASIDE,
        OrphanClass.ABANDONED,
    }
)
"""The classes that wait for nobody: the first three are others', the next one goes by itself, and
the last two are on record, and counted there."""

_SHOWN = 3


class Needs(Struct, frozen=True, kw_only=True):
    """What still needs a provider: the Fleets that `named` it, by the engine's names for them.

    `run` are the fleets that the engine runs with it. `held` is what others have that nobody asks
    for any more, and why nobody can look after it, empty where an engine does. `orphans` are those
    of its fleets, with `provider`, the object itself, for which they are left.
    """

    provider: Key
    named: Mapping[str, str]
    run: Iterable[str]
    held: Iterable[tuple[RemovedFleet, str]]
    orphans: Iterable[Orphan] = ()


def provider_left(needs: Needs) -> str:
    """Return what a deleted object still waits for; empty where it may go."""
    texts = [f"Fleet {name} names it" for name in needs.named.values()]
    texts += [f"fleet {name} is run with it" for name in needs.run if name not in needs.named]
    texts += [_holding(held, why) for held, why in needs.held if held.needs_engine]
    ours = sorted((one for one in needs.orphans if is_left(one)), key=_place)
    texts += [_leaving(fleet, tuple(some)) for fleet, some in groupby(ours, lambda one: one.fleet)]
    cure = f"; remove them at the provider, or leave them: {_command(needs.provider)}"
    return "; ".join(texts) + (cure if ours else "")


def is_left(orphan: Orphan) -> bool:
    """Tell whether an orphan is ours, and stays on the bill when nobody looks at it any more."""
    return orphan.cls not in _NOT_LEFT


def _place(orphan: Orphan) -> tuple[str, str]:
    return orphan.fleet, orphan.resource


def _leaving(fleet: str, orphans: Sequence[Orphan]) -> str:
    """Return which orphans are ascribed to a fleet: the first few, and how many more."""
    named = ", ".join(f"{one.kind} {one.resource}" for one in orphans[:_SHOWN])
    more = f" and {len(orphans) - _SHOWN} more" if len(orphans) > _SHOWN else ""
    many = "1 orphan" if len(orphans) == 1 else f"{len(orphans)} orphans"
    return f"fleet {fleet} has {many} ({named}{more}), which nobody would report any more"


def _command(provider: Key) -> str:
    kind = PROVIDERS.full_name
    return f"kubectl -n {provider.namespace} annotate {kind} {provider.name} {LEAVE_ORPHANS}=true"


def _holding(held: RemovedFleet, unread: str) -> str:
    """Return what a fleet without an object has, and what becomes of it."""
    name, about = held.row.name, f"fleet {held.row.name} has {held.what}"
    if unread:
        return f"{about}, and nobody looks after that, for {unread}"
    if held.row.ends:
        return f"{about}, which ends"
    return f"{about}, kept as it is: hostler delete FILE {name} ends it"
