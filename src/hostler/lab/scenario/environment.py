"""The environment of a run: which API there is, which fleets, and how fast it goes."""

from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.checks.world_facts import things_in
from hostler.lab.harness.bystanders import crowd, leave_resource
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process import Process, WatchedProvider
from hostler.ports.http import HttpRequest
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.simulators.scaleway.state.calls import Reply
from hostler.simulators.scaleway.state.ledger import Line
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import SimLoop

from .faults import Disruption, Scenario

FLEET = FleetName("web")
CONSISTENCY_DELAY = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """How often a run looks at itself, in seconds of its time, and how it tells rest.

    `rest` is how long nothing may happen at rest; `limit` how long it may take to get there.
    """

    tick: float = 10.0
    rest: float = 120.0
    limit: float = 6000.0


class Watching(Protocol):
    """Who is told of what the world was asked."""

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request."""
        ...


class WatchedWorld(World):
    """A world that tells the checker of each request that it handled."""

    checker: Watching | None = None

    def handle(self, request: HttpRequest, source: str = "") -> Reply:
        """Process one request."""
        reply = super().handle(request, source)
        if self.checker is not None:
            self.checker.answered(request, source, self.journal[-1])
        return reply


def make_world(environment: "Environment", loop: SimLoop, rng: Random) -> WatchedWorld:
    """Return an empty world of an environment; its randomness comes from this stream."""
    options = environment.options(rng.choice(("2026", "2025", "mixed")))
    return WatchedWorld(loop.time, Random(rng.getrandbits(64)), options)


def start_faults(world: World, scenario: Scenario) -> None:
    """Let the world's faults strike from now on."""
    world.set_fault_rates(scenario.world)
    for rule in scenario.scripts:
        world.script(rule)


class Environment(Protocol):
    """What is special about one sort of machine in a run."""

    @property
    def settings(self) -> Settings:
        """The engines' own settings."""
        ...

    @property
    def cadence(self) -> Cadence:
        """How fast the run goes."""
        ...

    @property
    def watched(self) -> type[WatchedProvider]:
        """What the provider is wrapped in."""
        ...

    def options(self, generation: str) -> Options:
        """Return the setting of the world."""
        ...

    def fill(self, world: World) -> frozenset[str]:
        """Put there what there is at the beginning; return the ids of what is nobody's."""
        ...

    def clear(self, world: World) -> None:
        """Mend what the faults left for good, and no engine could ever mend."""
        ...

    def checker(self, world: World, trace: Trace) -> Checker:
        """Return the checker of the run."""
        ...

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the fleets of our installation, or of the other one."""
        ...

    def provider(self, client: Client, clock: SimClock, own: InstallationId) -> Provider:
        """Return the real provider."""
        ...

    def answers(self, world: World, address: str) -> bool:
        """Tell whether a guest answers at an address."""
        ...

    def preparer(self, process: Process, gate: Gate) -> Preparer | None:
        """Return what logs in to hosts for one run of a process, where anything does."""
        ...

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Return a fleet as its file says after a disruption; the same where that changes none."""
        ...

    def strike(self, world: World, own: InstallationId, disruption: Disruption) -> bool | None:
        """Do what somebody does beside the engines; tell if it could be done, None: not this."""
        ...


class ServerEnvironment:
    """Servers that are made and destroyed."""

    settings = Settings(poll=timedelta(seconds=5))
    cadence = Cadence()
    watched = WatchedProvider

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def options(self, generation: str) -> Options:
        """Return the setting of the world."""
        scenario = self._scenario
        return Options(
            epoch=BEGINNING, list_lag=scenario.list_lag, pace=scenario.pace, generation=generation
        )

    def fill(self, world: World) -> frozenset[str]:
        """Let somebody have things in the same project."""
        crowd(world, self._scenario.crowd)
        return frozenset(thing.id for thing, _ in things_in(world))

    def clear(self, world: World) -> None:
        """Nothing stays for good."""

    def checker(self, world: World, trace: Trace) -> Checker:
        """Return the checker of the run."""
        return Checker(world, trace, CONSISTENCY_DELAY.total_seconds())

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet; the other installation's has the same name."""
        del other
        scenario = self._scenario
        zones = ("fr-par-1", "nl-ams-1") if scenario.two_zones else ("fr-par-1",)
        types = ("DEV1-S",) if scenario.local_disk else ("PLAY2-PICO", "PLAY2-NANO")
        fleet = Fleet(
            name=FLEET,
            account=AccountName("main"),
            size=scenario.machines,
            offers=tuple(Offer(t, Zone(z), "ubuntu_noble") for t in types for z in zones),
            template="t1",
            reclaim=scenario.reclaim,
            probe=Probe(kind=ProbeKind(scenario.probe)),
            timers=Timers(keep_failed=timedelta(seconds=scenario.keep_failed)),
        )
        return (fleet,)

    def provider(self, client: Client, clock: SimClock, own: InstallationId) -> Provider:
        """Return the account; its zones are those of the fleet's offers."""
        templates = {FLEET: self.template()}
        return Instances(
            client,
            clock,
            installation=own,
            zones=(),
            templates=templates,
            consistency_delay=CONSISTENCY_DELAY,
        )

    def template(self) -> Template:
        """Return what servers are made by."""
        scenario = self._scenario
        disk = Disk(size=10, type="l_ssd") if scenario.local_disk else Disk(size=10)
        return Template(
            root=disk,
            disks=(Disk(size=5),) * scenario.disks,
            cloud_init="#cloud-config\n",
            ipv6=scenario.ipv6,
            protected=scenario.protected,
        )

    def answers(self, world: World, address: str) -> bool:
        """Tell whether a guest is up."""
        return address in world.guests

    def preparer(self, process: Process, gate: Gate) -> Preparer | None:
        """Nobody logs in to a server that is made for one machine."""
        del process, gate

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Nobody writes the fleet file anew."""
        del disruption
        return fleet

    def strike(self, world: World, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let somebody make a part with our tags."""
        if disruption.fault != "resource_without_record":
            return None
        leave_resource(world, own)
        return True
