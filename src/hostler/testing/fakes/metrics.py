"""Metrics that count into plain dictionaries, for tests and experiments."""

from collections import defaultdict
from collections.abc import Mapping

from hostler.ports.metrics import HIGHEST, Count, Gauge, Labels


class CountingMetrics:
    """Remembers every series of every metric, by its labels.

    It raises ValueError where a metric is given too few or too many labels, as Prometheus does.
    """

    def __init__(self) -> None:
        self._series = defaultdict[Count | Gauge, dict[Labels, float]](dict)

    def count(self, metric: Count, *labels: str) -> None:
        """Add one to a counter's series."""
        _check(metric, labels)
        self._series[metric][labels] = self.value(metric, *labels) + 1

    def gauge(self, metric: Gauge, value: float, *labels: str) -> None:
        """Set one series of a gauge; the highest value is kept where the table says so."""
        _check(metric, labels)
        highest = self._series[metric].get(labels, value)
        self._series[metric][labels] = max(value, highest) if metric in HIGHEST else value

    def replace(self, metric: Gauge, rows: Mapping[Labels, float], *within: str) -> None:
        """Set all series whose labels begin with `within`; what `rows` lacks is gone."""
        others = {k: v for k, v in self._series[metric].items() if k[: len(within)] != within}
        self._series[metric] = others
        for labels, value in rows.items():
            self.gauge(metric, value, *within, *labels)

    def value(self, metric: Count | Gauge, *labels: str) -> float:
        """Return the value of one series; 0 where it was never set."""
        return self._series[metric].get(labels, 0)

    def series(self, metric: Count | Gauge) -> dict[Labels, float]:
        """Return all values of a metric by labels; empty where nothing was counted."""
        return dict(self._series[metric])

    @property
    def refusals(self) -> dict[str, float]:
        """How often each check of the gate refused; those that never did are left out."""
        return {check: often for (check,), often in self.series(Count.GATE_REFUSALS).items()}

    def faults(self) -> dict[Labels, float]:
        """Return what must never be counted: bugs by place, and illegal moves."""
        return self.series(Count.BUGS) | self.series(Count.ILLEGAL_MOVES)


def _check(metric: Count | Gauge, labels: Labels) -> None:
    if len(labels) != len(metric.value.labels):
        raise ValueError(f"{metric.value.name} has labels {metric.value.labels}, not {labels}")
