"""Tally: what came of the demo of Macs, counted from events and from the world itself. Pure."""

from collections.abc import Iterable

from msgspec import Struct, field

from hostler.domain.model.commands import Event


class MacTally(Struct, frozen=True, kw_only=True):
    """What happened.

    `claimed` are machines that became ready on a host, `released` those whose host was given back
    since, reclaimed hosts included; `wiped` are wipes that ended. `stranded_found` are hosts of
    ours that no record explained, `reclaimed` those of them that are back in the pool, `leaks`
    those that are not. `ordered` hosts were bought; `parked` is how often a machine went to rest on
    a host that was paid for anyway, `woken` how often one came back. Hours and euros are simulated;
    `seconds` are real.
    """

    claimed: int
    released: int
    wiped: int
    stranded_found: int
    reclaimed: int
    leaks: int
    paid_hours: float
    optimal_paid_hours: float
    ordered: int = 0
    parked: int = 0
    woken: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    cost: float = 0.0
    ordered_cost: float = 0.0
    orphan_cost: float = 0.0
    seconds: float = 0.0

    @property
    def above(self) -> float:
        """How much more was paid than the best possible, as a part of that."""
        best = self.optimal_paid_hours
        return self.paid_hours / best - 1 if best else 0.0

    def as_json(self) -> dict[str, object]:
        """Return it as one object."""
        return {
            "claimed": self.claimed,
            "released": self.released,
            "wiped": self.wiped,
            "stranded_found": self.stranded_found,
            "reclaimed": self.reclaimed,
            "leaks": self.leaks,
            "ordered": self.ordered,
            "parked": self.parked,
            "woken": self.woken,
            "paid_hours": round(self.paid_hours, 4),
            "optimal_paid_hours": round(self.optimal_paid_hours, 4),
            "faults": dict(sorted(self.faults.items())),
            "calls": self.calls,
            "cost": round(self.cost, 4),
            "ordered_cost": round(self.ordered_cost, 4),
            "stray_cost": round(self.orphan_cost, 4),
            "seconds": round(self.seconds, 1),
        }


class Moves(Struct, frozen=True, kw_only=True):
    """What machines did: how many were ever ready, and of these are gone; rests and wakings."""

    claimed: int = 0
    deleted: int = 0
    parked: int = 0
    woken: int = 0


def count_moves(events: Iterable[Event]) -> Moves:
    """Count what machines did, from their events."""
    ready, deleted, parked, woken = set[str](), set[str](), 0, 0
    for event in events:
        if event.kind != "moved" or event.machine is None:
            continue
        before, _, after = event.detail.partition(":")[0].partition(">")
        if after == "ready":
            ready.add(event.machine)
        if after == "deleted":
            deleted.add(event.machine)
        parked += after == "standby"
        woken += before == "standby" and after in {"starting", "ready"}
    return Moves(claimed=len(ready), deleted=len(deleted & ready), parked=parked, woken=woken)
