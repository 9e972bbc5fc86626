"""Wishes: what doors asked for is written into the fleet's row and the machines' records."""

from dataclasses import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import RETIRE, RETIRE_ASKED, Ending, Hold, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import Seen, Wish, WishKind

_RESTS = frozenset({Phase.READY, Phase.RESTING})


def births(seen: Seen) -> tuple[MachineId, ...]:
    """Return the ids of machines that are wished by name, not yet made, and not ended since."""
    ended = {wish.machine for wish in seen.wishes if wish.kind is WishKind.END}
    return tuple(
        machine
        for wish in seen.wishes
        if wish.kind is WishKind.GROW and wish.number > seen.row.grown
        for machine in wish.machines
        if machine not in ended
    )


def granted(seen: Seen) -> tuple[FleetRow, dict[str, Machine]]:
    """Return the row and the machines as the wishes of this turn leave them."""
    row = seen.row
    machines = {str(machine.id): machine for machine in seen.machines}
    for wish in seen.wishes:
        if wish.machine is None:
            row = _for_fleet(row, wish, seen)
        elif (machine := machines.get(wish.machine)) is not None:
            machines[str(machine.id)] = _for_machine(machine, wish, seen)
    return row, machines


def _for_fleet(row: FleetRow, wish: Wish, seen: Seen) -> FleetRow:
    """Return the row as a wish about the fleet leaves it; most wishes are about something else."""
    match wish.kind:
        case WishKind.SCALE:
            return replace(row, size=wish.size)
        case WishKind.GROW:
            return replace(row, grown=max(row.grown, wish.number))
        case WishKind.PAUSE:
            return replace(row, pause=_hold(wish, seen))
        case WishKind.RESUME:
            return replace(row, pause=None)
        case _:
            return row


def _for_machine(machine: Machine, wish: Wish, seen: Seen) -> Machine:
    """Return the machine as a wish about it leaves it."""
    match wish.kind:
        case WishKind.END | WishKind.RETIRE:
            return _to_end(machine, wish, seen)
        case WishKind.HOLD:
            return replace(machine, hold=_hold(wish, seen))
        case WishKind.UNHOLD:
            return replace(machine, hold=None)
        case WishKind.REST:
            return _to_rest(machine, seen)
        case WishKind.WAKE:
            return replace(machine, goal=Goal.PRESENT) if machine.phase in _RESTS else machine
        case _:
            return machine


def _to_end(machine: Machine, wish: Wish, seen: Seen) -> Machine:
    """Let a machine go; where it is retired its host goes too, if it has one that outlives it."""
    retires = wish.kind is WishKind.RETIRE
    why = wish.why or ("asked to retire" if retires else "asked to end")
    ending = Ending(at=wish.at, actor=wish.actor, why=why, now=wish.now)
    gone = replace(machine, ending=ending)
    if not retires or not seen.traits.hosts:
        return gone
    return gone.with_fact(RETIRE, seen.now).with_fact(RETIRE_ASKED, seen.now)


def _to_rest(machine: Machine, seen: Seen) -> Machine:
    """Let a machine that is up rest, where its provider's machines can."""
    if not seen.traits.rests or machine.phase is not Phase.READY:
        return machine
    return replace(machine, goal=Goal.RESTING)


def _hold(wish: Wish, seen: Seen) -> Hold:
    longest = wish.at + seen.fleet.timers.longest_hold
    until = min(wish.until or longest, longest)
    return Hold(until=until, why=wish.why, actor=wish.actor)
