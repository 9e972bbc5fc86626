"""The end of a Provider's object: it stays while fleets name it, or have something of it. Pure.

Whoever deletes a whole namespace waits for it: what it says is why, and what ends that.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hostler.queries.removed import RemovedFleet


class Needs(Struct, frozen=True, kw_only=True):
    """What still needs a provider: the Fleets that `named` it, by the engine's names for them.

    `run` are the fleets that the engine runs with it. `held` is what others have that nobody asks
    for any more, and why nobody can look after it, empty where an engine does.
    """

    named: Mapping[str, str]
    run: Iterable[str]
    held: Iterable[tuple[RemovedFleet, str]]


def provider_left(needs: Needs) -> str:
    """Return what a deleted object still waits for; empty where it may go."""
    texts = [f"Fleet {name} names it" for name in needs.named.values()]
    texts += [f"fleet {name} is run with it" for name in needs.run if name not in needs.named]
    texts += [_holding(held, why) for held, why in needs.held if held.needs_engine]
    return "; ".join(texts)


def _holding(held: RemovedFleet, unread: str) -> str:
    """Return what a fleet without an object has, and what becomes of it."""
    name, about = held.row.name, f"fleet {held.row.name} has {held.what}"
    if unread:
        return f"{about}, and nobody looks after that, for {unread}"
    if held.row.ends:
        return f"{about}, which ends"
    return f"{about}, kept as it is: hostler delete FILE {name} ends it"
