"""Land: pools of Macs that somebody stocked, fleets over them, and the real provider."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.checker import Watch
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process import Process
from hostler.lab.scenario.environment import SETTLE, Cadence
from hostler.lab.scenario.faults import Stroke
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.macs.provider import Macs
from hostler.providers.scaleway.macs.settings import MacSite, MacTemplate
from hostler.simulators.scaleway.macs.reach import Ssh
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.simulators.scaleway.world import World
from hostler.testing.time.clock import BEGINNING, SimClock

from .checker import MacWatch
from .console import crowd, leave_host, rename, restock, sell_out
from .demands import CHANGED, FAMILY, PRICES, SOLD_OUT
from .faults import PEOPLE, MacClimate
from .order_checker import WantWatch
from .process import WatchedMacs
from .ssh import Logins, SeasonPreparer

FLEETS = (FleetName("macs"), FleetName("ci"))
ZONES = (Zone("fr-par-1"),)
START = timedelta(minutes=45)


def name_of(fleet: FleetName, *, other: bool) -> FleetName:
    """Return how a fleet is called by us, or by the other installation."""
    return FleetName(f"{fleet}-too") if other else fleet


_LONG_AGO = 7 * 86_400.0


class MacLand:
    """Hosts that outlive machines. Implements `hostler.lab.scenario.environment.Land`."""

    watched = WatchedMacs

    def __init__(self, climate: MacClimate) -> None:
        self._climate = climate
        quiet = timedelta(seconds=climate.quiet)
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
        self.cadence = Cadence(tick=300.0, rest=2 * climate.quiet, limit=8 * 3600.0)
        self._logins: Logins | None = None
        self._looks = quiet + timedelta(seconds=60)

    def options(self, generation: str) -> Options:
        """Return the setting of the world."""
        climate = self._climate
        return Options(
            epoch=BEGINNING,
            list_lag=climate.base.list_lag,
            generation=generation,
            macs=MacOptions(floor=climate.floor, gone=climate.gone),
        )

    def fill(self, world: World) -> frozenset[str]:
        """Stock the pools with hosts that somebody bought long ago, and may have used."""
        for stock in self._climate.stocks:
            world.stock_macs(stock.count, stock.type_name, stock.zone, stock.prefix)
        crowd(world, self._climate.wants.crowd)
        for mac in world.estate.macs:
            mac.created -= _LONG_AGO
        return frozenset()

    def clear(self, world: World) -> None:
        """Fill the shop again, for fleets that order nothing too.

        No claim is sent while no image of the fleet's family is published, as an order is not:
        that is right, and so no fleet could ever have what it wishes.
        """
        restock(world, FAMILY)

    def watch(self, world: World, trace: Trace) -> Watch:
        """Return who watches over the season."""
        climate, settle = self._climate, SETTLE.total_seconds()
        if not climate.wants:
            return MacWatch(world, trace, settle, climate)
        self._logins = Logins(world, climate.wants.troubles, climate.base.seed)
        return WantWatch(world, trace, settle, climate, self._logins)

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return a fleet for each of the pools; the other installation's may be namesakes."""
        base, climate = self._climate.base, self._climate
        types = tuple(dict.fromkeys(stock.type_name for stock in self._climate.stocks))
        return tuple(
            Fleet(
                name=name_of(name, other=other and not climate.namesakes),
                account=AccountName("main"),
                size=base.machines,
                offers=tuple(Offer(t, zone, FAMILY) for t in types for zone in ZONES),
                reclaim=base.reclaim,
                probe=self._probe(climate.wants.commands),
                timers=Timers(start=START, stop=START, look_limit=self._looks),
            )
            for name, _ in zip(FLEETS, self._climate.pools, strict=False)
        )

    def _probe(self, commands: tuple[str, ...]) -> Probe:
        kind = ProbeKind.SSH if commands else ProbeKind(self._climate.base.probe)
        return Probe(kind=kind, commands=commands)

    def rewritten(self, fleet: Fleet, stroke: Stroke) -> Fleet:
        """Return a fleet with the list of commands that somebody writes into its file."""
        if stroke.fault != CHANGED:
            return fleet
        return replace(fleet, probe=self._probe(self._climate.wants.later))

    def provider(self, client: Client, clock: SimClock, own: InstallationId) -> Provider:
        """Return the account."""
        pools, wants = self._climate.pools, self._climate.wants
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
            settle=SETTLE,
        )

    def answers(self, world: World, address: str) -> bool:
        """Tell whether somebody could log in."""
        met = world.reach(address)
        return met is not None and met.ssh is Ssh.UP

    def preparer(self, process: Process, gate: Gate) -> Preparer | None:
        """Return what logs in to hosts, where the fleets have an outfit."""
        logins, watch = self._logins, process.home.watch
        if logins is None or not self._climate.wants.commands or not isinstance(watch, WantWatch):
            return None
        told = partial(watch.tried, process.home.book)
        return SeasonPreparer(logins, gate, cut=lambda: process.down, told=told)

    def befall(self, world: World, own: InstallationId, stroke: Stroke) -> bool | None:
        """Do what a person does, or the shop; None where the stroke is none of theirs."""
        pools = tuple(dict.fromkeys(self._climate.pools))
        if stroke.fault == SOLD_OUT:
            sell_out(world, stroke.length)
            return True
        if stroke.fault == CHANGED:
            return True
        if stroke.fault == "part_without_record":
            return leave_host(world, own, FLEETS[0], pools[0])
        return rename(world, stroke.fault, stroke.length, pools) if stroke.fault in PEOPLE else None
