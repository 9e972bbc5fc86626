"""FakePlanner: the pure half of the fake provider: an address, a server, power; and back."""

from datetime import datetime

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Argument, Call, Effect, Shows
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource, Slot

SERVER = Slot("server")
ADDRESS = Slot("address")

MAKE_ADDRESS = "address.make"
MAKE_SERVER = "server.make"
ATTACH_ADDRESS = "address.attach"
POWER_ON = "server.on"
LOOK_AT = "look_at"
TERMINATE = "server.terminate"
REMOVE_SERVER = "server.remove"
REMOVE_ADDRESS = "address.remove"


class FakePlanner:
    """How to get from the resources that exist to a goal; a machine has so many addresses."""

    def __init__(self, addresses: int = 1) -> None:
        self._addresses = tuple(Slot("address", index) for index in range(addresses))

    def next_calls(
        self,
        goal: Goal,
        machine: Machine,
        resources: tuple[Resource, ...],
        now: datetime,  # noqa: ARG002 - nothing here waits for a time
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now; see the port."""
        match goal:
            case Goal.PRESENT:
                built = self._build(machine, resources)
                surplus = tuple([resource for resource in resources if resource.surplus])
                return (*_clear(machine, surplus), *built) if surplus else built
            case Goal.ABSENT:
                return _clear(machine, resources)
            case Goal.STANDBY:
                return ()

    def _build(self, machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
        used = {resource.slot: resource for resource in resources if not resource.surplus}
        lacking = [slot for slot in (*self._addresses, SERVER) if slot not in used]
        if lacking:
            slot = lacking[0]
            return () if machine.bound(slot) is not None else (self._make(machine, slot, used),)
        server = used[SERVER]
        if machine.phase is Phase.READY and server.condition is Condition.UP:
            return self._drifts(machine, server, used)
        return _power_on(machine, server)

    def _drifts(
        self, machine: Machine, server: Resource, used: dict[Slot, Resource]
    ) -> tuple[Call, ...]:
        """Return the addresses to be attached again; a server of another type needs a person."""
        detached = [used[slot] for slot in self._addresses if used[slot].owner is None]
        calls = tuple([_attach(machine, address, server) for address in detached])
        if server.type in {"", machine.offer.type}:
            return calls
        return (*calls, _resized(machine, server))

    def _make(self, machine: Machine, slot: Slot, used: dict[Slot, Resource]) -> Call:
        addresses = tuple(str(used[entry].id) for entry in self._addresses if entry in used)
        server = (("type", machine.offer.type), ("addresses", addresses), *_own(machine))
        return Call(
            kind=MAKE_SERVER if slot == SERVER else MAKE_ADDRESS,
            slot=slot,
            zone=machine.offer.zone,
            effect=Effect.MAKE,
            attempt=machine.place(slot).attempt + 1,
            once=True,
            args=(*_whose(machine), *(server if slot == SERVER else ())),
        )


def _attach(machine: Machine, address: Resource, server: Resource) -> Call:
    return Call(
        kind=ATTACH_ADDRESS,
        slot=address.slot,
        zone=address.zone,
        effect=Effect.CHANGE,
        target=address.id,
        fact=f"mended: {address.slot}",
        drift=f"{address.slot} is not attached any more",
        args=(*_whose(machine), ("server", str(server.id))),
    )


def _resized(machine: Machine, server: Resource) -> Call:
    return Call(
        kind=LOOK_AT,
        slot=SERVER,
        zone=server.zone,
        effect=Effect.NONE,
        target=server.id,
        drift=f"the server is a {server.type}, and was made as a {machine.offer.type}",
        remedy="make it what it was, or delete the machine",
        args=_whose(machine),
    )


def _whose(machine: Machine) -> tuple[tuple[str, Argument], ...]:
    return (("fleet", str(machine.fleet)), ("machine", str(machine.id)))


def _own(machine: Machine) -> tuple[tuple[str, Argument], ...]:
    """Return what this machine alone is made from; of bootstrap data only where it is kept."""
    own = (("template", machine.spec.template), ("bootstrap", machine.spec.bootstrap))
    return tuple((name, value) for name, value in own if value)


def _power_on(machine: Machine, server: Resource) -> tuple[Call, ...]:
    """Switch on what is off and was never on: what stopped later is not switched on again."""
    asked = machine.last_asked(SERVER, POWER_ON)
    was_on = asked is not None and asked.call_state is CallState.DONE
    if server.condition is not Condition.OFF or was_on or machine.bound(SERVER) != server.id:
        return ()
    return (
        Call(
            kind=POWER_ON,
            slot=SERVER,
            zone=server.zone,
            effect=Effect.CHANGE,
            target=server.id,
            attempt=machine.place(SERVER).attempt,
            once=True,
            shows=Shows.POWER,
            args=_whose(machine),
        ),
    )


def _clear(machine: Machine, resources: tuple[Resource, ...]) -> tuple[Call, ...]:
    servers = {resource.id for resource in resources if resource.slot.kind == "server"}
    calls = [_clear_one(machine, resource, servers) for resource in resources]
    return tuple(call for call in calls if call is not None)


def _clear_one(machine: Machine, resource: Resource, servers: set[ResourceId]) -> Call | None:
    """Return the call that removes a resource as it stands; None where it must be waited for."""
    if resource.slot.kind == "address":
        return None if resource.owner in servers else _destroy(machine, resource, REMOVE_ADDRESS)
    if "terminate" in resource.allowed:
        return _destroy(machine, resource, TERMINATE)
    if "delete" in resource.allowed or resource.status == "planned":
        return _destroy(machine, resource, REMOVE_SERVER)
    return None


def _destroy(machine: Machine, resource: Resource, kind: str) -> Call:
    return Call(
        kind=kind,
        slot=resource.slot,
        zone=resource.zone,
        effect=Effect.DESTROY,
        target=resource.id,
        attempt=resource.owner_tag.attempt if resource.owner_tag else 0,
        args=_whose(machine),
    )
