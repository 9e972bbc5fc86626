"""Power states: how a host of ours stands in the four states of the older homelab autoscaler. Pure.

A projection of what is on record, never a fact of its own: nothing decides by it, nothing stores
it, and its lock guards nothing. docs/explanation/thirty-defects.md has the table of it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from hostler.domain.ids import HostId
from hostler.domain.model.fleet import Fleet, Timers
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostPower
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase, sentence
from hostler.domain.reporting.hosts import HostStatus
from hostler.ports.power import PowerState

ENGINE = "hostler"
"""The owner of an operation that is no machine's, and that nobody asked for."""


class Progress(StrEnum):
    """The four states, by the words of then."""

    SHUTDOWN = "shutdown"
    STARTING_UP = "startingup"
    READY = "ready"
    SHUTTING_DOWN = "shuttingdown"


class OperationKind(StrEnum):
    """What a lock of then was taken for."""

    SCALE_UP = "scale-up"
    SCALE_DOWN = "scale-down"


class Operation(Struct, frozen=True, kw_only=True):
    """What is under way with a host, as the lock of then said it: what, whose, since when.

    `owner` is a machine, the person who holds the host, or `ENGINE`. `until` is when its bound is
    over, over all tries; None where it has none, or since when it runs is not known.
    """

    kind: OperationKind
    owner: str
    since: datetime | None
    until: datetime | None

    @property
    def timeout(self) -> timedelta | None:
        """How long it may take altogether."""
        return None if self.until is None or self.since is None else self.until - self.since


class PowerStatus(Struct, frozen=True, kw_only=True):
    """One host in the words of then.

    Its power is what was last read and nothing else: *shutdown* and *off* are two statements.
    `tries` counts those of the operation so far, `retry_at` is when the next may begin.
    """

    progress: Progress
    power: PowerState
    operation: Operation | None = None
    tries: int = 0
    retry_at: datetime | None = None
    last_failure: str = ""


_KINDS: Mapping[Progress, OperationKind] = {
    Progress.STARTING_UP: OperationKind.SCALE_UP,
    Progress.SHUTTING_DOWN: OperationKind.SCALE_DOWN,
}
_USABLE = frozenset({HostCondition.FREE, HostCondition.ALLOCATED})
_CLEANED = frozenset({HostCondition.DIRTY, HostCondition.WIPING})


def power_status(
    host: Host, machine: Machine | None, now: datetime, timers: Timers | None = None
) -> PowerStatus:
    """Return how a host stands; `machine` is the living one that has it, if one does.

    Without the timers of the machine's fleet no operation has a bound.
    """
    power = power_of(host)
    if machine is None or machine.phase is Phase.DELETED:
        progress, operation = _of_nobody(host, power, now)
        return PowerStatus(
            progress=progress,
            power=power,
            operation=operation,
            tries=host.tries,
            retry_at=host.retry_at,
            last_failure=host.error,
        )
    progress = _of_machine(machine, power)
    return PowerStatus(
        progress=progress,
        power=power,
        operation=_operation(progress, machine, timers),
        tries=machine.tries,
        retry_at=machine.retry_at,
        last_failure=_failure(machine) or host.error,
    )


def power_of(host: Host) -> PowerState:
    """Return what was last read of a host's power; unknown is neither on nor off."""
    match host.power.on:
        case None:
            return PowerState.UNKNOWN
        case True:
            return PowerState.ON
        case False:
            return PowerState.OFF


def power_statuses(
    hosts: Iterable[HostStatus],
    machines: Iterable[Machine],
    fleets: Iterable[Fleet],
    now: datetime,
) -> Mapping[HostId, PowerStatus]:
    """Return how those hosts stand whose power was ever seen or asked for; no others are ours."""
    by_id = {machine.id: machine for machine in machines}
    timers = {fleet.name: fleet.timers for fleet in fleets}
    found = dict[HostId, PowerStatus]()
    for host in hosts:
        if host.record is not None and host.record.power != HostPower():
            machine = by_id.get(host.binding) if host.binding is not None else None
            bounds = timers.get(machine.fleet) if machine is not None else None
            found[host.id] = power_status(host.record, machine, now, bounds)
    return found


# ---------------------------------------------------------------- with a machine


def _of_machine(machine: Machine, power: PowerState) -> Progress:
    """Return the state by phase, goal and power; only what was seen off is shut down."""
    off = power is PowerState.OFF
    match machine.phase:
        case Phase.PENDING | Phase.STARTING | Phase.STANDBY if machine.goal is Goal.PRESENT:
            return Progress.STARTING_UP
        case Phase.READY | Phase.DRAINING:
            return Progress.SHUTDOWN if off else Progress.READY
        case Phase.STARTING | Phase.STOPPING:
            return Progress.SHUTTING_DOWN
        case Phase.PENDING | Phase.STANDBY | Phase.FAILED | Phase.DELETED:
            return Progress.SHUTDOWN if off else Progress.SHUTTING_DOWN
        case _:
            assert_never(machine.phase)


def _operation(progress: Progress, machine: Machine, timers: Timers | None) -> Operation | None:
    kind = _KINDS.get(progress)
    if kind is None:
        return None
    bound = _bound(machine.phase, timers) if timers is not None else None
    until = None if bound is None else machine.since + bound
    return Operation(kind=kind, owner=str(machine.id), since=machine.since, until=until)


def _bound(phase: Phase, timers: Timers) -> timedelta | None:
    """Return how long a machine may be in a phase that is on its way somewhere."""
    return {
        Phase.PENDING: timers.admit,
        Phase.STARTING: timers.start,
        Phase.STOPPING: timers.stop,
        Phase.FAILED: timers.keep_failed,
    }.get(phase)


def _failure(machine: Machine) -> str:
    """Return why the machine failed last, as far as its record says."""
    return machine.error or (sentence(machine.reason) if machine.phase is Phase.FAILED else "")


# ---------------------------------------------------------------- without one


def _of_nobody(host: Host, power: PowerState, now: datetime) -> tuple[Progress, Operation | None]:
    """Return the state of a host that no machine has, and what is done to it.

    What may be used is *ready* while it is on, though nobody uses it; what may not be, or of which
    nothing is known, is *shuttingdown* until it was seen off, whether or not anybody is at it.
    Nobody is at what failed too often and is left alone, though it is to be clean in the end.
    """
    on, off = power is PowerState.ON, power is PowerState.OFF
    held = host.held(now)
    owner = held.actor if held is not None else ENGINE
    if host.goal is HostGoal.ON and not on:
        return Progress.STARTING_UP, _own(OperationKind.SCALE_UP, owner, host.power.begun)
    if off:
        return Progress.SHUTDOWN, None
    if host.condition is HostCondition.QUARANTINED:
        return Progress.SHUTTING_DOWN, None
    if host.goal in {HostGoal.OFF, HostGoal.CLEAN, HostGoal.RETIRED} or host.condition in _CLEANED:
        since = None if host.goal is HostGoal.OFF else host.since
        return Progress.SHUTTING_DOWN, _own(OperationKind.SCALE_DOWN, owner, since)
    return (Progress.READY if on and host.condition in _USABLE else Progress.SHUTTING_DOWN), None


def _own(kind: OperationKind, owner: str, since: datetime | None) -> Operation:
    return Operation(kind=kind, owner=owner, since=since, until=None)
