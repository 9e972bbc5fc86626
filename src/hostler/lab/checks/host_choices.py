"""Host choices: of the hosts that wait, which does a machine get? What such laws have in common.

A choice is judged at its decision: who is bound by the same decision is no longer free in it. Nor
may a fleet be said to have no host while one waits.
"""

from collections.abc import Iterable, Mapping

from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.commands import Advance, Bind, Decision, SaveFleet
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Reason
from hostler.domain.model.snapshot import Request
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import BEGINNING

from .shadow_store import ShadowStore

ASKED_LATELY = 600.0
"""So long, in seconds, after a person asked something of a host nobody need take it."""


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

    Nobody holds it, nothing is asked of it, and no try of anything is to come.
    """
    if record is None or record.condition is not HostCondition.FREE or record.goal is not None:
        return False
    idle = record.hold is None and record.power.cycle is None
    if not idle or record.health.quarantined_until is not None or record.id in shadow.bindings:
        return False
    asked = [one.closed or one.at for one in record.asked]
    times = [*asked, *(at for at in (record.since, record.retry_at) if at is not None)]
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


def passed_over(
    made: Decision, fleet: FleetName, shadow: ShadowStore, free: Iterable[HostId]
) -> Found:
    """Tell of a host that waits while its fleet, by what a decision says, has none that fits (L3).

    `free` are hosts that any machine of the fleet could take. Those that begin in this decision,
    and those that wait for a host, get one each.
    """
    if str(Reason.NO_AVAILABLE_HOST) not in made.condition or not shadow.fleets[fleet].renews:
        return ()
    newer = {c.machine.id: c.machine for c in made.commands if isinstance(c, Advance)}
    now = (newer.get(machine.id, machine) for machine in shadow.living(fleet))
    takers = sum(machine.host is None and machine.deletion is None for machine in now)
    takers += sum(len(one.inserts) for one in made.commands if isinstance(one, SaveFleet))
    bound = {one.host.id for one in made.commands if isinstance(one, Bind)}
    spare = [host for host in free if host not in bound]
    if len(spare) <= takers:
        return ()
    text = f"{fleet} is said to have no host, and {spare[-1]} waits"
    return (Violation(invariant="L3", text=text),)
