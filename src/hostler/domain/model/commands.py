"""Commands: the few things that a decision can ask for, as values, each with its reason."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

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


class Event(Struct, frozen=True, gc=False, kw_only=True):
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


class Next(Struct, frozen=True, gc=False, kw_only=True):
    """What happens next to a machine or host: the kind of step, its detail, and when.

    `at` is None where that is at once, or not known.
    """

    kind: str
    detail: str = ""
    at: datetime | None = None


class Verdict(Struct, frozen=True, gc=False, kw_only=True):
    """What decide() says of one machine: the reason for its state, what blocks it, what is next."""

    machine: MachineId
    reason: str
    blocker: str = ""
    next: Next = Next(kind="nothing")


class Advance(Struct, frozen=True, gc=False, kw_only=True):
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


class SaveFleet(Struct, frozen=True, kw_only=True):
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


class SaveOrphans(Struct, frozen=True, kw_only=True):
    """Write orphans that were seen, and take out those that are deleted or explained."""

    orphans: tuple[Orphan, ...] = ()
    cleared: tuple[ResourceId, ...] = ()


class Reclaim(Struct, frozen=True, kw_only=True):
    """Remove resources that no record explains: `placeholder` is the machine they name."""

    placeholder: Machine
    resources: tuple[Resource, ...]
    orphans: tuple[Orphan, ...]


class Bind(Struct, frozen=True, kw_only=True):
    """Bind this host to this machine, and keep its record; before anything else about either."""

    host: Host
    machine: MachineId


class Unbind(Struct, frozen=True, kw_only=True):
    """Remove the binding of a machine that took another host, or none, once that is recorded."""

    host: HostId
    machine: MachineId


class SaveHost(Struct, frozen=True, kw_only=True):
    """Keep a host's record: somebody asked for something of it."""

    host: Host


class OrderHosts(Struct, frozen=True, kw_only=True):
    """Order hosts, all or none; the fleet's row names them already."""

    orders: tuple[Order, ...]


Command = Advance | SaveFleet | SaveOrphans | Reclaim | Bind | Unbind | SaveHost | OrderHosts


Provable = Mapping[tuple[Zone, str], datetime]
"""When a listing of a zone and kind has to begin to prove that the orphans are gone which one
lacked."""


class Decision(Struct, frozen=True, kw_only=True):
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
