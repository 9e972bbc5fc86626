"""Settings of the engine itself: rates, leases and cadence, with DESIGN's defaults."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from msgspec import Struct, field

from hostler.domain.ids import AccountName, HostId, MachineId, Zone
from hostler.domain.model.fleet import Fleet
from hostler.ports.bootstrap import NoBootstraps, ReadsBootstraps
from hostler.ports.clock import Clock
from hostler.ports.command import Asker
from hostler.ports.metrics import Metrics
from hostler.ports.preparer import Preparer
from hostler.ports.prober import Prober
from hostler.ports.provider import Connection, Provider
from hostler.ports.store import Store
from hostler.ports.workload import Workloads

_S = timedelta(seconds=1)


class Settings(Struct, frozen=True, kw_only=True):
    """How fast and how often: calls per second, lease times, and the cadence of observations.

    `quiet` is the time between observations when nothing is expected; while something is, or one
    failed, observations come `busy_first` apart at first, growing to `busy_last`; `rare` is how
    often addresses and volumes are listed meanwhile. `poll` is how often requests are noticed, and
    `standby` how often a replica sees whether it leads by now. `jump` is how far the wall clock may
    run from boot time before it counts as having jumped. `remember` is how long events, and
    machines that are deleted, are kept.
    """

    lease_ttl: timedelta = 60 * _S
    lease_beat: timedelta = 15 * _S
    quiet: timedelta = 30 * _S
    busy_first: timedelta = 2 * _S
    busy_last: timedelta = 15 * _S
    rare: timedelta = 15 * _S
    poll: timedelta = 0.4 * _S
    standby: timedelta = 1 * _S
    jump: timedelta = 5 * _S
    remember: timedelta = timedelta(days=90)


class Account(Struct, frozen=True, kw_only=True):
    """One account at a provider, the fleets that live there, and its budget of calls."""

    name: AccountName
    provider: Provider
    fleets: tuple[Fleet, ...]
    rate: float = 10.0
    burst: float = 20.0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


def _never() -> bool:
    return False


def _to_none(fleet: Fleet) -> bool:
    del fleet
    return False


class Ports(Struct, frozen=True, kw_only=True):
    """The store, the clock, the prober, the metrics, and a source of fresh machine ids.

    Without a `preparer`, hosts that are asked to be logged in to are probed as servers are; without
    an `asker` nobody knows whether a host is busy, and without `workloads` whether a Node is.
    `bootstraps` reads what single machines are given on their hosts.
    `lends` tells for which fleets the engine's own keys are tried, where they are not for all;
    `yields` tells whether another process is to lead: then leases are left to run out.
    """

    store: Store
    clock: Clock
    prober: Prober
    metrics: Metrics
    fresh: Callable[[], MachineId]
    preparer: Preparer | None = None
    asker: Asker | None = None
    workloads: Workloads | None = None
    bootstraps: ReadsBootstraps = field(default_factory=NoBootstraps)
    lends: Callable[[Fleet], bool] = _to_none
    yields: Callable[[], bool] = _never

    def lent(self, connection: Connection, fleet: Fleet) -> Connection:
        """Return a connection with what a fleet's logins may try."""
        return replace(connection, lent=self.lends(fleet))

    def guarded(
        self, account: Account, hosts: Iterable[tuple[Zone, HostId]]
    ) -> Mapping[HostId, str] | None:
        """Return why hosts stay on for their Nodes, where machines are any; None: not known yet."""
        are_nodes = any(fleet.workload is not None for fleet in account.fleets)
        if self.workloads is None or not are_nodes:
            return {}
        return self.workloads.guarded(account.name, hosts)
