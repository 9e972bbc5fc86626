"""Commands: the few things that a decision can ask for, as values, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hostler.domain.ids import (
    CycleId,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
)

from .fleet import FleetRow, Order
from .host import Host
from .machine import Machine, MachineSpec, Offer
from .phases import Goal
from .resource import Resource, Scope
from .snapshot import Orphan

REQUEST_REFUSED = "request_refused"
"""The kind of the event that says why a request which was accepted cannot be carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that changed, written in the transaction of the change itself.

    `host` is the one that the machine has, or the one that it is about where no machine has it.
    `request` is the number of the request that it answers, if any.
    """

    kind: str
    at: datetime
    fleet: FleetName
    cycle: CycleId
    machine: MachineId | None = None
    host: HostId | None = None
    reason: str = ""
    detail: str = ""
    request: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What happens next to a machine or host: the kind of step, its detail, and when.

    `at` is None where that is at once, or not known.
    """

    kind: str
    detail: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What decide() says of one machine: the reason for its state, what blocks it, what is next."""

    machine: MachineId
    reason: str
    blocker: str = ""
    next: Next = Next(kind="nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Save this machine's record if it changed, observe or probe, and advance it to a goal.

    `ask` says that its host is asked whether it is busy.
    """

    machine: Machine
    changed: bool
    events: tuple[Event, ...]
    verdict: Verdict
    goal: Goal | None = None
    probe: bool = False
    ask: bool = False
    close: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveFleet:
    """Save the fleet's row, with events, new machines (one for each offer) and requests taken.

    `named` are the ids of the first of the new machines, and `specs` what is asked of each of
    these; the others get fresh ids.
    `adopted` are records for parts that were foreign or unexplained; the marks of `installations`
    are ours from then on.
    """

    row: FleetRow
    inserts: tuple[Offer, ...] = ()
    named: tuple[MachineId, ...] = ()
    specs: tuple[MachineSpec, ...] = ()
    adopted: tuple[Machine, ...] = ()
    installations: tuple[InstallationId, ...] = ()
    events: tuple[Event, ...] = ()
    requests: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveOrphans:
    """Write orphans that were seen, and take out those that are deleted or explained."""

    orphans: tuple[Orphan, ...] = ()
    cleared: tuple[ResourceId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """Remove resources that no record explains: `placeholder` is the machine they name."""

    placeholder: Machine
    resources: tuple[Resource, ...]
    orphans: tuple[Orphan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Bind this host to this machine, and keep its record; before anything else about either."""

    host: Host
    machine: MachineId


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbind:
    """Remove the binding of a machine that took another host, or none, once that is recorded."""

    host: HostId
    machine: MachineId


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveHost:
    """Keep a host's record: somebody asked for something of it."""

    host: Host


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderHosts:
    """Order hosts, all or none; the fleet's row names them already."""

    orders: tuple[Order, ...]


Command = Advance | SaveFleet | SaveOrphans | Reclaim | Bind | Unbind | SaveHost | OrderHosts


Provable = Mapping[tuple[Zone, str], datetime]
"""When a listing of a zone and kind has to begin to prove that the orphans are gone which one
lacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one cycle of one fleet comes to: commands in order, and a word on the fleet as a whole.

    `recalled` are machines in flight that are wanted no longer: nothing more is made for them.
    `condition` is empty when all is well; `due` is when the next decision may differ without any
    new observation (a deadline, a retry); `expecting` says that something is on its way.
    """

    commands: tuple[Command, ...] = ()
    condition: str = ""
    verdicts: tuple[Verdict, ...] = ()
    due: datetime | None = None
    expecting: bool = False
    alarms: tuple[str, ...] = ()
    recalled: tuple[MachineId, ...] = ()
    provable: Provable = field(default_factory=dict[tuple[Zone, str], datetime])


RESIZE = "hostler"
"""The actor of endings that a size asks for."""
