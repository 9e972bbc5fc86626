"""Requests: what each asks for, written into the fleet's row and the machines' records."""

from msgspec.structs import replace

from hostler.domain.ids import MachineId, evolve
from hostler.domain.model.fleet import FleetRow, OnRemove
from hostler.domain.model.machine import (
    RETIRE,
    RETIRE_ASKED,
    Deletion,
    Machine,
    MachineSpec,
    Protection,
)
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.domain.observation.blockers import paused_by

from . import abandoned, renames

RESTS = frozenset({Phase.READY, Phase.STANDBY})
"""The phases in which a machine is put into standby, or woken."""


def births(snapshot: Snapshot) -> tuple[MachineId, ...]:
    """Return the ids of machines that are asked for by name, not yet made, and not ended since.

    Each is named once: who heard no answer may have asked again.
    """
    ended = {request.machine for request in snapshot.requests if request.kind is RequestKind.DELETE}
    asked = (
        machine
        for request in snapshot.requests
        if request.kind is RequestKind.GROW and request.number > snapshot.row.grown
        for machine in request.machines
        if machine not in ended
    )
    return tuple(dict.fromkeys(asked))


def specs(snapshot: Snapshot) -> dict[MachineId, MachineSpec]:
    """Return what is asked of single machines that are wished by name."""
    return {
        machine: spec
        for request in snapshot.requests
        for machine, spec in zip(request.machines, request.specs, strict=False)
    }


def by_file(row: FleetRow, snapshot: Snapshot) -> FleetRow:
    """Return the row with what the file says of the fleet, or since when it says nothing."""
    fleet = snapshot.fleet
    if not fleet.removed:
        at = fleet.account_id or row.account_id
        return evolve(row, definition=fleet.definition, account_id=at, removed=None, ends=False)
    if row.removed is None:
        return replace(row, removed=snapshot.now, ends=fleet.on_remove is OnRemove.END)
    return evolve(row, removed=min(row.removed, snapshot.now))


def to_go(machine: Machine, snapshot: Snapshot) -> Machine:
    """Let a machine go whose fleet left the file and ends."""
    if machine.deletion is not None:
        return machine
    deletion = Deletion(at=snapshot.now, actor="hostler", why="its fleet was taken out of the file")
    return replace(machine, deletion=deletion)


def for_fleet(row: FleetRow, request: Request, snapshot: Snapshot) -> FleetRow:
    """Return the row as a request about the fleet leaves it; most are about something else."""
    match request.kind:
        case RequestKind.SCALE:
            return replace(row, size=request.size)
        case RequestKind.GROW:
            return replace(row, grown=max(row.grown, request.number))
        case RequestKind.PAUSE | RequestKind.RESUME:
            pauses = request.kind is RequestKind.PAUSE
            resumed = row.resumed if pauses or not paused_by(row, snapshot.now) else snapshot.now
            pause = _protection(request, snapshot) if pauses else None
            return replace(row, pause=pause, resumed=resumed)
        case RequestKind.DELETE:
            return evolve(row, ends=row.removed is not None)
        case RequestKind.ADOPT_FLEET:
            return renames.begun(row, request, snapshot)
        case _:
            return row


def for_machine(machine: Machine, request: Request, snapshot: Snapshot) -> Machine:
    """Return the machine as a request about it leaves it."""
    match request.kind:
        case RequestKind.DELETE | RequestKind.RETIRE:
            return _to_end(machine, request, snapshot)
        case RequestKind.PROTECT:
            return replace(machine, protection=_protection(request, snapshot))
        case RequestKind.UNPROTECT:
            return replace(machine, protection=None)
        case RequestKind.STANDBY:
            return _to_rest(machine, snapshot)
        case RequestKind.WAKE:
            return replace(machine, goal=Goal.PRESENT) if machine.phase in RESTS else machine
        case _:
            return abandoned.changed(machine, request, snapshot)


def _to_end(machine: Machine, request: Request, snapshot: Snapshot) -> Machine:
    """Let a machine go; where it is retired its host goes too, if it has one that outlives it.

    What was to go at once still does, whatever is asked later.
    """
    retires = request.kind is RequestKind.RETIRE
    why = request.why or ("asked to retire" if retires else "asked to end")
    now = request.now or (machine.deletion is not None and machine.deletion.now)
    deletion = Deletion(at=request.at, actor=request.actor, why=why, now=now)
    leaving = replace(machine, deletion=deletion)
    if not retires or not snapshot.capabilities.hosts:
        return leaving
    return leaving.with_fact(RETIRE, snapshot.now).with_fact(RETIRE_ASKED, snapshot.now)


def _to_rest(machine: Machine, snapshot: Snapshot) -> Machine:
    """Put a machine that is up into standby, where its provider's machines can."""
    if not snapshot.capabilities.standby or machine.phase not in RESTS:
        return machine
    return replace(machine, goal=Goal.STANDBY)


def _protection(request: Request, snapshot: Snapshot) -> Protection:
    longest = request.at + snapshot.fleet.timers.longest_protection
    until = min(request.until or longest, longest)
    return Protection(until=until, why=request.why, actor=request.actor)
