"""Metrics that count into plain dictionaries, for tests and experiments."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan


@dataclass(slots=True)
class CountingMetrics:
    """Remembers everything that it was told; `calls` by kind and outcome, `moves` by from and to.

    It promises what every adapter of the port does: it never raises.
    """

    living: dict[FleetName, tuple[Machine, ...]] = field(
        default_factory=dict[FleetName, tuple[Machine, ...]]
    )
    moves: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    calls: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    ages: dict[AccountName, timedelta] = field(default_factory=dict[AccountName, timedelta])
    ledger: tuple[Orphan, ...] = ()
    reclaims: Counter[str] = field(default_factory=Counter[str])
    sweeps: dict[FleetName, datetime] = field(default_factory=dict[FleetName, datetime])
    stabled: dict[AccountName, dict[tuple[str, str, str], int]] = field(
        default_factory=dict[AccountName, dict[tuple[str, str, str], int]]
    )
    paid_until: dict[AccountName, dict[tuple[str, str], datetime]] = field(
        default_factory=dict[AccountName, dict[tuple[str, str], datetime]]
    )
    unlooked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    outfits: dict[FleetName, int] = field(default_factory=dict[FleetName, int])
    missing: dict[FleetName, int] = field(default_factory=dict[FleetName, int])
    alarms: Counter[tuple[FleetName, str]] = field(default_factory=Counter[tuple[FleetName, str]])
    refusals: Counter[str] = field(default_factory=Counter[str])
    illegal_moves: int = 0
    bugs: Counter[str] = field(default_factory=Counter[str])
    words: Counter[str] = field(default_factory=Counter[str])
    longest: dict[str, timedelta] = field(default_factory=dict[str, timedelta])

    def machines(self, fleet: FleetName, machines: tuple[Machine, ...]) -> None:
        """Note the living machines of a fleet, after a cycle."""
        self.living[fleet] = machines

    def moved(self, fleet: FleetName, before: str, after: str, reason: str) -> None:
        """Count a move."""
        del fleet
        self.moves[before, after, reason] += 1

    def called(self, account: AccountName, call: str, outcome: str) -> None:
        """Count a call."""
        del account
        self.calls[call, outcome] += 1

    def observed(self, account: AccountName, age: timedelta) -> None:
        """Note the age of the oldest whole observation."""
        self.ages[account] = age

    def unseen(self, account: AccountName, zone: str, kind: str) -> None:
        """Count an observation that failed."""
        del account
        self.unlooked[zone, kind] += 1

    def orphans(self, orphans: tuple[Orphan, ...]) -> None:
        """Note the orphan report."""
        self.ledger = orphans

    def reclaimed(self, fleet: FleetName, result: str) -> None:
        """Count what a reclaim did."""
        del fleet
        self.reclaims[result] += 1

    def orphans_checked(self, fleet: FleetName, at: datetime) -> None:
        """Note an orphan report that is up to date."""
        self.sweeps[fleet] = at

    def hosts(self, account: AccountName, hosts: Mapping[tuple[str, str, str], int]) -> None:
        """Note how many hosts there are."""
        self.stabled[account] = dict(hosts)

    def paid(self, account: AccountName, until: Mapping[tuple[str, str], datetime]) -> None:
        """Note until when hosts are paid."""
        self.paid_until[account] = dict(until)

    def starved(self, fleet: FleetName, missing: int) -> None:
        """Note how many machines a fleet lacks."""
        self.missing[fleet] = missing

    def bootstrap(self, fleet: FleetName, failed: int) -> None:
        """Note on how many hosts a list failed that is at fault."""
        self.outfits[fleet] = failed

    def alarmed(self, fleet: FleetName, reason: str) -> None:
        """Count an alarm."""
        self.alarms[fleet, reason] += 1

    def barred(self, check: str) -> None:
        """Count a refusal of the gate."""
        self.refusals[check] += 1

    def illegal(self) -> None:
        """Count an illegal move."""
        self.illegal_moves += 1

    def bug(self, where: str) -> None:
        """Count a bug."""
        self.bugs[where] += 1

    def strange(self, account: AccountName, word: str) -> None:
        """Count an unknown status."""
        del account
        self.words[word] += 1

    def settled(self, account: AccountName, kind: str, lag: timedelta) -> None:
        """Keep the longest lag."""
        del account
        self.longest[kind] = max(lag, self.longest.get(kind, lag))
