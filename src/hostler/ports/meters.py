"""Meters: what is counted while running, for whoever wants to watch."""

from datetime import timedelta
from typing import Protocol

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.machine import Machine
from hostler.domain.seen import Suspect


class Meters(Protocol):
    """Counts and gauges; names and labels are listed in docs/reference/metrics.md."""

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Note the living machines of a fleet, after a turn."""
        ...

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Count a move of a machine from one phase to another."""
        ...

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """Count a call to a provider: its kind, and done, refused_<class> or unknown."""
        ...

    def looked(self, account: AccountName, age: timedelta) -> None:
        """Note how old the oldest whole look is that decisions rest on."""
        ...

    def suspects(self, suspects: tuple[Suspect, ...]) -> None:
        """Note the ledger of suspects."""
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
        """Note how long an effect took to show in a look; the longest is kept."""
        ...
