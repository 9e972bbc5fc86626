"""What the tests of the command line over hosts share: a simulated account with Macs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from cli_kit import HOME, NOW, InMemory, NoProbes, Result, cli, fence, run

from hostler.app.null_metrics import NullMetrics
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Account, Ports
from hostler.domain.ids import (
    AccountName,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    Zone,
    machine_id,
)
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Stage
from hostler.ports.http import HttpRequest, Response
from hostler.ports.metrics import Metrics
from hostler.ports.secret import Secret
from hostler.ports.store import Store
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as Credentials
from hostler.providers.scaleway.macs.plan.names import Name, pool_digest
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.testing.scenes.fields import with_fields

MAIN = AccountName("main")
MACS = FleetName("web")
ZONE = Zone("fr-par-1")
POOL = "pool-"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""What the clock of the command line counts its seconds from."""
ELSEWHERE = InstallationId("elsewhere")
FLEET = Fleet(name=MACS, account=MAIN, size=1, offers=(Offer("M2-L", ZONE, "Tahoe"),))
FIRST = machine_id(1)


@dataclass(slots=True)
class AtOnce:
    """A transport to a world that answers without any latency."""

    world: World

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        del deadline
        reply = self.world.handle(request, "cli")
        assert reply.response is not None
        return reply.response

    async def close(self) -> None:
        """Nothing is open."""


@dataclass(slots=True)
class WithMacs(InMemory):
    """Services whose provider has Macs in these zones; `pool` is the prefix of the fleet's pool."""

    fleets: tuple[Fleet, ...] = (FLEET,)
    pool: str = POOL
    zones: tuple[Zone, ...] = (ZONE,)
    world: World = field(init=False)
    made: int = 100

    def __post_init__(self) -> None:
        self.world = World(self.clock_.boot, Random(3), Options(epoch=EPOCH))

    @asynccontextmanager
    async def accounts(self, config: Config, store: Store) -> AsyncGenerator[tuple[Account, ...]]:
        del config
        identity = await store.identity()
        credentials = Credentials(
            project=self.world.options.project,
            secret_key=Secret("11111111-2222-4333-8444-555555555555"),
        )
        provider = Macs(
            Client(AtOnce(self.world), credentials, self.clock_),
            self.clock_,
            installation=identity.own,
            zones=self.zones,
            templates={fleet.name: MacTemplate(pool=self.pool) for fleet in self.fleets},
            site=MacSite(pools=(self.pool,) if self.pool else (), default=self.pool),
        )
        yield (Account(name=MAIN, provider=provider, fleets=self.fleets),)

    def ports(self, store: Store, metrics: Metrics | None = None) -> Ports:
        return Ports(
            store=store,
            clock=self.clock_,
            prober=NoProbes(),
            metrics=metrics or NullMetrics(),
            fresh=self.fresh,
        )

    def fresh(self) -> MachineId:
        self.made += 1
        return machine_id(self.made)

    def stock(self, count: int, prefix: str = POOL) -> list[str]:
        """Buy Macs and give them names; return their ids."""
        return self.world.stock_macs(count, "M2-L", ZONE, prefix)

    def claimed(self, host: str, home: InstallationId = HOME, stage: Stage = Stage.CLAIMED) -> str:
        """Let a host bear the name of a tenancy; return it."""
        name = Name(
            stage=stage, installation=home, fleet=MACS, machine=FIRST, pool=pool_digest(POOL)
        )
        self.world.console.rename(host, str(name))
        return str(name)


def keep(services: WithMacs, host: str, binding: MachineId | None = None, **more: Any) -> None:
    """Put a host's record, and its tie, into the store."""

    async def work() -> None:
        held = await fence(services.store_)
        record = Host(id=HostId(host), account=MAIN, zone=ZONE, since=NOW)
        record = with_fields(record, **more)
        await services.store_.save_host(record, (), held)
        if binding is not None:
            await services.store_.bind(HostId(host), binding, held)

    run(work())


def pool(services: WithMacs, capsys: pytest.CaptureFixture[str], *argv: str) -> Result:
    """Run `hostler pool FILE …`."""
    return cli(services, capsys, "pool", "web.toml", *argv)
