"""Hosts: they and the machines on them as plain values, for tables of what becomes of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    HostId,
    MachineId,
    ResourceId,
    machine_id,
)
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import HOST, Free, Host, HostOwnership, allocation_of
from hostler.domain.model.inventory import Inventory, Sighting
from hostler.domain.model.machine import Asked, CallState, Known, Machine, MachineHealth, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition, HostFacts, OwnerTag, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.fields import with_fields

from .builders import BEGIN, FLEET, HOME, OFFER, WEB, ZONE

MAIN = AccountName("main")
MINE, HIS = machine_id(1), machine_id(2)
BOX = HostId("host-1")
CONSISTENCY_DELAY = timedelta(seconds=60)
CAPABILITIES = Capabilities(
    main=SERVER,
    kinds=("server", "host"),
    standby=True,
    hosts=HostCapabilities(
        ownership=Ownership.NAMES, cleaning=Cleaning.WIPE, paid_period=timedelta(hours=24)
    ),
    consistency_delay=CONSISTENCY_DELAY,
)
"""What machines that are allocations of hosts are like."""


def box(
    stage: str = "pool",
    condition: Condition = Condition.UP,
    host: HostId = BOX,
    *,
    type: str = OFFER.type,  # noqa: A002 - as the resource calls it
    **facts: object,
) -> Resource:
    """Return a host as an observation shows it; its pool is known unless `facts` say otherwise."""
    usual = HostFacts(stage=Stage(stage), pool="pool-")
    return Resource(
        id=ResourceId(host),
        slot=HOST,
        zone=ZONE,
        status=str(condition),
        condition=condition,
        name=f"{stage} {host}",
        price=0.2,
        type=type,
        host=replace(usual, **facts),
    )


def tenant(
    stage: str = "claimed",
    condition: Condition = Condition.UP,
    machine: MachineId = MINE,
    *,
    owned: bool = True,
    type: str = OFFER.type,  # noqa: A002 - as the resource calls it
    **facts: object,
) -> Resource:
    """Return a machine's allocation of the host."""
    owner_tag = OwnerTag(installation=HOME, fleet=WEB, machine=machine, attempt=0)
    resource = box(stage, condition, BOX, type=type, holder=machine, **facts)
    return replace(
        resource,
        id=allocation_of(BOX, machine),
        slot=SERVER,
        owner_tag=owner_tag if owned else None,
    )


def record(**fields: object) -> Host:
    """Return the record of the host."""
    return with_fields(
        Host(id=BOX, account=MAIN, zone=ZONE, since=BEGIN, ownership=HostOwnership(pool="pool-")),
        **fields,
    )


def on_host(phase: Phase = Phase.READY, machine: MachineId = MINE, **fields: object) -> Machine:
    """Return a machine that is bound to its allocation of the host."""
    mine = allocation_of(BOX, machine)
    known = Known(id=mine, zone=ZONE, since=BEGIN)
    base = Machine(
        id=machine,
        fleet=WEB,
        serial=1,
        created=BEGIN,
        since=BEGIN,
        phase=phase,
        offer=OFFER,
        version=1,
        host=BOX,
        places=(Place(slot=SERVER, bound=mine, known=(known,)),),
        health=MachineHealth(was_ready=BEGIN),
    )
    return with_fields(base, **fields)


def call(
    kind: str,
    call_state: CallState = CallState.OPEN,
    at: datetime = BEGIN,
    *,
    aim: Stage = Stage.NONE,
    shows: Shows = Shows.OWNER_TAG,
) -> Asked:
    """Return a call on a host as a record keeps it; a wipe by its kind."""
    shows = Shows.WIPE if kind.endswith("reinstall") else shows
    asked = Asked(kind=kind, slot=HOST, attempt=0, at=at, epoch=Epoch(1), shows=shows, aim=aim)
    return replace(
        asked, call_state=call_state, closed=None if call_state is CallState.OPEN else at
    )


def inventory(resources: Iterable[Resource], at: datetime = BEGIN) -> Inventory:
    """Return what is known after one whole observation that showed these."""
    found = tuple(resources)
    tagged = dict[MachineId, tuple[ResourceId, ...]]()
    for resource in found:
        if resource.owner_tag is not None:
            tagged[resource.owner_tag.machine] = (
                *tagged.get(resource.owner_tag.machine, ()),
                resource.id,
            )
    return Inventory(
        sightings={resource.id: Sighting(resource, at) for resource in found},
        tagged=tagged,
        whole={(ZONE, kind): at for kind in CAPABILITIES.kinds},
    )


def hosts_snapshot(  # noqa: PLR0913 - everything that a cycle of the hosts may know, by name
    host: Host,
    resource: Resource | None,
    *,
    now: datetime = BEGIN,
    bindings: Mapping[HostId, MachineId] | None = None,
    living: Iterable[Machine] = (),
    past: Iterable[Machine] = (),
    observed: datetime | None = None,
) -> AccountSnapshot:
    """Return what a cycle of the hosts sees: one record, and what the newest observation shows."""
    return account_snapshot(
        () if resource is None else (resource,),
        (host,),
        observed=observed or now,
        now=now,
        bindings=bindings or {},
        machines={machine.id: machine for machine in living},
        past={machine.id: machine for machine in past},
    )


def account_snapshot(
    resources: Iterable[Resource],
    hosts: Iterable[Host] = (),
    *,
    observed: datetime = BEGIN,
    **facts: object,
) -> AccountSnapshot:
    """Return what a cycle knows of hosts by an observation begun then; all else is in `facts`.

    Left out of them, every id that a name bears was issued by our store.
    """
    found = tuple(resources)
    known = AccountSnapshot(
        cycle=CycleId("t"),
        now=BEGIN,
        account=MAIN,
        hosts={host.id: host for host in hosts},
        bindings={},
        machines={},
        past={},
        issued=frozenset(one.host.holder for one in found if one.host.holder is not None),
        inventory=inventory(found, observed),
        capabilities=CAPABILITIES,
        epoch=Epoch(1),
        took=BEGIN,
        steady=BEGIN,
        ours=(HOME,),
    )
    return replace(known, **facts)


def fleet_snapshot(  # noqa: PLR0913 - everything that a cycle of the fleet may know, by name
    machines: Iterable[Machine],
    resources: Iterable[Resource] = (),
    *,
    now: datetime = BEGIN,
    hosts: Iterable[Host] = (),
    bindings: Mapping[MachineId, HostId] | None = None,
    free: Iterable[Free] = (),
) -> Snapshot:
    """Return what a cycle of the fleet sees."""
    return Snapshot(
        cycle=CycleId("t"),
        now=now,
        fleet=FLEET,
        row=FleetRow(name=WEB, created=BEGIN),
        machines=tuple(machines),
        inventory=inventory(resources, now),
        capabilities=CAPABILITIES,
        epoch=Epoch(1),
        took=BEGIN,
        steady=BEGIN,
        ours=(HOME,),
        hosts={host.id: host for host in hosts},
        bindings=bindings or {},
        free=tuple(free),
    )
