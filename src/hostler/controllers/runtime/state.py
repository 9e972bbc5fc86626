"""State: what one process remembers of one account between turns; nothing here is progress."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.decision_cache import Rests
from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Scope
from hostler.domain.model.snapshot import Answered, Probed, Suspect, Wish, WishKind
from hostler.ports.clock import Clock
from hostler.ports.hosts import KeepsHosts

from .host_records import Stable
from .settings import Account


@dataclass(slots=True)
class AccountState:
    """The newest view, caches of records, probes, and what is in flight.

    Losing all of it costs looks, never truth: every turn could be the first. The records of `stale`
    fleets must be read again; `recalled` machines are in flight and wanted no longer; `taken` are
    numbers of wishes that a reading under way may still bring. `unread`: the ledger must be read.
    `keeps` is the provider where its machines are tenancies of hosts.
    """

    account: Account
    stable: Stable = field(init=False)
    keeps: KeepsHosts | None = field(init=False)
    view: View = field(default_factory=View)
    rows: dict[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    machines: dict[FleetName, dict[MachineId, Machine]] = field(
        default_factory=dict[FleetName, dict[MachineId, Machine]]
    )
    ordered: dict[FleetName, tuple[Machine, ...]] = field(
        default_factory=dict[FleetName, tuple[Machine, ...]]
    )
    rests: dict[FleetName, Rests] = field(default_factory=dict[FleetName, Rests])
    suspects: tuple[Suspect, ...] = ()
    wishes: tuple[Wish, ...] = ()
    probed: dict[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    answers: dict[MachineId, Answered] = field(default_factory=dict[MachineId, Answered])
    asking: set[MachineId] = field(default_factory=set[MachineId])
    probing: set[MachineId] = field(default_factory=set[MachineId])
    moving: set[MachineId] = field(default_factory=set[MachineId])
    asked: tuple[Scope, ...] = ()
    world: dict[FleetName, str] = field(default_factory=dict[FleetName, str])
    wave: dict[FleetName, bool] = field(default_factory=dict[FleetName, bool])
    missing: dict[FleetName, int] = field(default_factory=dict[FleetName, int])
    pace: timedelta = timedelta(0)
    due: datetime | None = None
    expecting: bool = False
    looked_once: bool = False
    unread: bool = True
    stale: set[FleetName] = field(default_factory=set[FleetName])
    recalled: set[MachineId] = field(default_factory=set[MachineId])
    taken: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        provider = self.account.provider
        self.stable = Stable(self.account.name)
        hosts = isinstance(provider, KeepsHosts) and bool(provider.traits.hosts)
        self.keeps = provider if hosts and isinstance(provider, KeepsHosts) else None

    def keep(self, machine: Machine) -> None:
        """Remember a record as it was stored; one that is gone is forgotten."""
        self.ordered.pop(machine.fleet, None)
        records = self.machines.setdefault(machine.fleet, {})
        if machine.phase == "gone":
            records.pop(machine.id, None)
        else:
            records[machine.id] = machine

    def living(self, fleet: FleetName) -> tuple[Machine, ...]:
        """Return the fleet's living machines, by serial: the same tuple until one changes."""
        if fleet not in self.ordered:
            records = self.machines.get(fleet, {}).values()
            self.ordered[fleet] = tuple(sorted(records, key=lambda m: (m.serial, m.id)))
        return self.ordered[fleet]

    def orders(self) -> dict[MachineId, datetime]:
        """Return when each order was made that is on a row."""
        return {order.id: order.at for row in self.rows.values() for order in row.orders}

    def distrust(self) -> None:
        """Read all records again before the next turn: a save of ours failed, or somebody's won."""
        self.stale.update(fleet.name for fleet in self.account.fleets)
        self.stable.distrust()
        self.unread = True

    def is_recalled(self, machine: Machine) -> bool:
        """Tell whether a machine in flight should get no further."""
        if machine.goal is not Goal.PRESENT:
            return False
        return machine.id in self.recalled or any(
            wish.machine == machine.id and wish.kind is WishKind.END for wish in self.wishes
        )

    def forget_looks(self) -> None:
        """Throw away everything that was seen: time cannot be trusted across it."""
        self.view = View()
        self.probed.clear()
        self.answers.clear()

    def held_by_wish(self, machine: Machine) -> str:
        """Return the hold that somebody wished and that is not yet in the record, if any."""
        for wish in self.wishes:
            mine = wish.machine == machine.id or (
                wish.machine is None and wish.fleet == machine.fleet
            )
            if mine and wish.kind in {"hold", "pause"}:
                return f"{wish.kind} by {wish.actor}: {wish.why}"
        return ""


class Steadiness:
    """Notices when the wall clock jumps against boot time."""

    def __init__(self, clock: Clock, jump: timedelta) -> None:
        self._clock, self._jump = clock, jump
        self._offset = self._now_offset()
        self.started = clock.now()
        self.jumped: datetime | None = None

    @property
    def steady(self) -> datetime:
        """Since when time can be trusted: our start, or the last jump."""
        return self.jumped or self.started

    def check(self) -> bool:
        """Tell whether the clock jumped since the last check, and remember it."""
        offset = self._now_offset()
        if abs(offset - self._offset) < self._jump.total_seconds():
            return False
        self._offset = offset
        self.jumped = self._clock.now()
        return True

    def _now_offset(self) -> float:
        return self._clock.now().timestamp() - self._clock.boot()
