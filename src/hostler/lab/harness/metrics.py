"""Metrics of a simulated process, for which a bug is a violation."""

import sys
import traceback
from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan
from hostler.lab.checks.checker import Checker
from hostler.testing.invariants import Violation

from .prediction import PredictionCheck


class CheckedMetrics:
    """Implements `hostler.ports.metrics.Metrics`."""

    def __init__(self, checker: Checker, prediction: PredictionCheck) -> None:
        self._checker, self._prediction = checker, prediction
        self.words = 0

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Nobody reads this here."""

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Nobody reads this here: moves are in the trace."""

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """After *too many*, the budget lets everything wait."""
        del account, call
        if outcome == "refused_rate_limited" or outcome.endswith("rate"):
            self._prediction.invalidate()

    def observed(self, account: AccountName, age: timedelta) -> None:
        """Nobody reads this here."""

    def unseen(self, account: AccountName, zone: str, kind: str) -> None:
        """Nobody reads this here."""

    def orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Nobody reads this here."""

    def reclaimed(self, fleet: FleetName, result: str) -> None:
        """Nobody reads this here."""

    def orphans_checked(self, fleet: FleetName, at: datetime) -> None:
        """Nobody reads this here."""

    def hosts(self, account: AccountName, hosts: Mapping[tuple[str, str, str], int]) -> None:
        """Nobody reads this here."""

    def paid(self, account: AccountName, until: Mapping[tuple[str, str], datetime]) -> None:
        """Nobody reads this here."""

    def starved(self, fleet: FleetName, missing: int) -> None:
        """Nobody reads this here."""

    def bootstrap(self, fleet: FleetName, failed: int) -> None:
        """Nobody reads this here."""

    def alarmed(self, fleet: FleetName, reason: str) -> None:
        """Nobody reads this here."""

    def barred(self, check: str) -> None:
        """What the gate refuses is not called, although it was predicted."""
        self._checker.barred[check] += 1
        self._prediction.invalidate()

    def illegal(self) -> None:
        """Report an illegal move: the table of phases is wrong, or the code is."""
        self._checker.found((Violation(invariant="illegal move", text="a move was refused"),))

    def bug(self, where: str) -> None:
        """Report an exception that nobody foresaw."""
        error = sys.exc_info()[1]
        text = f"{where}: {error!r}"
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)[-3:]
            places = " < ".join(f"{f.name}:{f.lineno}" for f in reversed(frames))
            text = f"{text} at {places}"
        self._checker.found((Violation(invariant="bug", text=text),))

    def strange(self, account: AccountName, word: str) -> None:
        """Count an unknown status that was reported."""
        del account, word
        self._checker.strange += 1

    def settled(self, account: AccountName, kind: str, lag: timedelta) -> None:
        """Keep the longest lag."""
        del account, kind
        self._checker.longest_lag = max(self._checker.longest_lag, lag.total_seconds())
