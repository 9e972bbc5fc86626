"""Metrics: the one table of what is counted and measured, and where the numbers go."""

from collections.abc import Mapping
from enum import Enum
from typing import Protocol

from msgspec import Struct

Labels = tuple[str, ...]
"""The values of a metric's labels, in the order of its row."""


class Metric(Struct, frozen=True):
    """One row of the table: what a metric is called, what tells its series apart, what it means."""

    name: str
    labels: Labels
    help: str


class Count(Enum):
    """Counters: they only grow. A new one is a row here."""

    TRANSITIONS = Metric(
        "hostler_transitions_total",
        ("fleet", "from", "to", "reason"),
        "Moves of machines from one phase to another",
    )
    CALLS = Metric(
        "hostler_calls_total",
        ("provider", "call", "outcome"),
        "Calls to a provider: done, unknown, or refused_ with the class of the refusal",
    )
    PROBES = Metric(
        "hostler_probes_total",
        ("fleet", "probe", "result"),
        "Readiness probes of machines that are up: passed, failed (history and log say why), or "
        "no_address: there was nothing to probe yet",
    )
    OBSERVATIONS_FAILED = Metric(
        "hostler_observations_failed_total",
        ("provider", "zone", "kind"),
        "Observations that failed, of which nothing is concluded: not that anything is gone",
    )
    RECLAIMED = Metric(
        "hostler_reclaimed_total",
        ("fleet", "result"),
        "What was done about orphans: taken_back, removed, failed",
    )
    UPSTREAM_RECLAIMED = Metric(
        "scaleway_orphan_servers_reclaimed_total",
        (),
        "Hosts that were taken back: hostler_reclaimed_total under its upstream name",
    )
    ALARMS = Metric(
        "hostler_alarms_total",
        ("fleet", "reason"),
        "What hostler cannot settle by itself: host_taken (somebody else has a machine's host "
        "too), stop_overdue (a machine does not go); history and explain say more",
    )
    GATE_REFUSALS = Metric(
        "hostler_gate_refusals_total", ("check",), "Calls that the gate refused, by check"
    )
    ILLEGAL_MOVES = Metric(
        "hostler_illegal_moves_total",
        (),
        "Moves that the table of phases refused: a defect of hostler's, please report it",
    )
    BUGS = Metric(
        "hostler_bugs_total",
        ("where",),
        "Failures that nobody foresaw: the log has their traces, please report them",
    )
    UNKNOWN_STATUSES = Metric(
        "hostler_unknown_statuses_total",
        ("provider", "status"),
        "Words of the provider's that hostler does not know",
    )


class Gauge(Enum):
    """Gauges: they have the value that was set last. A new one is a row here."""

    MACHINES = Metric(
        "hostler_machines", ("fleet", "phase"), "Living machines by phase, as of the last cycle"
    )
    SIZE = Metric(
        "hostler_fleet_size",
        ("fleet",),
        "Machines that are wanted to be ready: the size that was asked for last, or the file's",
    )
    OBSERVATION_AGE = Metric(
        "hostler_observation_age_seconds",
        ("provider",),
        "Age of the oldest complete observation that decisions rest on",
    )
    ORPHANS = Metric(
        "hostler_orphans", ("fleet", "zone", "class"), "Resources that no record explains"
    )
    ORPHANS_PRICE = Metric(
        "hostler_orphans_euros_per_hour",
        ("fleet", "zone", "class"),
        "What those resources cost",
    )
    UPSTREAM_ORPHANS = Metric(
        "scaleway_orphan_servers",
        (),
        "Hosts that are in no pool, or unfit in one, and that no record explains, whatever their "
        "names: the hosts of hostler_orphans under the name that the upstream provider gave it",
    )
    ORPHANS_CHECKED = Metric(
        "hostler_reclaim_last_success_timestamp_seconds",
        ("fleet",),
        "When complete observations last brought the orphan report up to date, in seconds since "
        "1970",
    )
    HOSTS = Metric(
        "hostler_hosts",
        ("provider", "zone", "type", "state"),
        "Hosts that outlive machines, by how they stand with us",
    )
    PAID_UNTIL = Metric(
        "hostler_host_paid_until_timestamp_seconds",
        ("provider", "zone", "host"),
        "Until when a host is paid at least, where the provider says so, in seconds since 1970: it "
        "cannot be ended before",
    )
    NO_AVAILABLE_HOST = Metric(
        "hostler_no_available_host",
        ("fleet",),
        "Machines that a fleet lacks because no host of its pool is free: alert when it lasts",
    )
    BOOTSTRAP_FAILED = Metric(
        "hostler_bootstrap_failed",
        ("fleet",),
        "Hosts on which a fleet's list of commands failed that is held to be at fault itself: "
        "nothing is claimed until it is changed; 0 while it is not",
    )
    CONSISTENCY_DELAY = Metric(
        "hostler_consistency_delay_seconds_max",
        ("provider", "call"),
        "Longest time that an effect took to show in an observation: where it is longer than the "
        "provider's `consistency_delay`, raise that, as a warning in the log says",
    )


HIGHEST = frozenset({Gauge.CONSISTENCY_DELAY})
"""Gauges that keep the highest value that they were ever set to."""

AGES = frozenset({Gauge.OBSERVATION_AGE})
"""Gauges of seconds that go on growing until they are set again."""


class Metrics(Protocol):
    """Where counts and gauges go; it never raises if there is a value for each label."""

    def count(self, metric: Count, *labels: str) -> None:
        """Add one to a counter's series."""
        ...

    def gauge(self, metric: Gauge, value: float, *labels: str) -> None:
        """Set one series of a gauge."""
        ...

    def replace(self, metric: Gauge, rows: Mapping[Labels, float], *within: str) -> None:
        """Set all series of a gauge whose labels begin with `within`; what `rows` lacks is gone.

        Its keys are the labels that follow `within`.
        """
        ...
