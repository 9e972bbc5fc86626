"""The environment: pools of Macs that somebody stocked, fleets over them, and the real provider."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process import Process
from hostler.lab.scenario.environment import CONSISTENCY_DELAY, Cadence
from hostler.lab.scenario.faults import Disruption
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.macs.reach import Ssh
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import BEGINNING, SimClock

from .checker import MacChecker
from .console import crowd, leave_host, rename, restock, sell_out
from .demands import CHANGED, FAMILY, PRICES, SOLD_OUT
from .faults import PEOPLE, MacScenario
from .order_checker import OrderChecker
from .process import WatchedMacs
from .ssh import Logins, SimulatedPreparer

FLEETS = (FleetName("macs"), FleetName("ci"))
ZONES = (Zone("fr-par-1"),)
START = timedelta(minutes=45)


def name_of(fleet: FleetName, *, other: bool) -> FleetName:
    """Return how a fleet is called by us, or by the other installation."""
    return FleetName(f"{fleet}-too") if other else fleet


_LONG_AGO = 7 * 86_400.0


class MacEnvironment:
    """Hosts that outlive machines. Implements `hostler.lab.scenario.environment.Environment`."""

    watched = WatchedMacs

    def __init__(self, scenario: MacScenario) -> None:
        self._scenario = scenario
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

    def options(self, generation: str) -> Options:
        """Return the setting of the world."""
        scenario = self._scenario
        return Options(
            epoch=BEGINNING,
            list_lag=scenario.base.list_lag,
            generation=generation,
            macs=MacOptions(floor=scenario.floor, gone=scenario.gone),
        )

    def fill(self, world: World) -> frozenset[str]:
        """Stock the pools with hosts that somebody bought long ago, and may have used."""
        for stock in self._scenario.stocks:
            world.stock_macs(stock.count, stock.type_name, stock.zone, stock.prefix)
        crowd(world, self._scenario.wants.crowd)
        for mac in world.cloud.macs:
            mac.created -= _LONG_AGO
        return frozenset()

    def clear(self, world: World) -> None:
        """Fill the shop again, for fleets that order nothing too.

        No claim is sent while no image of the fleet's family is published, as an order is not:
        that is right, and so no fleet could ever have what it asks for.
        """
        restock(world, FAMILY)

    def checker(self, world: World, trace: Trace) -> Checker:
        """Return the checker of the run."""
        scenario, consistency_delay = self._scenario, CONSISTENCY_DELAY.total_seconds()
        if not scenario.wants:
            return MacChecker(world, trace, consistency_delay, scenario)
        self._logins = Logins(world, scenario.wants.troubles, scenario.base.seed)
        return OrderChecker(world, trace, consistency_delay, scenario, self._logins)

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
                probe=self._probe(scenario.wants.commands),
                timers=Timers(start=START, stop=START, observation_limit=self._observations),
            )
            for name, _ in zip(FLEETS, self._scenario.pools, strict=False)
        )

    def _probe(self, commands: tuple[str, ...]) -> Probe:
        kind = ProbeKind.SSH if commands else ProbeKind(self._scenario.base.probe)
        return Probe(kind=kind, commands=commands)

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Return a fleet with the list of commands that somebody writes into its file."""
        if disruption.fault != CHANGED:
            return fleet
        return replace(fleet, probe=self._probe(self._scenario.wants.later))

    def provider(self, client: Client, clock: SimClock, own: InstallationId) -> Provider:
        """Return the account."""
        pools, wants = self._scenario.pools, self._scenario.wants
        prices = {"prices": PRICES} if wants.limits else {}
        return Macs(
            client,
            clock,
            installation=own,
            zones=ZONES,
            templates={
                name_of(name, other=other): MacTemplate(
                    pool=pool, networks=wants.networks, limits=wants.limits
                )
                for name, pool in zip(FLEETS, pools, strict=False)
                for other in (False, True)
            },
            site=MacSite(pools=tuple(dict.fromkeys(pools)), default=pools[0], **prices),
            consistency_delay=CONSISTENCY_DELAY,
        )

    def answers(self, world: World, address: str) -> bool:
        """Tell whether somebody could log in."""
        met = world.reach(address)
        return met is not None and met.ssh is Ssh.UP

    def preparer(self, process: Process, gate: Gate) -> Preparer | None:
        """Return what logs in to hosts, where the fleets have a bootstrap."""
        logins, checker = self._logins, process.home.checker
        if (
            logins is None
            or not self._scenario.wants.commands
            or not isinstance(checker, OrderChecker)
        ):
            return None
        report = partial(checker.tried, process.home.shadow)
        return SimulatedPreparer(logins, gate, cut=lambda: process.down, report=report)

    def strike(self, world: World, own: InstallationId, disruption: Disruption) -> bool | None:
        """Do what a person does, or the shop; None where the disruption is none of theirs."""
        pools = tuple(dict.fromkeys(self._scenario.pools))
        if disruption.fault == SOLD_OUT:
            sell_out(world, disruption.length)
            return True
        if disruption.fault == CHANGED:
            return True
        if disruption.fault == "resource_without_record":
            return leave_host(world, own, FLEETS[0], pools[0])
        return (
            rename(world, disruption.fault, disruption.length, pools)
            if disruption.fault in PEOPLE
            else None
        )
