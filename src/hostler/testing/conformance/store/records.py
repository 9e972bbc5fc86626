"""What the checks of stores work on: ways to open stores, and records, small or hostile."""

from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from msgspec.structs import replace

from hostler.domain.errors import StoreError
from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
    machine_id,
)
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass, Slot
from hostler.domain.model.snapshot import Orphan, Request, RequestKind
from hostler.ports.store import Fence, Lease, Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WEB, CI = FleetName("web"), FleetName("ci")
ZONE = Zone("zone-1")
SERVER = Slot("server")
OPEN = Fence(lease="fleet/web", epoch=Epoch(1))
"""The fence of a lease that nobody took: nothing newer holds it."""

HOSTILE = "'; DROP TABLE machines; -- \x00\n\r\t\"\\ {}[]%s $1 \u202e\ufeff é 漢字 🐎 </script>"
"""Text that has broken stores before; all of it must come back as it is."""


def minutes(count: float) -> datetime:
    """Return a time so many minutes after noon."""
    return NOON + timedelta(minutes=count)


def row(name: FleetName = WEB) -> FleetRow:
    """Return a fleet's row that was never saved."""
    return FleetRow(name=name, created=NOON)


def machine(number: int, fleet: FleetName = WEB, resource: str | None = None) -> Machine:
    """Return a new machine with that serial, and perhaps with a known, bound resource."""
    plain = Machine(
        id=machine_id(number),
        fleet=fleet,
        serial=number,
        created=NOON,
        phase=Phase.PENDING,
        since=NOON,
        offer=Offer("small", ZONE),
    )
    return plain if resource is None else knowing(plain, resource)


def knowing(
    record: Machine, resource: str, *, deleted: bool = False, bound: bool = True
) -> Machine:
    """Return the machine with this resource as the only one that its server's slot knows."""
    known = Known(id=ResourceId(resource), zone=ZONE, since=NOON, deleted=deleted)
    return record.with_place(
        Place(slot=SERVER, bound=ResourceId(resource) if bound else None, known=(known,))
    )


def ended(record: Machine) -> Machine:
    """Return the machine in phase deleted; what it knows is left as it is."""
    return replace(record, phase=Phase.DELETED)


def event(about: Machine | None = None, at: datetime = NOON, kind: str = "phase") -> Event:
    """Return an event about a machine, or about the fleet."""
    fleet, of = (about.fleet, about.id) if about else (WEB, None)
    return Event(kind=kind, at=at, fleet=fleet, cycle=CycleId("t-1"), machine=of, reason="why")


def host(name: str) -> Host:
    """Return a host that was never saved."""
    return Host(id=HostId(name), account=AccountName("main"), zone=ZONE)


def orphan(resource: str, sightings: int = 1) -> Orphan:
    """Return an orphaned resource."""
    return Orphan(
        resource=ResourceId(resource),
        kind="server",
        zone=ZONE,
        fleet=WEB,
        cls=OrphanClass.UNRECORDED,
        first=NOON,
        last=NOON,
        sightings=sightings,
    )


def request(size: int = 1) -> Request:
    """Return a request for a size, not yet numbered."""
    return Request(number=0, kind=RequestKind.SCALE, fleet=WEB, at=NOON, actor="test", size=size)


OTHER = InstallationId("another-installation")


async def filled(store: Store, *machines: Machine, fleet: FleetName = WEB) -> FleetRow:
    """Add these machines by a save of their fleet's row, without events; return the row."""
    stored = await store.add_fleet(row(fleet))
    return await store.save_fleet(stored, machines, (), OPEN)


async def stored(store: Store, of: MachineId) -> Machine:
    """Return a machine that must be there."""
    found = await store.machine(of)
    assert found is not None, f"{of} is not in the store"
    return found


async def taken(store: Store, name: str, holder: str, seen: Lease | None = None) -> Lease:
    """Take a lease that must be free."""
    lease = await store.take_lease(name, holder, seen)
    assert lease is not None, f"{name} could not be taken"
    return lease


async def refused(error: type[StoreError], asked: Awaitable[object]) -> None:
    """Demand that this was refused with this error, no kinder and no worse."""
    caught: StoreError | None = None
    answer: object = "nothing"
    try:
        answer = await asked
    except StoreError as raised:
        caught = raised
    expected = f"expected {error.__name__}, but it raised {caught!r} and answered {answer!r}"
    assert type(caught) is error, expected


class Stores(Protocol):
    """How the checks come by stores; whoever runs them closes what was opened."""

    async def fresh(self) -> Store:
        """Open a new, empty store that no other check has used."""
        ...

    async def reopened(self, store: Store) -> Store:
        """Open another handle on the same records, as a second process would have one."""
        ...


async def stale_fence(store: Store, name: str = "fleet/web") -> Fence:
    """Return a stale fence: of a lease whose next epoch somebody else has taken."""
    first = await taken(store, name, "first")
    await taken(store, name, "second", first)
    return Fence(lease=name, epoch=first.epoch)
