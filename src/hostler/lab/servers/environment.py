"""The environment of servers that are created and deleted: the world, a fleet, the provider."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

from hostler.access.http import AiohttpTransport
from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Caps, Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scaleway.bystanders import crowd, leave_resource, remove_volume
from hostler.lab.scaleway.transport import client_of, gated
from hostler.lab.scaleway.wire import Cable, serve
from hostler.lab.scaleway.world import ScalewayWorld, draw_generation, open_world, start_faults
from hostler.lab.scenario.environment import CONSISTENCY_DELAY, Cadence
from hostler.lab.scenario.faults import Disruption, Scenario
from hostler.ports.command import Asker
from hostler.ports.http import Endpoint, Transport
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.simulators.scaleway.state.options import Options
from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import SimLoop

from .address_pool import POOL, POOL_FAULTS, AddressPool, bare
from .as_asked import CLOUD_INIT, FURTHER, NETWORK, ROOT
from .checker import ServerChecker
from .from_file import fleets_of, open_account
from .large import HALF_DELETED, LEAST, delete_half

FLEET = FleetName("web")
_LARGE_CAPS = Caps(per_reclaim=20, per_hour=300, share=0.5)
"""What somebody sets who would rather have half a large fleet made anew today than tomorrow."""


def _nobody(server: str) -> None:
    """Nobody hears which server answers."""
    del server


class ServerEnvironment:
    """Implements `hostler.lab.scenario.environment.Environment`."""

    settings = Settings(poll=timedelta(seconds=5))
    cadence = Cadence()
    world: ScalewayWorld
    _checker: ServerChecker
    _pool: AddressPool
    _loop: SimLoop

    def __init__(self, scenario: Scenario) -> None:
        self.base = scenario
        self.hears: Callable[[str], None] = _nobody

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the world; somebody has things in the same project."""
        self._loop, scenario = loop, self.base
        options = Options(
            epoch=BEGINNING,
            list_lag=scenario.list_lag,
            pace=scenario.pace,
            generation=draw_generation(rng),
        )
        self.world = open_world(options, loop, rng)
        crowd(self.world, scenario.crowd)
        zones = self._zones() if scenario.address_pool else ()
        self._pool = AddressPool(self.world, zones, scenario.address_pool)
        self._pool.stock()
        start_faults(self.world, scenario)

    def checker(self, trace: Trace) -> ServerChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        self._checker = ServerChecker(self.world, trace, delay, self._pool, self.base)
        self.hears = self._checker.guest_answered
        return self._checker

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet; the other installation's has the same name."""
        del other
        scenario = self.base
        if scenario.wired:
            return fleets_of(scenario)
        types = ("DEV1-S",) if scenario.local_disk else ("PLAY2-PICO", "PLAY2-NANO")
        fleet = Fleet(
            name=FLEET,
            account=AccountName("main"),
            size=scenario.machines,
            offers=tuple(Offer(t, z, "ubuntu_noble") for t in types for z in self._zones()),
            template="t1",
            reclaim=scenario.reclaim,
            probe=Probe(kind=ProbeKind(scenario.probe)),
            timers=Timers(keep_failed=timedelta(seconds=scenario.keep_failed)),
            caps=_LARGE_CAPS if scenario.machines >= LEAST else Caps(),
        )
        return (fleet,)

    def _zones(self) -> tuple[Zone, ...]:
        return (Zone("fr-par-1"), Zone("nl-ams-1")) if self.base.two_zones else (Zone("fr-par-1"),)

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Nobody rewrites the fleet file."""
        del disruption
        return fleet

    def provider(self, run: ProcessRun) -> Provider:
        """Return the account."""
        if self.base.wired:
            endpoint = serve(self.world, run.name, self._loop)

            def connect(endpoint: Endpoint) -> Transport:
                return gated(Cable(AiohttpTransport(endpoint)), run, self._checker)

            return open_account(self.base, run, endpoint, connect)
        made = client_of(run, self.world, self._checker)
        return self.account(made, run.clock, run.shadow.own, FLEET)

    def account(
        self, client: Client, clock: SimClock, own: InstallationId, fleet: FleetName
    ) -> Provider:
        """Return the real provider over a client; its zones are those of the fleet's offers."""
        return Instances(
            client,
            clock,
            installation=own,
            zones=(),
            templates={fleet: self.template()},
            consistency_delay=CONSISTENCY_DELAY,
        )

    def template(self) -> Template:
        """Return what servers are made by."""
        scenario = self.base
        disk = Disk(size=ROOT, type="l_ssd" if scenario.local_disk else "sbs_volume")
        return Template(
            root=disk,
            disks=(Disk(size=FURTHER),) * scenario.disks,
            cloud_init=CLOUD_INIT,
            networks=(NETWORK,) if scenario.network else (),
            ipv6=scenario.ipv6,
            protected=scenario.protected,
            pool=POOL if scenario.address_pool else "",
        )

    def answers(self, address: str) -> bool:
        """Tell whether a guest is up; the judge hears it too."""
        guest = self.world.guests.get(address)
        if guest is not None:
            self.hears(guest)
        return guest is not None

    def preparer(self, run: ProcessRun) -> Preparer | None:
        """Nobody logs in to a server that is made for one machine."""
        del run

    def asker(self, run: ProcessRun) -> Asker | None:
        """Nobody asks whether anything runs there."""
        del run

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let somebody make a resource with our tags, or delete half of the servers."""
        if disruption.fault in POOL_FAULTS:
            return self._pool.strike(disruption.fault)
        if disruption.fault == HALF_DELETED:
            return delete_half(self.world, own)
        if disruption.fault != "resource_without_record":
            return None
        leave_resource(self.world, own)
        return True

    def cease(self) -> None:
        """Let the world's faults cease."""
        self.world.clear_fault_rates()

    def help(self, checker: Checker) -> None:
        """Remove what only people can: what somebody took the tags from, and no record knows.

        And servers that another store made for machines that ended here, and what is reported of a
        fleet that ends: nothing is adopted into it. An address of a pool is given back to that.
        """
        del checker
        self._pool.mend()
        judge = self._checker
        left = (*judge.taken(), *judge.made_for_ended(), *judge.reported_of_ending())
        for thing, zone in left:
            if thing.kind == "volume":
                remove_volume(self.world, thing.id, zone)
            elif thing.id != bare(thing.id):
                self._pool.give_back(bare(thing.id))
            else:
                self.world.act(f"{thing.kind}_deleted_by_hand", thing.id)
