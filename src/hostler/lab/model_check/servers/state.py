"""The state: how large the small world is, what may go wrong in it, and all that it consists of.

One tick of time is the consistency delay, the absence gap and every pause.
"""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import Caps, Fleet, FleetRow, Timers
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities, Planner
from hostler.domain.model.resource import Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.testing.fakes.planner import SERVER, FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET, WEB

TICK = timedelta(seconds=60)
_TIMERS = Timers(
    admit=2 * TICK,
    start=2 * TICK,
    stop=2 * TICK,
    absence_gap=TICK,
    observation_limit=TICK,
    stock_memory=TICK,
    wave_window=timedelta(0),
    tries=(TICK,),
)
_MANY = 10**6
_CAPS = Caps(per_reclaim=_MANY, per_hour=_MANY, share=float(_MANY), creates=_MANY, stuck=0)


class Fault(StrEnum):
    """What may go wrong; each time takes one of the faults that are left.

    What is late has its effect within a tick, the consistency delay; what is made too late, within
    two: then *gone* and *one server each* cannot be promised, and all else still must be.
    """

    BUSY = "busy"
    LOST_BEFORE = "lost_before"
    LOST_AFTER = "lost_after"
    LATE = "late"
    TOO_LATE = "too_late"
    CRASH = "crash"
    TAKE_OVER = "take_over"
    LAG = "lag"
    BLIND = "blind"
    SLOW = "slow"
    VANISHED = "vanished"
    STOPPED = "stopped"


class Setting(Struct, frozen=True, kw_only=True):
    """How large the small world is: machines, replicas, addresses each, and faults on any path.

    `kinds` are the faults that there are; `shrinks` says whether somebody may ask that nothing is
    left; `patience` is the bound of a start in ticks.
    """

    machines: int = 1
    replicas: int = 1
    addresses: int = 1
    faults: int = 1
    kinds: tuple[Fault, ...] = tuple(fault for fault in Fault if fault is not Fault.TOO_LATE)
    shrinks: bool = True
    patience: int = 2

    @property
    def fleet(self) -> Fleet:
        """The fleet that is kept."""
        return replace(
            FLEET,
            size=self.machines,
            maximum=self.machines + 1,
            timers=replace(_TIMERS, start=self.patience * TICK),
            caps=_CAPS,
        )

    @property
    def capabilities(self) -> Capabilities:
        """What the provider says of itself."""
        kinds = ("server", "address") if self.addresses else ("server",)
        return Capabilities(main=SERVER, kinds=kinds, consistency_delay=TICK)

    @property
    def planner(self) -> Planner:
        """The pure half of the provider."""
        return FakePlanner(self.addresses)


class Task(Struct, frozen=True):
    """One machine in flight: its record, its parts, and the call that is on the wire."""

    machine: Machine
    resources: tuple[Resource, ...]
    goal: Goal
    snapshot: Snapshot
    call: Call | None = None


class Replica(Struct, frozen=True):
    """One process: what it saw, what it is about to decide on, and what is in flight."""

    epoch: int = 0
    took: datetime = BEGIN
    inventory: Inventory = Inventory()
    asked: tuple[Scope, ...] = ()
    observed: bool = False
    snapshot: Snapshot | None = None
    tasks: tuple[Task, ...] = ()


class State(Struct, frozen=True, kw_only=True):
    """Everything: the time, the world, effects that are late, the store, and the processes."""

    faults: int
    row: FleetRow
    replicas: tuple[Replica, ...]
    now: datetime = BEGIN
    resources: tuple[Resource, ...] = ()
    late: tuple[Call, ...] = ()
    too_late: tuple[Call, ...] = ()
    machines: tuple[Machine, ...] = ()
    history: tuple[Machine, ...] = ()
    epoch: int = 1
    names: int = 0


def first(setting: Setting) -> State:
    """Return the beginning: an empty world and store, and one process that holds the lease."""
    row = FleetRow(name=WEB, created=BEGIN, version=1)
    holder = Replica(epoch=1)
    others = (Replica(),) * (setting.replicas - 1)
    return State(faults=setting.faults, row=row, replicas=(holder, *others))
