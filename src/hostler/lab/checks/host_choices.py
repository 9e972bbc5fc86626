"""Host choices: of the hosts that wait, which does a machine get? What such laws have in common.

A choice is judged at its decision: who is bound by the same decision is no longer free in it. So is
what waits: a host that is passed over, a machine that is given none.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.commands import Bind, Decision, SaveFleet, SaveHost
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import CallState, Machine, Offer
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.snapshot import Request
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .shadow_store import ShadowStore

ASKED_LATELY = 600.0
"""So long, in seconds, after a person asked something of a host nobody need take it."""


SENT_LATE = timedelta(minutes=10)
"""So long after a box was told to go off nobody need take it, where that may yet be sent."""


def chosen(made: Decision, fleet: FleetName, shadow: ShadowStore) -> list[tuple[Machine, HostId]]:
    """Return the machines of a fleet that a decision gives a host to choose, and which.

    One that was adopted came with its host.
    """
    binds = (command for command in made.commands if isinstance(command, Bind))
    known = ((shadow.machines.get(bind.machine), bind.host.id) for bind in binds)
    return [
        (machine, host)
        for machine, host in known
        if machine is not None and machine.host is None and machine.fleet == fleet
    ]


def waits(record: Host | None, shadow: ShadowStore, settled: float) -> bool:
    """Tell whether a host is free by its record, and has been since `settled`, in true seconds.

    Nobody holds it, nothing is asked of it or about to be, and no try of anything is to come; nor
    may a process yet switch it off.
    """
    if record is None or record.condition is not HostCondition.FREE or record.goal is not None:
        return False
    power = record.power
    idle = record.hold is None and power.cycle is None and power.begun is None
    if not idle or record.health.quarantined_until is not None or record.id in shadow.bindings:
        return False
    asked = [one.closed or one.at for one in record.asked]
    times = [*asked, *(at for at in (record.since, record.retry_at) if at is not None)]
    times += [power.unanswered + SENT_LATE] if power.unanswered else []
    is_open = any(one.call_state is CallState.OPEN for one in record.asked)
    return not is_open and all((at - BEGINNING).total_seconds() <= settled for at in times)


def is_asked_of(host: HostId, requests: Mapping[int, Request], now: float) -> bool:
    """Tell whether a person asked something of a host lately: it may not be known to be over."""
    about = (one for one in requests.values() if one.host == host)
    return any(now - (one.at - BEGINNING).total_seconds() < ASKED_LATELY for one in about)


def worse(machine: Machine, host: HostId, better: Iterable[HostId], why: str) -> Found:
    """Return what is wrong with a choice: another host would have been better."""
    other = next(iter(better), None)
    if other is None:
        return ()
    text = f"{machine.id} takes {host}, and {other} {why}"
    return (Violation(invariant="choice", text=text, machine=machine.id),)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits, by one decision of a fleet: machines for hosts, and hosts for machines (L3).

    `free` says which hosts any machine with an offer could take, and `settled` since when, in true
    seconds, everybody knows of what stands.
    """

    made: Decision
    fleet: FleetName
    shadow: ShadowStore
    free: Callable[[Offer], Iterable[HostId]]
    settled: float

    def judged(self, *, at_once: bool = True) -> Found:
        """Return what is wrong: a host is passed over, or a machine kept waiting for none.

        `at_once` says that hosts need not take turns to start.
        """
        fleet = self.shadow.fleets[self.fleet]
        if not fleet.renews or self.shadow.is_held_back(self.fleet):
            return ()
        return self._passed_over(fleet.offers) or (self._kept_waiting() if at_once else ())

    def _passed_over(self, offers: Iterable[Offer]) -> Found:
        """Tell of a host that waits while its fleet is said to have none that fits.

        Those that begin in this decision, and those that wait for a host, get one each.
        """
        if str(Reason.NO_AVAILABLE_HOST) not in self.made.condition:
            return ()
        takers = sum(m.host is None and m.deletion is None for _, m in self._machines())
        saves = (one for one in self.made.commands if isinstance(one, SaveFleet))
        takers += sum(len(one.inserts) for one in saves)
        spare = {host for offer in offers for host in self._left(offer)}
        if len(spare) <= takers:
            return ()
        text = f"{self.fleet} is said to have no host, and {min(spare)} waits"
        return (Violation(invariant="L3", text=text),)

    def _kept_waiting(self) -> Found:
        """Tell of a machine that starts and is given no host while one waits.

        All wait while a setup script is at fault.
        """
        row = self.shadow.rows.get(self.fleet)
        if row is None or row.revision.broken:
            return ()
        served = {*self.shadow.bindings.values(), *(bind.machine for bind in self._binds())}
        for before, machine in self._machines():
            starts = before.phase is machine.phase is Phase.STARTING
            waits = before.host is machine.host is None and machine.goal is Goal.PRESENT
            known = (before.since - BEGINNING).total_seconds() <= self.settled
            if not (starts and waits and known) or machine.deletion or machine.id in served:
                continue
            if left := self._left(machine.offer):
                text = f"{machine.id} starts without a host, and {left[0]} waits"
                return (Violation(invariant="L3", text=text, machine=machine.id),)
        return ()

    def _machines(self) -> list[tuple[Machine, Machine]]:
        """Return the fleet's machines, as they are saved and as the decision leaves them."""
        return self.shadow.left_by(self.fleet, self.made.commands)

    def _binds(self) -> list[Bind]:
        return [one for one in self.made.commands if isinstance(one, Bind)]

    def _left(self, offer: Offer) -> list[HostId]:
        """Return the hosts of an offer that this decision gives to nobody, and holds for nobody."""
        bound = {bind.host.id for bind in self._binds()}
        saved = (one.host for one in self.made.commands if isinstance(one, SaveHost))
        held = {host.id for host in saved if host.hold is not None}
        return [host for host in self.free(offer) if host not in bound | held]
