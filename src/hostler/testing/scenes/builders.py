"""Builders: resources, calls and records of one small fleet, as plain values for scenes."""

from datetime import UTC, datetime, timedelta

from hostler.domain.ids import (
    AccountName,
    Epoch,
    FleetName,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
    machine_id,
)
from hostler.domain.model.calls import Shows
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import (
    Asked,
    CallState,
    Known,
    Machine,
    MachineHealth,
    Offer,
    Place,
)
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, OwnerTag, Resource, Slot
from hostler.domain.policy.billing import Billing
from hostler.testing.fakes.planner import ADDRESS, POWER_ON, SERVER

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
HOME = InstallationId("home")
ABROAD = InstallationId("abroad")
WEB = FleetName("web")
ZONE = Zone("z-1")
OFFER = Offer(type="small", zone=ZONE)
FLEET = Fleet(name=WEB, account=AccountName("main"), size=1, offers=(OFFER,))
CAPABILITIES = Capabilities(main=SERVER, kinds=("server", "address"))
S = timedelta(seconds=1)
MIN = timedelta(minutes=1)


def server(
    machine: Machine | MachineId,
    condition: Condition = Condition.UP,
    *,
    attempt: int = 1,
    installation: InstallationId = HOME,
    name: str = "",
) -> Resource:
    """Return a server that carries a machine's owner tag."""
    owner = machine if isinstance(machine, str) else machine.id
    allowed = {
        Condition.UP: ("terminate",),
        Condition.STANDBY: ("poweron", "terminate"),
        Condition.OFF: ("poweron", "delete"),
    }
    return Resource(
        id=ResourceId(name or f"server-{owner}"),
        slot=SERVER,
        zone=ZONE,
        owner_tag=OwnerTag(installation=installation, fleet=WEB, machine=owner, attempt=attempt),
        status=str(condition),
        condition=condition,
        allowed=allowed.get(condition, ()),
        created=BEGIN,
        price=0.01,
    )


def address(
    machine: Machine | MachineId,
    *,
    attempt: int = 1,
    owner: ResourceId | None = None,
    installation: InstallationId = HOME,
    name: str = "",
) -> Resource:
    """Return an address that carries a machine's owner tag."""
    whose = machine if isinstance(machine, str) else machine.id
    return Resource(
        id=ResourceId(name or f"address-{whose}"),
        slot=ADDRESS,
        zone=ZONE,
        owner_tag=OwnerTag(installation=installation, fleet=WEB, machine=whose, attempt=attempt),
        status="free",
        condition=Condition.FREE,
        owner=owner,
        created=BEGIN,
        price=0.001,
    )


def bound(slot: Slot, resource: ResourceId, since: datetime = BEGIN, attempt: int = 1) -> Place:
    """Return a place whose slot is bound to this id."""
    known = Known(id=resource, zone=ZONE, since=since, attempt=attempt)
    return Place(slot=slot, attempt=attempt, bound=resource, known=(known,))


def asked(  # noqa: PLR0913 - a record's fields, all with defaults
    kind: str,
    at: datetime = BEGIN,
    *,
    slot: Slot = SERVER,
    attempt: int = 1,
    epoch: int = 1,
    shows: Shows = Shows.RESOURCE,
    call_state: CallState = CallState.OPEN,
) -> Asked:
    """Return a *once* call as the record keeps it."""
    return Asked(
        kind=kind,
        slot=slot,
        attempt=attempt,
        at=at,
        epoch=Epoch(epoch),
        shows=shows,
        call_state=call_state,
    )


def machine(number: int = 1, phase: Phase = Phase.READY, since: datetime = BEGIN) -> Machine:
    """Return a machine with its resources bound, as it stands in this phase since then."""
    name = machine_id(number)
    made = phase not in {Phase.PENDING, Phase.DELETED}
    switched = made and phase is not Phase.STARTING
    power = asked(POWER_ON, since, shows=Shows.POWER, call_state=CallState.DONE)
    places = (
        bound(ADDRESS, ResourceId(f"address-{name}")),
        bound(SERVER, ResourceId(f"server-{name}")),
    )
    return Machine(
        id=name,
        fleet=WEB,
        serial=number,
        created=since,
        since=since,
        phase=phase,
        goal=Goal.ABSENT if phase in {Phase.STOPPING, Phase.DELETED} else Goal.PRESENT,
        offer=OFFER,
        version=1,
        places=places if made else (),
        asked=(power,) if switched else (),
        observed="up" if switched else "",
        health=MachineHealth(was_ready=since if switched else None),
        billing=Billing(price=0.011 if made else 0.0, billed_from=since if made else None),
    )
