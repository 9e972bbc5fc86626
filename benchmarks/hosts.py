"""A large account of leased hosts: what one look at 1,000 Macs costs once its lists have arrived.

Six in ten are in the pool, three in ten are machines of ours, the others are strays, claims of
another installation, and hosts that nobody named. Decoding, matching with records and ties,
judging each host, and the ledger are measured; the simulator's own work is not.
"""

import asyncio
import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from figures import Figure, show, silence
from msgspec.structs import replace

from hostler.app.collector import collect_seldom
from hostler.controllers.observe.snapshot import Occasion, gather
from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.settings import Account, Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.decide import decide
from hostler.domain.decision.view import view_of
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    Zone,
    machine_id,
)
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.inventory import merge
from hostler.domain.model.machine import Machine, MachineHealth, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Scope
from hostler.lab.scenes.servers import SECRET, PassingProber
from hostler.ports.http import HttpRequest, Response
from hostler.ports.store import Fence, Lease
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as Key
from hostler.providers.scaleway.macs.plan.names import Name, Stage, pool_digest
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.metrics import CountingMetrics

HOSTS = 1_000
GOAL = 0.5
POOL, MACS, ZONE = "pool-", FleetName("macs"), Zone("fr-par-1")
OURS, THEIRS = InstallationId("bench"), InstallationId("other")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FENCE = Fence(lease="fleet/macs", epoch=Epoch(1))
FLEET = Fleet(
    name=MACS, account=AccountName("main"), size=300, offers=(Offer("M2-L", ZONE, "Tahoe"),)
)


class Still:
    """A clock that stands."""

    def now(self) -> datetime:
        """Return the time of the look."""
        return NOW + timedelta(days=1)

    def boot(self) -> float:
        """Return the seconds since the start."""
        return 0.0

    async def sleep(self, time: timedelta) -> None:
        """Never wait."""


@dataclass
class Recorded:
    """A transport that gives recorded answers again."""

    wire: WorldTransport
    answers: dict[str, Response] = field(default_factory=dict[str, Response])

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Return the answer that the world gave to this request the first time."""
        key = f"{request.method} {request.path} {request.query}"
        if key not in self.answers:
            self.answers[key] = await self.wire.send(request, deadline)
        return self.answers[key]

    async def close(self) -> None:
        """Nothing is open."""


def name(stage: Stage, installation: InstallationId, machine: MachineId) -> str:
    """Return a name of ours, or of another installation."""
    made = Name(
        stage=stage, installation=installation, fleet=MACS, machine=machine, pool=pool_digest(POOL)
    )
    return str(made)


async def furnished(world: World, store: MemoryStore) -> None:
    """Give three in ten hosts to machines of ours, and some of the others to nobody we know."""
    await store.take_lease("fleet/macs", "bench", None)
    row = await store.add_fleet(FleetRow(name=MACS, created=NOW))
    machines = list[Machine]()
    for number, mac in enumerate(list(world.cloud.macs)):
        kind, machine = number % 10, machine_id(number)
        if kind < 3:
            mac.name = name(Stage.CLAIMED, OURS, machine)
            machines.append(_machine(machine, number, HostId(mac.id)))
            await store.bind(HostId(mac.id), machine, FENCE)
        elif kind == 3:
            installation = (OURS, THEIRS, OURS)[number // 10 % 3]
            mac.name = name(Stage.CLAIMED, installation, machine)
    await store.save_fleet(row, tuple(machines), (), FENCE)


def _machine(machine: MachineId, number: int, host: HostId) -> Machine:
    return Machine(
        id=machine,
        fleet=MACS,
        serial=number,
        created=NOW,
        since=NOW,
        phase=Phase.READY,
        offer=FLEET.offers[0],
        host=host,
        health=MachineHealth(was_ready=NOW),
    )


async def measured() -> tuple[float, float]:
    """Return the seconds of a first pass and of the best of five quiet ones."""
    world = World(lambda: 0.0, random.Random(1), Options(latency=0.0))
    world.stock_macs(HOSTS, "M2-L", ZONE, POOL)
    store = MemoryStore(OURS)
    await furnished(world, store)
    clock, recorded = Still(), Recorded(WorldTransport(world, "bench"))
    provider = Macs(
        Client(recorded, Key(project=world.options.project, secret_key=SECRET), clock),
        clock,
        installation=OURS,
        zones=(ZONE,),
        templates={MACS: MacTemplate(pool=POOL)},
        site=MacSite(pools=(POOL,), default=POOL),
    )
    ports = Ports(
        store=store,
        clock=clock,
        prober=PassingProber(),
        metrics=CountingMetrics(),
        fresh=lambda: machine_id(1),
    )
    state = AccountState(Account(name=AccountName("main"), provider=provider, fleets=(FLEET,)))
    scopes = tuple(Scope(ZONE, kind) for kind in provider.capabilities.kinds)
    await provider.observe(scopes)  # from now on the lists have arrived
    lease = Lease(name="fleet/macs", holder="bench", epoch=Epoch(1), beat=0)
    tenure = Tenure(lease=lease, until=1e9, took=NOW)
    steady = Steadiness(clock, timedelta(seconds=5))
    occasion = Occasion(
        cycle=CycleId("t-1"), tenure=tenure, identity=await store.identity(), fleets=(FLEET,)
    )

    async def once() -> float:
        gc.collect()
        begun = time.process_time()
        state.inventory = merge(state.inventory, await provider.observe(scopes))
        seen = view_of(await gather(ports, state, occasion, steady), FLEET, state.terms(FLEET.name))
        decided = decide(seen, provider)
        hosts = await gather(ports, state, replace(occasion, fleets=()), steady)
        decide_hosts(hosts)
        took = time.process_time() - begun
        orphans = sum(orphan.cls == "unrecorded" for orphan in seen.orphans)
        assert len(state.inventory.sightings) > HOSTS, (
            "the look shows the hosts and their tenancies"
        )
        assert decided.commands or orphans == 0
        return took

    first = await once()
    return first, min([await once() for _ in range(5)])


def figures() -> Iterator[Figure]:
    """Measure one account."""
    collect_seldom()
    silence()
    first, best = asyncio.run(measured())
    yield Figure(f"first pass over {HOSTS:,} hosts, lists arrived", GOAL, first, "s")
    yield Figure(f"pass over {HOSTS:,} hosts, lists arrived", GOAL, best, "s")


if __name__ == "__main__":
    show(figures())
