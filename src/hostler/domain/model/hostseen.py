"""Host seen: what one turn of an account's hosts may know, and what comes of each of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.ids import (
    AccountName,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    TurnId,
)

from .host import Host, HostGoal
from .inventory import View
from .machine import Machine
from .provider import Traits
from .resource import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsSeen:
    """Everything that one turn of an account's hosts may know.

    `machines` are the living ones of all its fleets; `past` those in the history that a tie or a
    host's name still names; `moving` are hosts with calls in flight; `starved` are fleets that lack
    hosts; `orders` says when each order on the fleets' rows was made.
    """

    turn: TurnId
    now: datetime
    account: AccountName
    hosts: Mapping[HostId, Host]
    ties: Mapping[HostId, MachineId]
    machines: Mapping[MachineId, Machine]
    past: Mapping[MachineId, Machine]
    view: View
    traits: Traits
    epoch: Epoch
    took: datetime
    ours: tuple[InstallationId, ...] = ()
    jumped: datetime | None = None
    absence_gap: timedelta = timedelta(seconds=20)
    moving: frozenset[HostId] = frozenset()
    starved: frozenset[FleetName] = frozenset()
    orders: Mapping[MachineId, datetime] = field(default_factory=dict[MachineId, datetime])


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStep:
    """One host in one turn: its record as it will be saved, a tie to loosen, what is pursued."""

    before: Host
    host: Host
    part: Part | None = None
    loose: MachineId | None = None
    goal: HostGoal | None = None
    stranded: bool = False

    @property
    def changed(self) -> bool:
        """Whether the record must be saved."""
        return self.host is not self.before and self.host != self.before
