"""Silent metrics: where nobody could ask: commands that end at once, files without metrics."""

from collections.abc import Mapping

from hostler.ports.metrics import Count, Gauge, Labels


class NullMetrics:
    """Counts nothing."""

    def count(self, metric: Count, *labels: str) -> None:
        """Do nothing."""

    def gauge(self, metric: Gauge, value: float, *labels: str) -> None:
        """Do nothing."""

    def replace(self, metric: Gauge, rows: Mapping[Labels, float], *within: str) -> None:
        """Do nothing."""
