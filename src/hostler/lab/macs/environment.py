"""The environment: pools of Macs that somebody stocked, fleets over them, and the real provider."""

from datetime import timedelta
from functools import partial
from random import Random

from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scaleway.transport import client_of
from hostler.lab.scaleway.world import ScalewayWorld, draw_generation, open_world, start_faults
from hostler.lab.scenario.environment import CONSISTENCY_DELAY, Cadence
from hostler.lab.scenario.faults import Disruption
from hostler.ports.command import Asker
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.macs.reach import Ssh
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

from .checker import MacChecker
from .console import crowd, leave_host, name_back, rename, restock, sell_out
from .demands import CHANGED, FAMILY, PRICES, SOLD_OUT
from .faults import NAMED_BACK, PEOPLE, PUT_BACK, MacScenario
from .order_checker import OrderChecker
from .quiescence import to_people
from .ssh import Logins, SimulatedAsker, SimulatedPreparer

FLEETS = (FleetName("macs"), FleetName("ci"))
ZONES = (Zone("fr-par-1"),)
START = timedelta(minutes=45)


def name_of(fleet: FleetName, *, other: bool) -> FleetName:
    """Return how a fleet is called by us, or by the other installation."""
    return FleetName(f"{fleet}-too") if other else fleet


_LONG_AGO = 7 * 86_400.0


def options_of(scenario: MacScenario) -> MacOptions:
    """Return how Macs behave: as recorded, or later and more sealed than anybody has seen."""
    recorded = scenario.floor == "412"
    return MacOptions(
        floor=scenario.floor,
        deleted_status=scenario.deleted_status,
        sealed=0.0 if recorded else 60.0,
        vlan_polls=0 if recorded else 3,
    )


