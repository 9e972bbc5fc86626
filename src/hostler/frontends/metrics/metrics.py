"""Prometheus metrics: the port's counters and gauges in a registry of their own."""

from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan
from hostler.ports.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric as the reference lists it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


METRICS = (
    Metric(
        name="hostler_machines",
        kind="gauge",
        labels=("fleet", "phase"),
        help="Living machines by phase, as of the last cycle",
    ),
    Metric(
        name="hostler_transitions_total",
        kind="counter",
        labels=("fleet", "from", "to", "reason"),
        help="Moves of machines from one phase to another",
    ),
    Metric(
        name="hostler_calls_total",
        kind="counter",
        labels=("provider", "call", "outcome"),
        help="Calls to a provider: done, unknown, or refused_ with the class of the refusal",
    ),
    Metric(
        name="hostler_observation_age_seconds",
        kind="gauge",
        labels=("provider",),
        help="Age of the oldest complete observation that decisions rest on",
    ),
    Metric(
        name="hostler_observations_failed_total",
        kind="counter",
        labels=("provider", "zone", "kind"),
        help="Observations that failed; nothing is concluded from them",
    ),
    Metric(
        name="hostler_orphans",
        kind="gauge",
        labels=("fleet", "zone", "class"),
        help="Resources that no record explains",
    ),
    Metric(
        name="hostler_orphans_euros_per_hour",
        kind="gauge",
        labels=("fleet", "zone", "class"),
        help="What those resources cost",
    ),
    Metric(
        name="hostler_reclaimed_total",
        kind="counter",
        labels=("fleet", "result"),
        help="What reclaims did about orphans: taken_back, removed, failed",
    ),
    Metric(
        name="hostler_reclaim_last_success_timestamp_seconds",
        kind="gauge",
        labels=("fleet",),
        help="When the orphan report was last brought up to date, in seconds since 1970",
    ),
    Metric(
        name="hostler_hosts",
        kind="gauge",
        labels=("provider", "zone", "type", "state"),
        help="Hosts that outlive machines, by how they stand with us",
    ),
    Metric(
        name="hostler_host_paid_until_timestamp_seconds",
        kind="gauge",
        labels=("provider", "zone", "host"),
        help="Until when a host is paid at least, where that is known, in seconds since 1970: it "
        "cannot be ended before",
    ),
    Metric(
        name="hostler_no_available_host",
        kind="gauge",
        labels=("fleet",),
        help="Machines that a fleet lacks because no host of its pool is free: alert when it lasts",
    ),
    Metric(
        name="hostler_bootstrap_failed",
        kind="gauge",
        labels=("fleet",),
        help="Hosts on which a fleet's setup script failed that is itself considered at fault: "
        "nothing is claimed until it is changed; 0 while it is not",
    ),
    Metric(
        name="scaleway_orphan_servers",
        kind="gauge",
        labels=(),
        help="Hosts under our names that no record explains: hostler_orphans under the name that "
        "the upstream provider gave it",
    ),
    Metric(
        name="scaleway_orphan_servers_reclaimed_total",
        kind="counter",
        labels=(),
        help="Hosts that were taken back: hostler_reclaimed_total under its upstream name",
    ),
    Metric(
        name="hostler_alarms_total",
        kind="counter",
        labels=("fleet", "reason"),
        help="What hostler cannot solve by itself: host_taken (somebody else has a machine's host "
        "too), stop_overdue (a machine does not go); see history and explain",
    ),
    Metric(
        name="hostler_gate_refusals_total",
        kind="counter",
        labels=("check",),
        help="Calls that the gate refused, by check",
    ),
    Metric(
        name="hostler_illegal_moves_total",
        kind="counter",
        labels=(),
        help="Moves that the table of phases refused: a defect of hostler's, please report it",
    ),
    Metric(
        name="hostler_bugs_total",
        kind="counter",
        labels=("where",),
        help="Failures that nobody foresaw: the log has their traces, please report them",
    ),
    Metric(
        name="hostler_unknown_statuses_total",
        kind="counter",
        labels=("provider", "status"),
        help="Words of the provider's that hostler does not know",
    ),
    Metric(
        name="hostler_consistency_delay_seconds_max",
        kind="gauge",
        labels=("provider", "call"),
        help="Longest time until an effect was observed; an alarm beyond `consistency_delay`",
    ),
)
"""Every metric there is."""


