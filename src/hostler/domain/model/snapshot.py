"""Snapshot: observations, records and the clock, frozen; the only input of decide()."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from hostler.domain.ids import (
    AccountName,
    CycleId,
    Epoch,
    FleetName,
    HostId,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
)
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import OrphanClass
from hostler.domain.policy.purchasing import Limits
from hostler.domain.policy.revisions import Revision

from .fleet import Fleet, FleetRow, renames
from .hold import HoldKind
from .host import Free, Host, HostGoal
from .inventory import Inventory
from .machine import Machine, MachineSpec
from .phases import Phase
from .requester import Requester
from .resource import Resource


class Orphan(Struct, frozen=True, kw_only=True):
    """A resource in our scope that no record explains; it stays in the report until it is gone.

    `sightings` counts complete observations that showed it, at least a gap apart; `price` is in
    euros per hour; `cost` is what it has cost so far, from its creation where that is known;
    `tried` is when its removal was last tried, `missing` when the first complete observation began
    that lacked it.
    """

    resource: ResourceId
    kind: str
    zone: Zone
    fleet: FleetName
    cls: OrphanClass
    first: datetime
    last: datetime
    sightings: int = 1
    counted: datetime | None = None
    tried: datetime | None = None
    missing: datetime | None = None
    created: datetime | None = None
    owner: str = ""
    price: float = 0.0
    cost: float = 0.0
    blocked: str = ""
    installation: InstallationId | None = None
    machine: MachineId | None = None

    def since(self, counted_from: datetime) -> datetime:
        """Since when it exists: its creation, or the first sight of it, where that was earlier.

        The provider's clock and ours may be apart, and ours may have jumped back since. A first
        sight before a time from which on our clock is one may be another clock's.
        """
        first = max(self.first, counted_from)
        return min(self.created or first, first)


class RequestKind(StrEnum):
    """What a frontend may ask for."""

    SCALE = "scale"
    GROW = "grow"
    DELETE = "delete"
    STANDBY = "standby"
    WAKE = "wake"
    PROTECT = "protect"
    UNPROTECT = "unprotect"
    PAUSE = "pause"
    RESUME = "resume"
    ADOPT = "adopt"
    ADOPT_FLEET = "adopt_fleet"
    RETIRE = "retire"
    OWN = "own"
    DISOWN = "disown"
    RECLAIM = "reclaim"
    POOL_ADD = "pool_add"
    POOL_ADOPT = "pool_adopt"
    HOLD = "hold"
    LIFT = "lift"
    CYCLE = "cycle"


class Request(Struct, frozen=True, kw_only=True):
    """What a frontend asks: a size, machines by id, a deletion, a protection; `number` orders.

    `machines` are the ids that a GROW wish gives to new machines: whoever wished them knows them
    before they exist, and a wish that is granted twice makes them once; `specs` are what is asked
    of each of them, in the same order, where that is more than the fleet's template says. `host` is
    what POOL_ADD puts into the fleet's pool, POOL_ADOPT makes a machine of under the id in
    `machines`, and RETIRE gives up where it names no machine; `keep` says
    that its disk is left as it is. `source` is the fleet that ADOPT_FLEET takes the machines of.
    `hold` is what HOLD wants of the host until `until`; LIFT ends that, and CYCLE switches the host
    off and on. `requester` is who asks for a machine from OWN on, and who is gone by DISOWN;
    RECLAIM ends a machine that nobody asks for.
    """

    number: int
    kind: RequestKind
    fleet: FleetName
    at: datetime
    actor: str
    machine: MachineId | None = None
    machines: tuple[MachineId, ...] = ()
    specs: tuple[MachineSpec, ...] = ()
    size: int | None = None
    until: datetime | None = None
    why: str = ""
    now: bool = False
    installation: InstallationId | None = None
    host: HostId | None = None
    keep: bool = False
    source: FleetName | None = None
    hold: HoldKind | None = None
    requester: Requester | None = None


class Probed(Struct, frozen=True, kw_only=True):
    """The newest readiness probe of a machine: when it began, whether it passed, what was seen.

    `output` is what the commands of a host printed, where any ran; `ended` is when it was over,
    where that may be long after it began.
    """

    begun: datetime
    passed: bool
    text: str = ""
    output: str = ""
    ended: datetime | None = None


class Answer(StrEnum):
    """What a host said to the question whether it is busy; no answer, or a strange one: unknown.

    BARRED: it is a Node that is never to be ended, as that on which this process runs.
    """

    BUSY = "busy"
    FREE = "free"
    BARRED = "barred"
    UNKNOWN = "unknown"


class Answered(Struct, frozen=True, kw_only=True):
    """An answer, when it was asked for, and the event to be written of it."""

    answer: Answer
    at: datetime
    text: str = ""


def _nobody(resource: ResourceId) -> None:
    del resource


class Snapshot(Struct, frozen=True, kw_only=True):
    """Everything that one cycle of one fleet may know.

    `ours` are the installations whose owner tags are ours (our own first); `foreign` are resources
    under the fleet's name with other owner tags; `unissued` those with our owner tag and an id or
    an attempt that our store never issued; `unexplained` those with our owner tag and an id that
    it issued, which no record and no history explains, and `removing` those of them that calls
    in flight remove; `aside` hosts that no machine can have for
    now, ours or not; `late` those whose machine is in our history. `steady` is when this
    process started or the clock last jumped, `jumped` the latter alone; `took` is when this
    epoch began, and `took_over` says that whoever led before did not give its lease back. `moving`
    are machines with calls in flight: they are not touched. Where
    machines are allocations, `hosts` are the records of the account's hosts, `ties` say which
    host a machine has, `free` are the hosts that this fleet's machines may take now, the best
    ones first, `pool` is how the names in its pool begin, `limits` are those of ordering hosts,
    None where none may be ordered, `usurped` are hosts with a machine of ours and the name of a
    tenant that no record knows, and `stirring` hosts with calls in flight. `answers` are what
    hosts said last to the question whether they are busy. `revision` is what is known of the
    setup script by now, and `canaries` are the machines in use that it may be brought to, None:
    all of them; decide() fills both in. `left` are the rows of the account's fleets that are no
    longer in the file, and `adopted` the names among them whose machines another fleet takes over.
    `neighbours` are the machines of the account's other fleets, where hosts are switched on and
    off: they share its limits. `owner_of` tells on which living machine's record a resource is,
    of any fleet of the account.
    """

    cycle: CycleId
    now: datetime
    fleet: Fleet
    row: FleetRow
    machines: tuple[Machine, ...]
    inventory: Inventory
    capabilities: Capabilities
    epoch: Epoch
    took: datetime
    steady: datetime
    ours: tuple[InstallationId, ...]
    took_over: bool = False
    jumped: datetime | None = None
    foreign: tuple[Resource, ...] = ()
    unissued: tuple[Resource, ...] = ()
    unexplained: tuple[Resource, ...] = ()
    removing: tuple[Resource, ...] = ()
    aside: tuple[Resource, ...] = ()
    late: tuple[Machine, ...] = ()
    orphans: tuple[Orphan, ...] = ()
    requests: tuple[Request, ...] = ()
    moving: frozenset[MachineId] = frozenset()
    probed: Mapping[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    hosts: Mapping[HostId, Host] = field(default_factory=dict[HostId, Host])
    bindings: Mapping[MachineId, HostId] = field(default_factory=dict[MachineId, HostId])
    free: tuple[Free, ...] = ()
    pool: str = ""
    limits: Limits | None = None
    usurped: frozenset[HostId] = frozenset()
    moving_hosts: frozenset[HostId] = frozenset()
    answers: Mapping[MachineId, Answered] = field(default_factory=dict[MachineId, Answered])
    revision: Revision = Revision()
    canaries: frozenset[MachineId] | None = None
    left: Mapping[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    adopted: frozenset[FleetName] = frozenset()
    ended: tuple[Machine, ...] = ()
    neighbours: tuple[Machine, ...] = ()
    owner_of: Callable[[ResourceId], MachineId | None] = _nobody
    guarded: Mapping[HostId, str] | None = field(default_factory=dict[HostId, str])

    @property
    def counted_from(self) -> datetime:
        """Since when one clock has counted: this epoch began then, or the clock last jumped."""
        jumped = self.jumped
        if jumped is None or jumped <= self.took <= self.now:
            return self.took
        return jumped

    @property
    def reopening(self) -> tuple[Machine, ...]:
        """The machines whose ends begin once more now: something of them turned up late."""
        return tuple(machine for machine in self.late if machine.phase is Phase.DELETED)


def why_on(guarded: Mapping[HostId, str] | None, host: HostId) -> str:
    """Return why a host that is on stays on, by what is known of all; None: nothing is yet."""
    if guarded is None:
        return "whether its Node may be ended is not known yet"
    return guarded.get(host, "")


class AccountSnapshot(Struct, frozen=True, kw_only=True):
    """Everything that one cycle of an account may know: plain facts, gathered once.

    The hosts' cycle decides on it as it is; a fleet's Snapshot is a view of it (decision/view.py).
    `living` are each fleet's machines by serial, and `machines` all of them, and those of fleets
    that only another process knows, where something names them; `past` those in the
    history that a tag, a binding or a host's name still names, and `issued` those ids among the
    rest of these that our store once gave to a machine or an order; `starved` are fleets that lack
    hosts; `orders` says when each order on the fleets' rows was made; `protected` why nothing of a
    fleet may be destroyed now; `guarded` why hosts whose Nodes are never to be ended are left on,
    None while that is not known. The rest is as in Snapshot, of all fleets.
    """

    cycle: CycleId
    now: datetime
    account: AccountName
    hosts: Mapping[HostId, Host]
    bindings: Mapping[HostId, MachineId]
    machines: Mapping[MachineId, Machine]
    past: Mapping[MachineId, Machine]
    issued: frozenset[MachineId]
    inventory: Inventory
    capabilities: Capabilities
    epoch: Epoch
    took: datetime
    steady: datetime
    ours: tuple[InstallationId, ...] = ()
    took_over: bool = False
    jumped: datetime | None = None
    fleets: tuple[Fleet, ...] = ()
    rows: Mapping[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    living: Mapping[FleetName, tuple[Machine, ...]] = field(
        default_factory=dict[FleetName, tuple[Machine, ...]]
    )
    orphans: tuple[Orphan, ...] = ()
    requests: tuple[Request, ...] = ()
    moving: frozenset[MachineId] = frozenset()
    moving_hosts: frozenset[HostId] = frozenset()
    probed: Mapping[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    answers: Mapping[MachineId, Answered] = field(default_factory=dict[MachineId, Answered])
    absence_gap: timedelta = timedelta(seconds=20)
    starved: frozenset[FleetName] = frozenset()
    orders: Mapping[MachineId, datetime] = field(default_factory=dict[MachineId, datetime])
    protected: Mapping[FleetName, str] = field(default_factory=dict[FleetName, str])
    guarded: Mapping[HostId, str] | None = field(default_factory=dict[HostId, str])

    def why_on(self, host: HostId) -> str:
        """Return why a host that is on stays on, whoever has it or not; empty where it need not."""
        return why_on(self.guarded, host)

    @property
    def renamed(self) -> Mapping[FleetName, FleetName]:
        """Under which name a fleet of the account goes on that had another one."""
        return renames(self.fleets, self.rows)


class HostTransition(Struct, frozen=True, kw_only=True):
    """One host in one cycle: its record to be saved, a host to unbind, what is pursued.

    `stands` says that nobody has it and it was observed: a goal of its own may be pursued.
    """

    before: Host
    host: Host
    resource: Resource | None = None
    unbind: MachineId | None = None
    goal: HostGoal | None = None
    stranded: bool = False
    stands: bool = False
    blocker: str = ""

    @property
    def changed(self) -> bool:
        """Whether the record must be saved."""
        return self.host is not self.before and self.host != self.before
