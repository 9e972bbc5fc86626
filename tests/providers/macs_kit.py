"""What the tests of the provider of Macs share: bodies, records, a reader, and an account."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from hostler.domain.ids import (
    AccountName,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
)
from hostler.domain.model.calls import Call, Outcome, Shows
from hostler.domain.model.host import Host, allocation_of
from hostler.domain.model.machine import Asked, CallState, Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.policy.purchasing import Limits
from hostler.ports.http import HttpRequest, Response
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account
from hostler.providers.scaleway.macs.api.wire import Mac
from hostler.providers.scaleway.macs.plan.machine_calls import REINSTALL, tag_kind
from hostler.providers.scaleway.macs.plan.names import Name, pool_digest
from hostler.providers.scaleway.macs.plan.read import SERVER, MacReader
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.state.calls import Fate as Delivered
from hostler.simulators.scaleway.state.mac_records import Mac as TrueMac
from hostler.simulators.scaleway.state.options import ORGANIZATION, Options
from hostler.simulators.scaleway.world import World
from hostler.testing.scenes.fields import with_fields
from hostler.testing.time.clock import RigClock

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
CONSISTENCY_DELAY = timedelta(seconds=60)
ZONE = Zone("fr-par-1")
HOME = InstallationId("home1234")
STRANGER = InstallationId("stranger")
FLEET = FleetName("macs")
MACHINE = MachineId("m-abcdefghij")
OTHER = MachineId("m-jihgfedcba")
HOST = HostId("mac-1")
OFFER = Offer("M2-L", ZONE, "Tahoe")
POOLS = ("pool-", "pool-big-", "other-")
WHOSE = ORGANIZATION
NO_QUOTAS: Mapping[str, int] = MappingProxyType({})
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
SECRET = "11111111-2222-4333-8444-555555555555"
MACS = f"/apple-silicon/v1alpha1/zones/{ZONE}/servers"


def name(
    stage: Stage = Stage.CLAIMED,
    machine: MachineId = MACHINE,
    installation: InstallationId = HOME,
    pool: str = "pool-",
) -> str:
    """Return a name as a hostler writes it."""
    digest = pool_digest(pool)
    return str(
        Name(stage=stage, installation=installation, fleet=FLEET, machine=machine, pool=digest)
    )


def mac(**fields: object) -> Mac:
    """Return a Mac as the API shows one that is free."""
    body: dict[str, object] = {
        "id": HOST,
        "name": "pool-1",
        "type": "M2-L",
        "project_id": PROJECT,
        "status": "ready",
        "ip": "51.159.0.1",
        "vnc_url": "vnc://m1:secret@51.159.0.1:5900",
        "ssh_username": "m1",
        "sudo_password": "<sealed>",
        "os": {"id": "os-1", "name": "macos-tahoe-26.6.1", "family": "Tahoe"},
        "delivered": True,
        "vpc_status": "vpc_disabled",
        "commitment": {"type": "duration_24h", "cancelled": False},
    }
    return msgspec.convert({**body, **fields}, Mac)


def reader(default: str = "pool-", pools: tuple[str, ...] = POOLS) -> MacReader:
    """Return a reader of this installation's."""
    return MacReader(ZONE, HOME, frozenset({HOME}), pools, default, {"M2-L": 0.21})


def tenancy_part(stage: Stage | None, status: str = "ready", **fields: object) -> Resource:
    """Return the tenancy of the machine; None is a host in the pool that is tied to it."""
    text = name(stage) if stage else "pool-1"
    resource = reader().renamed(mac(name=text, status=status, **fields), MACHINE)
    assert resource is not None, f"{stage} is no tenancy"
    return resource


def host_resource(text: str = "pool-1", status: str = "ready", **fields: object) -> Resource:
    """Return the host itself."""
    return reader().host(mac(name=text, status=status, **fields))


def machine(**fields: object) -> Machine:
    """Return a machine that has the host."""
    base = Machine(
        id=MACHINE,
        fleet=FLEET,
        serial=1,
        created=NOW,
        since=NOW,
        phase=Phase.STARTING,
        offer=OFFER,
        host=HOST,
    )
    return with_fields(base, **fields)


def asked(kind: str, call_state: CallState, at: datetime = NOW, aim: str = "") -> Asked:
    """Return a call on the host that the record remembers."""
    closed = None if call_state is CallState.OPEN else at
    call = Asked(kind=kind, slot=SERVER, attempt=0, at=at, epoch=Epoch(1), shows=_shows(kind))
    return replace(call, call_state=call_state, closed=closed, aim=aim)


def _shows(kind: str) -> Shows:
    return Shows.WIPE if kind == REINSTALL else Shows.OWNER_TAG


def tagged(stage: Stage, at: datetime = NOW) -> Asked:
    """Return a rename that is done."""
    return asked(tag_kind(stage), CallState.DONE, at, str(stage))


def record(**fields: object) -> Host:
    """Return the record of a host that no machine holds."""
    base = Host(id=HOST, account=AccountName("main"), zone=ZONE, fleet=FLEET, machine=MACHINE)
    return with_fields(base, **{"pool": "pool-", "image": "Tahoe", **fields})


class Direct:
    """A transport that carries requests to the world at once, and keeps what was sent."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.sent = list[HttpRequest]()
        self.everything = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once."""
        del deadline
        self.sent.append(request)
        if self.everything:  # as if the API filtered nothing
            request = dataclasses.replace(request, query=())
        reply = self._world.handle(request)
        assert reply.response is not None
        assert reply.fate is Delivered.ANSWERED
        return reply.response

    async def close(self) -> None:
        """Nothing to give back."""


class Project:
    """One simulated project with Macs, and the provider over it.

    Without an `organization` the provider does not know whose quotas to read; `most` is how many
    hosts the fleet may order; `others` are pools of other fleets.
    """

    def __init__(
        self,
        count: int = 1,
        pool: str = "pool-",
        *,
        quotas: Mapping[str, int] = NO_QUOTAS,
        organization: str = "",
        most: int | None = None,
        others: tuple[str, ...] = (),
    ) -> None:
        self.clock = RigClock()
        self.world = World(self.clock.boot, Random(1), Options(quotas=quotas))
        self.ids = self.world.stock_macs(count, "M2-L", str(ZONE), "pool-")
        self.wire = Direct(self.world)
        limits = None if most is None else Limits(most=most)
        account = Account(project=PROJECT, secret_key=Secret(SECRET), organization=organization)
        self.macs = Macs(
            Client(self.wire, account, self.clock),
            self.clock,
            installation=HOME,
            zones=(ZONE,),
            templates={FLEET: MacTemplate(pool=pool, limits=limits)},
            site=MacSite(pools=(pool, *others) if pool else (), default=pool),
        )

    @property
    def mac(self) -> TrueMac:
        """The first host as it really is."""
        return self.world.console.mac(self.ids[0])

    @property
    def machine(self) -> Machine:
        """A machine that has the first host."""
        return machine(host=HostId(self.ids[0]))

    @property
    def allocation_of(self) -> ResourceId:
        """The id of the machine's tenancy."""
        return allocation_of(HostId(self.ids[0]), MACHINE)

    def changes(self) -> list[str]:
        """Return what was asked that could change anything."""
        return [f"{one.method} {one.path}" for one in self.wire.sent if one.method != "GET"]

    async def do(self, call: Call) -> Outcome:
        """Make a call."""
        return await self.macs.do(call)
