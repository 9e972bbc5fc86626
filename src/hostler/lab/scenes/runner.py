"""A runner's group on the real engine over a simulated Scaleway, in simulated time."""

import asyncio
import dataclasses
from dataclasses import dataclass
from datetime import timedelta

from msgspec.structs import replace

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, InstallationId
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind
from hostler.frontends.fleeting.contract import Connector, ProviderInfo, State
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.frontends.fleeting.group.group import EngineGroup
from hostler.lab.gitlab_runner.process import group_context
from hostler.ports.prober import Prober
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as ProviderAccount
from hostler.providers.scaleway.common.settings import Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.stores.memory import MemoryStore

from .servers import FLEET, PLAIN, SECRET, PassingProber, Rig

GROUP = replace(FLEET, size=0, maximum=10, renews=False, probe=Probe(kind=ProbeKind.TCP))
ORDINARY = Settings()
EVERY_STATE = frozenset(State)
WITHOUT_STOPPED = EVERY_STATE - {State.STOPPED}


@dataclass(slots=True)
class Plugin:
    """One process of the plugin: what its group opens, and the tasks that end with it."""

    rig: Rig
    store: MemoryStore
    fleet: Fleet = GROUP
    template: Template = PLAIN
    prober: Prober | None = None
    adopt: tuple[InstallationId, ...] = ()
    settings: Settings = ORDINARY
    closed: int | None = None

    async def open(self, config: bytes, connector: Connector) -> GroupContext:
        """Return the group; there is nothing to be read."""
        del config, connector
        rig, identity = self.rig, await self.store.identity()
        name = f"p{len(rig.wires)}"
        wire = WorldTransport(rig.world, name)
        rig.wires.append(wire)
        account = ProviderAccount(project=rig.world.options.project, secret_key=SECRET)
        provider = Instances(
            Client(wire, account, rig.clock),
            rig.clock,
            installation=identity.own,
            zones=tuple(dict.fromkeys(offer.zone for offer in self.fleet.offers)),
            templates={self.fleet.name: self.template},
        )
        ports = Ports(
            store=self.store,
            clock=rig.clock,
            prober=self.prober or PassingProber(),
            metrics=rig.metrics,
            fresh=rig.fresh,
        )
        main = Account(name=AccountName("main"), provider=provider, fleets=(self.fleet,))
        engine = Engine(ports, [main], name, self.settings)
        context = group_context(engine, ports, self.fleet, b"the key")
        return dataclasses.replace(context, adopt=self.adopt, close=self._close)

    async def _close(self, living: int) -> None:
        self.closed = living


class Plugged:
    """A group as a runner sees it, with words for scenes."""

    def __init__(self, plugin: Plugin, states: frozenset[State] = EVERY_STATE) -> None:
        self.plugin, self.states = plugin, states
        self.group = EngineGroup(plugin, plugin.rig.group.create_task)

    async def init(self) -> ProviderInfo:
        """Begin."""
        return await self.group.init(b"{}", Connector(), self.states)

    def states_now(self) -> dict[str, State]:
        """Return what Update answers, by instance."""
        return {instance.id: instance.state for instance in self.group.report()}

    async def until(self, expected: dict[State, int], within: timedelta) -> dict[str, State]:
        """Wait until so many are in these states, and none in another."""
        loop = self.plugin.rig.loop
        end = loop.time() + within.total_seconds()
        while loop.time() < end:
            states = self.states_now()
            counted = {state: list(states.values()).count(state) for state in states.values()}
            if counted == expected:
                return states
            await asyncio.sleep(0.5)
        records = await self.plugin.store.machines(self.plugin.fleet.name)
        why = [(m.id, m.phase, m.reason, m.error, m.observed) for m in records]
        raise AssertionError(f"not {expected}: {self.states_now()} ({why})")


def fresh_store(name: str = "i-0") -> MemoryStore:
    """Return the store of a new installation."""
    return MemoryStore(InstallationId(name))