class MacEnvironment:
    """Hosts that outlive machines. Implements `hostler.lab.scenario.environment.Environment`."""

    world: ScalewayWorld
    _checker: MacChecker

    def __init__(self, scenario: MacScenario) -> None:
        self._scenario, self.base = scenario, scenario.base
        quiet = timedelta(seconds=scenario.quiet)
        self.settings = Settings(
            poll=timedelta(seconds=180),
            standby=timedelta(seconds=120),
            quiet=quiet,
            busy_first=timedelta(seconds=5),
            busy_last=timedelta(seconds=300),
            rare=quiet,
            lease_ttl=timedelta(seconds=800),
            lease_beat=timedelta(seconds=200),
        )
        self.cadence = Cadence(tick=300.0, rest=2 * scenario.quiet, limit=8 * 3600.0)
        self._logins: Logins | None = None
        self._observations = quiet + timedelta(seconds=60)

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the world; its pools hold what somebody bought long ago, and may have used."""
        scenario = self._scenario
        options = Options(
            epoch=BEGINNING,
            list_lag=scenario.base.list_lag,
            generation=draw_generation(rng),
            macs=options_of(scenario),
        )
        world = self.world = open_world(options, loop, rng)
        for stock in scenario.stocks:
            world.stock_macs(stock.count, stock.type_name, stock.zone, stock.prefix)
        crowd(world, scenario.demands.crowd)
        for mac in world.cloud.macs:
            mac.created -= _LONG_AGO
        start_faults(world, scenario.base)

    def checker(self, trace: Trace) -> MacChecker:
        """Return the checker of the run."""
        scenario, consistency_delay = self._scenario, CONSISTENCY_DELAY.total_seconds()
        if not scenario.demands:
            self._checker = MacChecker(self.world, trace, consistency_delay, scenario)
            return self._checker
        logins = self._logins = Logins(self.world, scenario.demands.troubles, scenario.base.seed)
        self._checker = OrderChecker(self.world, trace, consistency_delay, scenario, logins)
        return self._checker

    def cease(self) -> None:
        """Let the world's faults cease, and fill the shop again, for fleets that order nothing too.

        No claim is sent while no image of the fleet's family is published, as an order is not:
        that is right, and so no fleet could ever have what it asks for.
        """
        self.world.clear_fault_rates()
        restock(self.world, FAMILY)

    def help(self, checker: Checker) -> None:
        """Take hosts out of every hostler's hands of which only people can tell whose they are."""
        for host in to_people(self._checker.truth, checker.shadows):
            self.world.console.rename(host, f"lent to ann {host[:8]}")

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return a fleet for each of the pools; the other installation's may be namesakes."""
        base, scenario = self._scenario.base, self._scenario
        types = tuple(dict.fromkeys(stock.type_name for stock in self._scenario.stocks))
        return tuple(
            Fleet(
                name=name_of(name, other=other and not scenario.namesakes),
                account=AccountName("main"),
                size=base.machines,
                offers=tuple(Offer(t, zone, FAMILY) for t in types for zone in ZONES),
                reclaim=base.reclaim,
                probe=self._probe(scenario.demands.commands),
                timers=self._timers(),
            )
            for name, _ in zip(FLEETS, self._scenario.pools, strict=False)
        )

    def _timers(self) -> Timers:
        timers = Timers(start=START, stop=START, observation_limit=self._observations)
        demands = self._scenario.demands
        drain = timedelta(seconds=demands.drain) if demands.busy else timers.drain
        return replace(timers, drain=drain)

    def _probe(self, commands: tuple[str, ...]) -> Probe:
        kind = ProbeKind.SSH if commands else ProbeKind(self._scenario.base.probe)
        return Probe(kind=kind, commands=commands, busy=self._scenario.demands.busy)

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Return a fleet with the list of commands that somebody writes into its file."""
        if disruption.fault != CHANGED:
            return fleet
        return replace(fleet, probe=self._probe(self._scenario.demands.later))

    def provider(self, run: ProcessRun) -> Provider:
        """Return the account."""
        pools, demands = self._scenario.pools, self._scenario.demands
        return Macs(
            client_of(run, self.world, self._checker),
            run.clock,
            installation=run.shadow.own,
            zones=ZONES,
            templates={
                name_of(name, other=other): MacTemplate(
                    pool=pool, networks=demands.networks, limits=demands.limits
                )
                for name, pool in zip(FLEETS, pools, strict=False)
                for other in (False, True)
            },
            site=MacSite(pools=tuple(dict.fromkeys(pools)), default=pools[0], prices=PRICES),
            consistency_delay=CONSISTENCY_DELAY,
        )

    def answers(self, address: str) -> bool:
        """Tell whether somebody could log in."""
        met = self.world.reach(address)
        return met is not None and met.ssh is Ssh.UP

    def preparer(self, run: ProcessRun) -> Preparer | None:
        """Return what logs in to hosts, where the fleets have a bootstrap."""
        logins, checker = self._logins, self._checker
        if (
            logins is None
            or not self._scenario.demands.commands
            or not isinstance(checker, OrderChecker)
        ):
            return None
        report = partial(checker.tried, run.shadow)
        return SimulatedPreparer(logins, run.gate, cut=lambda: run.down, report=report)

    def asker(self, run: ProcessRun) -> Asker | None:
        """Return what asks hosts whether they are busy, where the fleets do."""
        logins, checker = self._logins, self._checker
        if logins is None or not isinstance(checker, OrderChecker):
            return None
        is_busy = checker.jobs.is_busy
        return SimulatedAsker(logins, run.gate, cut=lambda: run.down, is_busy=is_busy)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Do what a person does, or the shop; None where the disruption is none of theirs."""
        pools = tuple(dict.fromkeys(self._scenario.pools))
        if disruption.fault == SOLD_OUT:
            sell_out(self.world, disruption.length)
            return True
        if disruption.fault == CHANGED:
            return True
        if disruption.fault == "resource_without_record":
            return leave_host(self.world, own, FLEETS[0], pools[0])
        if disruption.fault == NAMED_BACK:
            known = self._checker.truth.hosts
            names = {host: fact.unclaimed for host, fact in known.items()}
            return name_back(self.world, disruption.length, names)
        return (
            rename(self.world, disruption.fault, disruption.length, pools)
            if disruption.fault in {*PEOPLE, PUT_BACK}
            else None
        )
