"""Holds: what people want of boxes that no machine has, held against what becomes of them.

No machine takes a box that is held back. One that is reserved or in maintenance stays on or off as
it is, and nothing is done to one in maintenance. What is to be on or off comes to be so soon.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.resource import Condition
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .ground_truth import MetalTruth

HEARD = 90.0
"""So long, in seconds, after a hold was saved somebody may still act by what was before."""
STOOD_STILL = 310.0
"""So much longer in a run in which a process stood still: between a decision and its save, say."""
OFF_SOON = 240.0
"""So long, in seconds, a box that is to be off may be on while nothing befalls it."""
ON_SOON = 900.0
"""So long one that is to be on may be off: boxes that start take turns."""
_STOPS = ("paused", "suspended")
_SWITCHES = frozenset({Shows.POWER, Shows.REST})
_ON = frozenset({Condition.STARTING, Condition.UP})
_WANTED: Mapping[HoldKind, tuple[frozenset[Condition], float]] = {
    HoldKind.OFF: (frozenset({Condition.OFF}), OFF_SOON),
    HoldKind.ON: (_ON, ON_SOON),
}


@dataclass(slots=True)
class Holds:
    """The holds of one installation's hosts; times are seconds of true time.

    `faults` are how often each fault struck. `since` is when a hold was saved, `waited` for how
    long a box was not as its hold wants it, of the time that counts; `struck` is how many faults
    there were by the last check.
    """

    truth: MetalTruth
    faults: Mapping[str, int]
    since: dict[HostId, tuple[Hold, float]] = field(
        default_factory=dict[HostId, tuple[Hold, float]]
    )
    waited: dict[HostId, float] = field(default_factory=dict[HostId, float])
    struck: int = 0

    def saved(self, host: Host) -> None:
        """Note a record that was saved, and since when its host is held as it is."""
        known = self.since.get(host.id)
        if host.hold is None:
            self.since.pop(host.id, None)
        elif known is None or known[0] != host.hold:
            self.since[host.id] = host.hold, self.truth.now

    def taken(self, record: Host | None, machine: MachineId) -> Found:
        """Judge a host that a machine takes."""
        hold = self._heard(record)
        if hold is None or record is None or not hold.kind.bars_machines:
            return ()
        return _wrong(f"{record.id} goes to {machine}, and is {hold}")

    def obeyed(self, record: Host | None, call: Call) -> Found:
        """Judge what is done to a box that no machine has."""
        hold = self._heard(record)
        if record is None or hold is None:
            return ()
        idle = record.condition is HostCondition.FREE and record.goal is None
        left = hold.kind is HoldKind.MAINTENANCE or (
            hold.kind is HoldKind.RESERVED and idle and call.shows in _SWITCHES
        )
        return _wrong(f"{record.id} obeys {call}, and is {hold}") if left else ()

    def late(self, free: Iterable[Host], passed: float) -> Found:
        """Judge which free hosts are not as they are held; `passed` is the time that counts.

        Whatever befalls anything begins that time anew.
        """
        struck, older = sum(self.faults.values()), self.waited
        calm, self.struck, self.waited = struck == self.struck, struck, {}
        for host in free:
            hold, condition = self._heard(host), self.truth.condition(host.id)
            if hold is None or hold.kind not in _WANTED:
                continue
            wanted, soon = _WANTED[hold.kind]
            if condition is None or condition in {*wanted, Condition.FAILED}:
                continue
            time = self.waited[host.id] = older.get(host.id, 0.0) + passed if calm else 0.0
            if time > soon:
                return _wrong(f"{host.id} is {condition} for {time:.0f} s, and is {hold}")
        return ()

    def _heard(self, record: Host | None) -> Hold | None:
        """Return the hold that everybody knows of by now, and that nobody may take for over yet.

        Until when one holds is the engine's own time: nothing is said after a clock jumped.
        """
        hold, since = self.since.get(record.id, (None, 0.0)) if record is not None else (None, 0.0)
        if hold is None or record is None or record.hold != hold or self.faults["clock_jump"]:
            return None
        stood_still = any(self.faults[fault] for fault in _STOPS)
        heard = HEARD + (STOOD_STILL if stood_still else 0.0)
        left = (hold.until - BEGINNING).total_seconds() - self.truth.now
        return hold if self.truth.now - since >= heard and left > HEARD else None


def _wrong(text: str) -> Found:
    return (Violation(invariant="hold", text=text),)
