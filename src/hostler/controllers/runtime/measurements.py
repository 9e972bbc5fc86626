"""Measurements: records and orphans as rows of the metrics that show them."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Protocol

from hostler.domain.ids import AccountName, FleetName, HostId
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan
from hostler.ports.metrics import Count, Gauge, Labels, Metrics

_LIVING = tuple(phase for phase in Phase if phase is not Phase.DELETED)


class Records(Protocol):
    """What is on record of fleets."""

    rows: dict[FleetName, FleetRow]

    def living(self, fleet: FleetName) -> tuple[Machine, ...]:
        """Return the living machines of a fleet."""
        ...


def measure_fleet(metrics: Metrics, fleet: Fleet, records: Records) -> None:
    """Set how many machines a fleet has, by phase, and how many are wanted."""
    measure_machines(metrics, fleet.name, records.living(fleet.name))
    measure_size(metrics, fleet.name, records.rows[fleet.name].desired(fleet))


def measure_machines(metrics: Metrics, fleet: FleetName, machines: Iterable[Machine]) -> None:
    """Set how many machines of a fleet are in each phase; a phase without any is 0."""
    counts = Counter(machine.phase for machine in machines)
    metrics.replace(Gauge.MACHINES, {(phase,): counts[phase] for phase in _LIVING}, fleet)


def measure_size(metrics: Metrics, fleet: FleetName, size: int) -> None:
    """Set how many machines of a fleet are wanted."""
    metrics.replace(Gauge.SIZE, {(): float(size)}, fleet)


def measure_host_needs(metrics: Metrics, fleet: FleetName, *, missing: int, broken: int) -> None:
    """Set how many hosts a fleet lacks, and on how many its commands failed: both are alerts."""
    metrics.replace(Gauge.NO_AVAILABLE_HOST, {(): float(missing)}, fleet)
    metrics.replace(Gauge.BOOTSTRAP_FAILED, {(): float(broken)}, fleet)


def forget_host_needs(metrics: Metrics, fleet: FleetName) -> None:
    """Have a fleet that another process works at alert of nothing here: that one measures it."""
    for gauge in (Gauge.NO_AVAILABLE_HOST, Gauge.BOOTSTRAP_FAILED):
        metrics.replace(gauge, {}, fleet)


def measure_age(metrics: Metrics, account: AccountName, age: timedelta) -> None:
    """Set how old the observations of an account are; by itself that grows until it is set anew."""
    metrics.replace(Gauge.OBSERVATION_AGE, {(): age.total_seconds()}, account)


def forget_account(metrics: Metrics, account: AccountName) -> None:
    """Have an account that nobody observes here age no more, and its hosts count nothing."""
    for gauge in (Gauge.OBSERVATION_AGE, Gauge.HOSTS, Gauge.PAID_UNTIL):
        metrics.replace(gauge, {}, account)


def forget_fleet(metrics: Metrics, fleet: FleetName) -> None:
    """Have a fleet that is not run any more count nothing, and alert of nothing."""
    measure_machines(metrics, fleet, ())
    metrics.replace(Gauge.SIZE, {}, fleet)
    metrics.replace(Gauge.ORPHANS_CHECKED, {}, fleet)
    forget_host_needs(metrics, fleet)


def measure_report(metrics: Metrics, fleet: FleetName, checked: datetime) -> None:
    """Set when the orphan report of a fleet was last up to date."""
    metrics.replace(Gauge.ORPHANS_CHECKED, {(): checked.timestamp()}, fleet)


def measure_orphans(metrics: Metrics, orphans: tuple[Orphan, ...]) -> None:
    """Set what the orphan report holds: what is not in it any more counts nothing."""
    counts, prices = Counter[Labels](), defaultdict[Labels, float](float)
    for orphan in orphans:
        place = (orphan.fleet, orphan.zone, orphan.cls)
        counts[place] += 1
        prices[place] += orphan.price
    metrics.replace(Gauge.ORPHANS, counts)
    metrics.replace(Gauge.ORPHANS_PRICE, prices)
    metrics.gauge(Gauge.UPSTREAM_ORPHANS, len(_hosts(orphans)))


def forget_orphans(metrics: Metrics) -> None:
    """Have a process that runs no account now report no orphans: another one measures them."""
    measure_orphans(metrics, ())


def _hosts(orphans: Iterable[Orphan]) -> set[HostId]:
    """Return the hosts among orphans; an allocation that is one tells of its host."""
    found = ((host_of(orphan.resource), orphan) for orphan in orphans)
    return {host for host, one in found if one.kind == "host" or host != one.resource}


def count_taken_back(metrics: Metrics, fleet: FleetName) -> None:
    """Count an orphan that became a machine's again, under its upstream name too."""
    metrics.count(Count.RECLAIMED, fleet, "taken_back")
    metrics.count(Count.UPSTREAM_RECLAIMED)
