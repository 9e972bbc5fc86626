"""Metrics of a simulated process, for which a bug is a violation."""

import sys
import traceback
from collections.abc import Mapping

from hostler.domain.errors import first_of
from hostler.lab.checks.checker import Checker
from hostler.ports.metrics import Count, Gauge, Labels
from hostler.testing.invariants import Violation

from .prediction import PredictionCheck


class CheckedMetrics:
    """Implements `hostler.ports.metrics.Metrics`."""

    def __init__(self, checker: Checker, prediction: PredictionCheck) -> None:
        self._checker, self._prediction = checker, prediction

    def count(self, metric: Count, *labels: str) -> None:
        """Report what must not happen, and note what makes a prediction uncertain."""
        match metric, labels:
            case Count.CALLS, (_, _, outcome):
                self._after_call(outcome)
            case Count.GATE_REFUSALS, (check,):
                self._after_refusal(check)
            case Count.ILLEGAL_MOVES, _:
                self._found("illegal move", "a move was refused")
            case Count.BUGS, (where,):
                self._found("bug", bug_text(where, sys.exc_info()[1]))
            case Count.UNKNOWN_STATUSES, _:
                self._checker.strange += 1
            case _:
                pass

    def gauge(self, metric: Gauge, value: float, *labels: str) -> None:
        """Keep the longest lag between an effect and an observation of it."""
        del labels
        if metric is Gauge.CONSISTENCY_DELAY:
            self._checker.longest_lag = max(self._checker.longest_lag, value)

    def replace(self, metric: Gauge, rows: Mapping[Labels, float], *within: str) -> None:
        """Nobody reads this here."""

    def _after_call(self, outcome: str) -> None:
        """After *too many*, the budget lets everything wait."""
        if outcome == "refused_rate_limited" or outcome.endswith("rate"):
            self._prediction.invalidate()

    def _after_refusal(self, check: str) -> None:
        """What the gate refuses is not called, although it was predicted."""
        self._checker.barred[check] += 1
        self._prediction.invalidate()

    def _found(self, invariant: str, text: str) -> None:
        self._checker.found((Violation(invariant=invariant, text=text),))


def bug_text(where: str, error: BaseException | None) -> str:
    """Return the exception that nobody foresaw, with the last places that it came through."""
    error = first_of(error) if error is not None else None
    text = f"{where}: {error!r}"
    if error is None:
        return text
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{f.name}:{f.lineno}" for f in reversed(frames))
    return f"{text} at {places}"
