"""The canonical form: what two states have in common when they cannot be told apart.

Times become ages in ticks, as far as anything asks for them; ids and attempts become ranks.
"""

from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.calls import Call, Shows
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Asked, CallState, Known, Machine, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource, Slot
from hostler.domain.model.snapshot import Snapshot

from .state import TICK, Replica, State, Task

_OLDEST = {Phase.STARTING: 4, Phase.READY: 0, Phase.DRAINING: 0}
_OLD = 2

Key = tuple[Hashable, ...]


class Names(Struct, frozen=True):
    """The ranks of machines and parts in one state, and its time."""

    machines: Mapping[MachineId, int]
    resources: Mapping[ResourceId, int]
    attempts: Mapping[tuple[MachineId, Slot], tuple[int, ...]]
    now: datetime

    def age(self, at: datetime | None, most: int = _OLD) -> int | None:
        """Return how many ticks ago that was, no more than anybody asks."""
        return None if at is None else min((self.now - at) // TICK, most)

    def attempt(self, machine: MachineId, slot: Slot, number: int) -> int:
        """Return the rank of an attempt among those of its slot that still matter."""
        return self.attempts[machine, slot].index(number)


def key(state: State) -> Key:
    """Return the same key for states from which the same things can happen."""
    names = _names(state)
    return (
        state.faults,
        state.row.size,
        tuple((s.count, names.age(s.until)) for s in state.row.setbacks),
        tuple(sorted(_resource(p, names) for p in state.resources)),
        tuple(sorted(_call(call, names) for call in state.late)),
        tuple(sorted(_call(call, names) for call in state.too_late)),
        tuple(_machine(m, state, names) for m in _by_rank(state.machines, names)),
        tuple(_machine(m, state, names) for m in _by_rank(_known_history(state), names)),
        tuple(_replica(r, state, names) for r in state.replicas),
    )


def _call(call: Call, names: Names) -> Key:
    machine = _of(call.arg("machine"))
    attempt = names.attempt(machine, call.slot, call.attempt)
    return (
        call.kind,
        names.machines[machine],
        attempt,
        names.resources.get(call.target or ResourceId(""), -1),
    )


def _of(argument: object) -> MachineId:
    return MachineId(str(argument))


def _known_history(state: State) -> Iterable[Machine]:
    """Return gone machines of which something may still turn up; of others nobody asks."""
    there = {p.owner_tag.machine for p in state.resources if p.owner_tag} | {
        _of(c.arg("machine")) for c in (*state.late, *state.too_late)
    }
    for replica in state.replicas:
        there |= set(replica.inventory.tagged)
    return (machine for machine in state.history if machine.id in there)


def _all_machines(state: State) -> Iterable[Machine]:
    yield from state.machines
    yield from _known_history(state)
    for replica in state.replicas:
        for task in replica.tasks:
            yield task.machine
        if replica.snapshot is not None:
            yield from replica.snapshot.machines


def _names(state: State) -> Names:
    serials = dict[MachineId, int]()
    attempts = dict[tuple[MachineId, Slot], set[int]]()
    resources = {resource.id for resource in state.resources}
    for machine in _all_machines(state):
        serials[machine.id] = machine.serial
        for place in machine.places:
            numbers = attempts.setdefault((machine.id, place.slot), {0})
            numbers |= {place.attempt, *(known.attempt for known in place.known)}
            resources |= {known.id for known in place.known}
        for asked in filter(_matters, machine.asked):
            attempts.setdefault((machine.id, asked.slot), {0}).add(asked.attempt)
    for resource in (*state.resources, *_sighted(state)):
        resources.add(resource.id)
        if resource.owner_tag is not None:
            serials.setdefault(resource.owner_tag.machine, 0)
            attempts.setdefault((resource.owner_tag.machine, resource.slot), {0}).add(
                resource.owner_tag.attempt
            )
    for call in (*state.late, *state.too_late):
        machine = _of(call.arg("machine"))
        serials.setdefault(machine, 0)
        attempts.setdefault((machine, call.slot), {0}).add(call.attempt)
    ranked = sorted(serials, key=lambda m: (serials[m], m))
    return Names(
        machines={machine: rank for rank, machine in enumerate(ranked)},
        resources={resource: rank for rank, resource in enumerate(sorted(resources))},
        attempts={where: tuple(sorted(numbers)) for where, numbers in attempts.items()},
        now=state.now,
    )


def _sighted(state: State) -> Iterable[Resource]:
    for replica in state.replicas:
        for inventory in (
            replica.inventory,
            replica.snapshot.inventory if replica.snapshot else replica.inventory,
        ):
            for sighting in inventory.sightings.values():
                yield sighting.resource
        for task in replica.tasks:
            yield from task.resources


def _by_rank(machines: Iterable[Machine], names: Names) -> list[Machine]:
    return sorted(machines, key=lambda machine: names.machines[machine.id])


def _resource(resource: Resource, names: Names) -> Key:
    owner_tag = resource.owner_tag
    tagged = (
        (-1, 0)
        if owner_tag is None
        else (
            names.machines[owner_tag.machine],
            names.attempt(owner_tag.machine, resource.slot, owner_tag.attempt),
        )
    )
    owner = -1 if resource.owner is None else names.resources.get(resource.owner, -2)
    fresh = resource.created == names.now
    return (
        names.resources[resource.id],
        *tagged,
        str(resource.condition),
        owner,
        fresh,
        resource.surplus,
    )


def _machine(machine: Machine, state: State, names: Names) -> Key:
    since = names.age(machine.since, _OLDEST.get(machine.phase, _OLD))
    doubt = machine.health.doubt
    return (
        names.machines[machine.id],
        str(machine.phase),
        since,
        tuple(_place(machine, place, names) for place in machine.places),
        tuple(_asked(machine, asked, state, names) for asked in machine.asked if _matters(asked)),
        tuple(sorted(fact.name for fact in machine.facts)),
        names.age(machine.unknown_since),
        machine.retry_at is not None and machine.retry_at > state.now,
        None if doubt is None else (doubt.what, names.age(doubt.since)),
        machine.health.was_ready is not None,
        machine.deletion is not None and machine.deletion.actor,
        machine.health.refused,
        machine.health.stuck,
    )


def _place(machine: Machine, place: Place, names: Names) -> Key:
    return (
        place.slot,
        names.attempt(machine.id, place.slot, place.attempt),
        None if place.bound is None else names.resources.get(place.bound),
        tuple(_known(machine, place, known, names) for known in place.known),
    )


def _known(machine: Machine, place: Place, known: Known, names: Names) -> Key:
    return (
        names.resources[known.id],
        names.attempt(machine.id, place.slot, known.attempt),
        names.age(known.since),
        names.age(known.removed),
        known.missing,
        names.age(known.absent),
        known.deleted,
    )


def _matters(asked: Asked) -> bool:
    """Tell whether anything still asks for a call: it is open, or switched the server on."""
    if asked.call_state is CallState.OPEN:
        return True
    return asked.shows is Shows.POWER and asked.call_state is CallState.DONE


def _asked(machine: Machine, asked: Asked, state: State, names: Names) -> Key:
    return (
        asked.kind,
        asked.slot,
        names.attempt(machine.id, asked.slot, asked.attempt),
        names.age(asked.at),
        names.age(asked.closed),
        asked.epoch == state.epoch,
        str(asked.call_state),
    )


def _replica(replica: Replica, state: State, names: Names) -> Key:
    if replica.epoch != state.epoch:
        return (
            False,
            None if replica.snapshot is None else _snapshot(replica.snapshot, state, names),
        )
    return (
        True,
        names.age(replica.took, 1),
        _inventory(replica.inventory, names),
        tuple((scope.kind, _ranks(scope.known, names), scope.alone) for scope in replica.asked),
        replica.observed,
        tuple(_task(task, state, names) for task in replica.tasks),
    )


def _ranks(resources: Iterable[ResourceId], names: Names) -> tuple[int, ...]:
    return tuple(names.resources.get(resource, -1) for resource in resources)


def _inventory(inventory: Inventory, names: Names) -> Key:
    return (
        tuple(
            sorted(
                (*_resource(s.resource, names), names.age(inventory.observed_at(s)))
                for s in inventory.sightings.values()
            )
        ),
        tuple(sorted((kind, names.age(at)) for (_, kind), at in inventory.whole.items())),
        tuple(
            sorted(
                (names.machines[machine], kind, names.age(at))
                for (machine, kind), at in inventory.close.items()
                if machine in names.machines
            )
        ),
        tuple(
            sorted(
                (
                    names.resources[resource],
                    names.age(at),
                    names.age(inventory.lacking.get(resource)),
                )
                for resource, at in inventory.missing.items()
                if resource in names.resources
            )
        ),
    )


def _snapshot(snapshot: Snapshot, state: State, names: Names) -> Key:
    return (
        names.age(snapshot.now),
        snapshot.row.size,
        _inventory(snapshot.inventory, names),
        tuple(_machine(m, state, names) for m in snapshot.machines),
    )


def _task(task: Task, state: State, names: Names) -> Key:
    return (
        _machine(task.machine, state, names),
        tuple(_resource(resource, names) for resource in task.resources),
        str(task.goal),
        None
        if task.call is None
        else (task.call.kind, task.call.target and names.resources.get(task.call.target, -1)),
    )
