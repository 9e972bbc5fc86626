"""Prometheus metrics: the port's counts and gauges in a registry of their own."""

from collections.abc import Mapping

import prometheus_client

from hostler.domain.ids import FleetName
from hostler.ports.clock import Clock
from hostler.ports.metrics import AGES, HIGHEST, Count, Gauge, Labels


class PrometheusMetrics:
    """Counts into its own registry; remembers which fleets have had a cycle."""

    def __init__(self, clock: Clock) -> None:
        """Make every metric, so that they are there, at zero, before anything happens."""
        self.registry = prometheus_client.CollectorRegistry()
        self._counters = {
            metric: prometheus_client.Counter(
                metric.value.name, metric.value.help, metric.value.labels, registry=self.registry
            )
            for metric in Count
        }
        self._gauges = {
            metric: prometheus_client.Gauge(
                metric.value.name, metric.value.help, metric.value.labels, registry=self.registry
            )
            for metric in Gauge
        }
        self._clock = clock
        self._highest = dict[tuple[Gauge, Labels], float]()
        self._replaced = dict[tuple[Gauge, Labels], frozenset[Labels]]()

    def page(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return prometheus_client.generate_latest(self.registry)

    def reconciled(self) -> frozenset[FleetName]:
        """Return the fleets that have had a cycle, which comes after an observation."""
        fleets = (within for metric, within in self._replaced if metric is Gauge.MACHINES)
        return frozenset(FleetName(fleet) for (fleet,) in fleets)

    def count(self, metric: Count, *labels: str) -> None:
        """Add one to a counter's series."""
        counter = self._counters[metric]
        (counter.labels(*labels) if labels else counter).inc()

    def gauge(self, metric: Gauge, value: float, *labels: str) -> None:
        """Set one series of a gauge; it may grow by itself, or keep its highest value."""
        gauge = self._gauges[metric]
        series = gauge.labels(*labels) if labels else gauge
        if metric in AGES:
            begun = self._clock.boot() - value
            series.set_function(lambda: self._clock.boot() - begun)
            return
        if metric in HIGHEST:
            value = max(value, self._highest.get((metric, labels), value))
            self._highest[metric, labels] = value
        series.set(value)

    def replace(self, metric: Gauge, rows: Mapping[Labels, float], *within: str) -> None:
        """Set all series whose labels begin with `within`; what `rows` lacks is removed."""
        for labels in self._replaced.get((metric, within), frozenset()) - rows.keys():
            self._gauges[metric].remove(*within, *labels)
        self._replaced[metric, within] = frozenset(rows)
        for labels, value in rows.items():
            self.gauge(metric, value, *within, *labels)
