"""Metrics: what is counted while running, for whoever wants to watch."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan


class Metrics(Protocol):
    """Counts and gauges; names and labels are listed in docs/reference/metrics.md."""

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Note the living machines of a fleet, after a cycle."""
        ...

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Count a move of a machine from one phase to another."""
        ...

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """Count a call to a provider: its kind, and done, refused_<class> or unknown."""
        ...

    def observed(self, account: AccountName, age: timedelta) -> None:
        """Note how old the oldest whole observation is that decisions rest on."""
        ...

    def unseen(self, account: AccountName, zone: str, kind: str) -> None:
        """Count an observation that failed: nothing is concluded from it."""
        ...

    def orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Note the orphan report."""
        ...

    def reclaimed(self, fleet: FleetName, result: str) -> None:
        """Count what a reclaim did about an orphan: taken_back, removed, failed, barred."""
        ...

    def orphans_checked(self, fleet: FleetName, at: datetime) -> None:
        """Note that the orphan report was brought up to date by complete observations."""
        ...

    def hosts(self, account: AccountName, hosts: Mapping[tuple[str, str, str], int]) -> None:
        """Note how many hosts there are by zone, type and state, where machines are allocations."""
        ...

    def paid(self, account: AccountName, until: Mapping[tuple[str, str], datetime]) -> None:
        """Note until when each host is paid at least, by zone and id, where that is told."""
        ...

    def starved(self, fleet: FleetName, missing: int) -> None:
        """Note how many machines a fleet lacks because no host of its pool is free."""
        ...

    def bootstrap(self, fleet: FleetName, failed: int) -> None:
        """Note on how many hosts a setup script failed that is at fault; 0 where none is."""
        ...

    def alarmed(self, fleet: FleetName, reason: str) -> None:
        """Count an alarm: something that hostler cannot resolve, and that somebody must check."""
        ...

    def barred(self, check: str) -> None:
        """Count a refusal of the gate by its check."""
        ...

    def illegal(self) -> None:
        """Count a move that the table of phases refused."""
        ...

    def bug(self, where: str) -> None:
        """Count a failure that nobody foresaw: a bug of ours, told in the log with its trace."""
        ...

    def strange(self, account: AccountName, word: str) -> None:
        """Count a status of the provider that our table does not know."""
        ...

    def settled(self, account: AccountName, kind: str, lag: timedelta) -> None:
        """Note how long an effect took to show in an observation; the longest is kept."""
        ...
