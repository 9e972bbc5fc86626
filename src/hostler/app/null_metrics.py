"""Null metrics: for commands that end at once, and fleet files without metrics."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan


class NullMetrics:
    """Counts nothing."""

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Do nothing."""

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Do nothing."""

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """Do nothing."""

    def observed(self, account: AccountName, age: timedelta) -> None:
        """Do nothing."""

    def unseen(self, account: AccountName, zone: str, kind: str) -> None:
        """Do nothing."""

    def orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Do nothing."""

    def reclaimed(self, fleet: FleetName, result: str) -> None:
        """Do nothing."""

    def orphans_checked(self, fleet: FleetName, at: datetime) -> None:
        """Do nothing."""

    def hosts(self, account: AccountName, hosts: Mapping[tuple[str, str, str], int]) -> None:
        """Do nothing."""

    def paid(self, account: AccountName, until: Mapping[tuple[str, str], datetime]) -> None:
        """Do nothing."""

    def starved(self, fleet: FleetName, missing: int) -> None:
        """Do nothing."""

    def bootstrap(self, fleet: FleetName, failed: int) -> None:
        """Do nothing."""

    def alarmed(self, fleet: FleetName, reason: str) -> None:
        """Do nothing."""

    def barred(self, check: str) -> None:
        """Do nothing."""

    def illegal(self) -> None:
        """Do nothing."""

    def bug(self, where: str) -> None:
        """Do nothing."""

    def strange(self, account: AccountName, word: str) -> None:
        """Do nothing."""

    def settled(self, account: AccountName, kind: str, lag: timedelta) -> None:
        """Do nothing."""
