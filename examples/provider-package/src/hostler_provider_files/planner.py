"""Planner: the pure half: from the resources that exist to a goal."""

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler_provider_files.owner_tags import ADDRESS, SERVER

_DELETE = {SERVER: "server.delete", ADDRESS: "address.delete"}


def next_calls(goal: Goal, machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    """Return the calls that may be made now; creation, resumption and clean-up are all in here."""
    if goal is Goal.ABSENT:
        return _away(resources)
    surplus = tuple(resource for resource in resources if resource.surplus)
    return _away(surplus) if surplus else _up(machine, resources)


def _up(machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    server, address = _in(SERVER, resources), _in(ADDRESS, resources)
    if address is None:
        return _make(machine, ADDRESS, "address.create")
    if server is None:
        return _make(machine, SERVER, "server.create", address.id)
    if server.condition is Condition.OFF:
        call = Call(
            kind="server.start",
            slot=SERVER,
            zone=server.zone,
            effect=Effect.CHANGE,
            target=server.id,
        )
        return (call,)
    return ()


def _in(slot: Slot, resources: tuple[Resource, ...]) -> Resource | None:
    return next((resource for resource in resources if resource.slot == slot), None)


def _make(machine: Machine, slot: Slot, kind: str, address: str = "") -> tuple[Call, ...]:
    """A creation is *once*, and carries the next number of its slot into the owner tag.

    What vanished from a bound slot is not made anew: the machine is broken, and will be replaced.
    """
    if machine.bound(slot) is not None:
        return ()
    call = Call(
        kind=kind,
        slot=slot,
        zone=machine.offer.zone,
        effect=Effect.MAKE,
        attempt=machine.place(slot).attempt + 1,
        once=True,
        args=(
            ("fleet", machine.fleet),
            ("machine", machine.id),
            *((("address", address),) if address else ()),
        ),
    )
    return (call,)


def _away(resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    """Return one removal for each resource: they are independent, so a failure stops no other."""
    return tuple(
        Call(
            kind=_DELETE[resource.slot],
            slot=resource.slot,
            zone=resource.zone,
            effect=Effect.DESTROY,
            target=resource.id,
        )
        for resource in resources
        if resource.slot in _DELETE and not _strange(resource)
    )


def _strange(resource: Resource) -> bool:
    """A state that we do not know neither blocks nor kills: wait, and let a person check."""
    return resource.condition is Condition.UNKNOWN and resource.status != "promised"
