"""Holds: what people want of hosts, held against who takes them and what is done to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenario.faults import OTHER_STORES
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .listings import HIDING

HEARD = 90.0
"""So long, in seconds, after a hold was saved somebody may still act by what was before."""
STOOD_STILL = 310.0
"""So much longer in a run in which a process stood still: between a decision and its save, say."""
_STOPS = ("paused", "suspended")
_INSTALLATIONS = ("second_installation", *OTHER_STORES)
_SWITCHES = frozenset({Shows.POWER, Shows.REST})


@dataclass(slots=True)
class Holds:
    """The holds of one installation's hosts; times are seconds of true time.

    `faults` are how often each fault struck, `since` is when a hold was saved, and `wanted` what
    people asked for, by the number of the request.
    """

    now: Callable[[], float]
    faults: Mapping[str, int]
    since: dict[HostId, tuple[Hold, float]] = field(
        default_factory=dict[HostId, tuple[Hold, float]]
    )
    wanted: dict[int, Request] = field(default_factory=dict[int, Request])

    def asked(self, request: Request) -> None:
        """Note what a person asks for; a store that was put back gives a number once more."""
        self.wanted[request.number] = request

    def refused(self, number: int | None, record: Host | None, *, there: bool) -> Found:
        """Judge that a request was refused: a host that is there and stays can always be held.

        Not one that another installation has, or that a listing just hides: nothing is said in a
        run where either was. What holds a host that is on record can always be lifted, wherever
        that is; after a store was put back its numbers mean something else.
        """
        request = self.wanted.get(number) if number is not None else None
        if request is None or record is None:
            return ()
        if request.kind is RequestKind.LIFT and request.host == record.id:
            older = any(self.faults[fault] for fault in _INSTALLATIONS)
            return () if older else wrong(f"that nobody holds {record.id} any more was refused")
        if request.kind is not RequestKind.HOLD or not there:
            return ()
        goes = record.goal is HostGoal.RETIRED or record.condition is HostCondition.ABSENT
        others = any(self.faults[fault] for fault in (*_INSTALLATIONS, *HIDING))
        if goes or others or request.host != record.id:
            return ()
        return wrong(f"that {record.id} is {request.hold} was refused")

    def saved(self, host: Host) -> None:
        """Note a record that was saved, and since when its host is held as it is."""
        known = self.since.get(host.id)
        if host.hold is None:
            self.since.pop(host.id, None)
        elif known is None or known[0] != host.hold:
            self.since[host.id] = host.hold, self.now()

    def taken(self, record: Host | None, machine: MachineId) -> Found:
        """Judge a host that a machine takes."""
        hold = self.heard(record)
        if hold is None or record is None or not hold.kind.bars_machines:
            return ()
        return wrong(f"{record.id} goes to {machine}, and is {hold}")

    def touched(self, record: Host | None, call: Call, *, moves: bool = True) -> Found:
        """Judge what is done to a host that no machine has; `moves` says whether it changes it.

        One that is reserved stays on or off as it is, but for a cycle that was asked for before;
        and nothing is done to one in maintenance.
        """
        hold = self.heard(record)
        if record is None or hold is None:
            return ()
        idle = record.condition is HostCondition.FREE and record.goal is None
        cycled = record.power.cycle is not None
        left = hold.kind is HoldKind.MAINTENANCE or (
            hold.kind is HoldKind.RESERVED
            and (idle and not cycled)
            and (moves and call.shows in _SWITCHES)
        )
        return wrong(f"{call} is done to {record.id}, which is {hold}") if left else ()

    def heard(self, record: Host | None) -> Hold | None:
        """Return the hold that everybody knows of by now, and that nobody may take for over yet.

        Until when one holds is the engine's own time: nothing is said after a clock jumped.
        """
        hold, since = self.since.get(record.id, (None, 0.0)) if record is not None else (None, 0.0)
        if hold is None or record is None or record.hold != hold or self.faults["clock_jump"]:
            return None
        stood_still = any(self.faults[fault] for fault in _STOPS)
        heard = HEARD + (STOOD_STILL if stood_still else 0.0)
        left = (hold.until - BEGINNING).total_seconds() - self.now()
        return hold if self.now() - since >= heard and left > HEARD else None


def wrong(text: str) -> Found:
    """Return what is wrong with a host that is held."""
    return (Violation(invariant="hold", text=text),)
