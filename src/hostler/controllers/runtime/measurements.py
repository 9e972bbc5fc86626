"""Measurements: records and orphans as rows of the metrics that show them."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from hostler.domain.ids import FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Orphan
from hostler.ports.metrics import Count, Gauge, Labels, Metrics

_LIVING = tuple(phase for phase in Phase if phase is not Phase.DELETED)


def measure_machines(metrics: Metrics, fleet: FleetName, machines: Iterable[Machine]) -> None:
    """Set how many machines of a fleet are in each phase; a phase without any is 0."""
    counts = Counter(machine.phase for machine in machines)
    metrics.replace(Gauge.MACHINES, {(phase,): counts[phase] for phase in _LIVING}, fleet)


def measure_orphans(metrics: Metrics, orphans: tuple[Orphan, ...]) -> None:
    """Set what the orphan report holds: what is not in it any more counts nothing."""
    counts, prices = Counter[Labels](), defaultdict[Labels, float](float)
    for orphan in orphans:
        place = (orphan.fleet, orphan.zone, orphan.cls)
        counts[place] += 1
        prices[place] += orphan.price
    metrics.replace(Gauge.ORPHANS, counts)
    metrics.replace(Gauge.ORPHANS_PRICE, prices)
    metrics.gauge(Gauge.UPSTREAM_ORPHANS, sum(orphan.kind == "host" for orphan in orphans))


def count_taken_back(metrics: Metrics, fleet: FleetName) -> None:
    """Count an orphan that became a machine's again, under its upstream name too."""
    metrics.count(Count.RECLAIMED, fleet, "taken_back")
    metrics.count(Count.UPSTREAM_RECLAIMED)