class PrometheusMetrics:
    """Counts into its own registry; remembers which fleets have had a cycle."""

    def __init__(self, clock: Clock) -> None:
        """Make every metric, so that they are there, at zero, before anything happens."""
        self.registry = CollectorRegistry()
        self._gauges = dict[str, Gauge]()
        self._counters = dict[str, Counter]()
        for metric in METRICS:
            made = {"gauge": self._gauge, "counter": self._counter}[metric.kind]
            made(metric)
        self._clock = clock
        self._longest = dict[tuple[AccountName, str], float]()
        self._reconciled = set[FleetName]()
        self._stabled = dict[AccountName, frozenset[tuple[str, str, str]]]()
        self._paid = dict[AccountName, frozenset[tuple[str, str]]]()

    def _gauge(self, metric: Metric) -> None:
        self._gauges[metric.name] = Gauge(
            metric.name, metric.help, metric.labels, registry=self.registry
        )

    def _counter(self, metric: Metric) -> None:
        self._counters[metric.name] = Counter(
            metric.name, metric.help, metric.labels, registry=self.registry
        )

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def reconciled(self) -> frozenset[FleetName]:
        """Return the fleets that have had a cycle, which follows an observation."""
        return frozenset(self._reconciled)

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Note the living machines of a fleet, after a cycle."""
        self._reconciled.add(fleet)
        counts = Tally(machine.phase for machine in machines)
        for phase in Phase:
            if phase is not Phase.DELETED:
                self._gauges["hostler_machines"].labels(fleet, phase).set(counts[phase])

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Count a move."""
        self._counters["hostler_transitions_total"].labels(fleet, before, after, reason).inc()

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """Count a call."""
        self._counters["hostler_calls_total"].labels(account, call, outcome).inc()

    def observed(self, account: AccountName, age: timedelta) -> None:
        """Note the age of the oldest complete observation; it grows until the next one."""
        begun = self._clock.boot() - age.total_seconds()
        gauge = self._gauges["hostler_observation_age_seconds"].labels(account)
        gauge.set_function(lambda: self._clock.boot() - begun)

    def unseen(self, account: AccountName, zone: str, kind: str) -> None:
        """Count an observation that failed."""
        self._counters["hostler_observations_failed_total"].labels(account, zone, kind).inc()

    def orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Note the orphan report: what is no longer in it counts nothing."""
        places = Tally((s.fleet, s.zone, s.cls) for s in orphans)
        counts, prices = (self._gauges[f"hostler_orphans{end}"] for end in ("", "_euros_per_hour"))
        counts.clear()
        prices.clear()
        for place, count in places.items():
            counts.labels(*place).set(count)
        for orphan in orphans:
            prices.labels(orphan.fleet, orphan.zone, orphan.cls).inc(orphan.price)
        hosts = sum(orphan.kind == "host" for orphan in orphans)
        self._gauges["scaleway_orphan_servers"].set(hosts)

    def reclaimed(self, fleet: FleetName, result: str) -> None:
        """Count what a sweep did."""
        self._counters["hostler_reclaimed_total"].labels(fleet, result).inc()
        if result == "taken_back":
            self._counters["scaleway_orphan_servers_reclaimed_total"].inc()

    def orphans_checked(self, fleet: FleetName, at: datetime) -> None:
        """Note when the orphan report was brought up to date."""
        gauge = self._gauges["hostler_reclaim_last_success_timestamp_seconds"].labels(fleet)
        gauge.set(at.timestamp())

    def hosts(self, account: AccountName, hosts: Mapping[tuple[str, str, str], int]) -> None:
        """Note how many hosts there are; those of a state that nobody is in count nothing."""
        gauge = self._gauges["hostler_hosts"]
        for place in self._stabled.get(account, frozenset()) - hosts.keys():
            gauge.remove(account, *place)
        self._stabled[account] = frozenset(hosts)
        for place, count in hosts.items():
            gauge.labels(account, *place).set(count)

    def paid(self, account: AccountName, until: Mapping[tuple[str, str], datetime]) -> None:
        """Note until when hosts are paid; those that are not there any more count nothing."""
        gauge = self._gauges["hostler_host_paid_until_timestamp_seconds"]
        for place in self._paid.get(account, frozenset()) - until.keys():
            gauge.remove(account, *place)
        self._paid[account] = frozenset(until)
        for place, at in until.items():
            gauge.labels(account, *place).set(at.timestamp())

    def starved(self, fleet: FleetName, missing: int) -> None:
        """Note how many machines a fleet lacks."""
        self._gauges["hostler_no_available_host"].labels(fleet).set(missing)

    def bootstrap(self, fleet: FleetName, failed: int) -> None:
        """Note on how many hosts a list failed that is at fault."""
        self._gauges["hostler_bootstrap_failed"].labels(fleet).set(failed)

    def alarmed(self, fleet: FleetName, reason: str) -> None:
        """Count an alarm."""
        self._counters["hostler_alarms_total"].labels(fleet, reason).inc()

    def barred(self, check: str) -> None:
        """Count a refusal of the gate."""
        self._counters["hostler_gate_refusals_total"].labels(check).inc()

    def illegal(self) -> None:
        """Count an illegal move."""
        self._counters["hostler_illegal_moves_total"].inc()

    def bug(self, where: str) -> None:
        """Count a bug of ours."""
        self._counters["hostler_bugs_total"].labels(where).inc()

    def strange(self, account: AccountName, word: str) -> None:
        """Count an unknown status."""
        self._counters["hostler_unknown_statuses_total"].labels(account, word[:64]).inc()

    def settled(self, account: AccountName, kind: str, lag: timedelta) -> None:
        """Keep the longest lag."""
        gauge = self._gauges["hostler_consistency_delay_seconds_max"].labels(account, kind)
        seconds = max(lag.total_seconds(), self._longest.get((account, kind), 0.0))
        self._longest[account, kind] = seconds
        gauge.set(seconds)
