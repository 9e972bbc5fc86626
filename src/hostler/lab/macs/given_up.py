"""Given up: a host that somebody put into a pool ends only where a person asked for that (S11).

A host that was ordered may go once its window is over: orders.py judges that; but none goes that a
person holds. Any other goes back to its pool when its machine ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.hold import Hold
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.testing.invariants import Found, Violation

from .ground_truth import Change, GroundTruth

_RETIRING, _ORDERED, _GONE = "retiring", "ordered", "gone"


@dataclass(slots=True)
class GivenUp:
    """Which hosts were ordered: `bought` bore the name of an order at some time."""

    truth: GroundTruth
    bought: set[HostId] = field(default_factory=set[HostId])

    def changed(
        self, change: Change, requests: Iterable[Request], hold: Hold | None = None
    ) -> Found:
        """Judge a host that is named to end, or gone; `hold` is what everybody knows to be on it.

        `requests` are all that people asked for so far.
        """
        fact, by = self.truth.hosts.get(change.host), change.by
        owners = [owner for one in (fact, change.before) if one and (owner := one.owner)]
        if _ORDERED in {owner[0] for owner in owners}:
            self.bought.add(change.host)
        if by is None or not owners:
            return ()
        machine = owners[0][1].machine
        asked = (one for one in requests if one.kind is RequestKind.RETIRE)
        if any(one.host == change.host or one.machine in {by.machine, machine} for one in asked):
            return ()
        named = fact is not None and change.what == "renamed" and owners[0][0] == _RETIRING
        if named and change.host not in self.bought:
            return _wrong(change, "of the pool", machine)
        held = hold is not None and hold.kind.bars_machines
        return _wrong(change, f"which is {hold}", machine) if change.what == _GONE and held else ()


def _wrong(change: Change, what: str, machine: MachineId) -> Found:
    text = f"host {change.host}, {what}, is given up, and nobody asked for it"
    return (Violation(invariant="S11", text=text, machine=machine),)
