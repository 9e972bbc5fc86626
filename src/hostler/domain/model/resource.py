"""Resources: what costs or can clash at a provider, whose it is, and how it stands."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone


class Condition(StrEnum):
    """How a resource stands, in our words; each provider has a total, tested table onto these."""

    OFF = "off"
    STANDBY = "standby"
    STARTING = "starting"
    UP = "up"
    STOPPING = "stopping"
    LOCKED = "locked"
    BUSY = "busy"
    FREE = "free"
    WIPING = "wiping"
    FAILED = "failed"
    UNKNOWN = "unknown"


DOWN = frozenset(
    {Condition.OFF, Condition.STANDBY, Condition.LOCKED, Condition.WIPING, Condition.FAILED}
)
"""What a server that should be up must not be, once it has been switched on."""

REACHABLE = frozenset({Condition.UP, Condition.UNKNOWN})
"""What may be asked at its address: it is up, or nobody says how it stands."""

SWITCHED_OFF = frozenset({Condition.OFF, Condition.STANDBY})
"""Nothing runs on a host then, and whoever has it may switch it on."""


class Slot(Struct, frozen=True, gc=False, order=True):
    """A place in a machine that one resource fills: the server, address 1, volume 0."""

    kind: str
    index: int = 0

    def __str__(self) -> str:
        """Return the slot as people read it: `address 1`, or `server`."""
        return self.kind if self.kind == "server" else f"{self.kind} {self.index}"


def taken_id(shared: str, machine: MachineId) -> ResourceId:
    """Return the id of one allocation of a thing of a pool; the next one is another resource."""
    return ResourceId(f"{shared}@{machine}")


class OwnerTag(Struct, frozen=True, gc=False, kw_only=True):
    """How a resource says whose it is."""

    installation: InstallationId
    fleet: FleetName
    machine: MachineId
    attempt: int


class PartialTag(Struct, frozen=True):
    """A part of an owner tag: too little to say which machine's a resource is.

    `installations` are those that it names, and `fleet` the one that it names, if that is one.
    """

    installations: tuple[InstallationId, ...]
    fleet: FleetName | None = None


class Stage(StrEnum):
    """What a host is there for, as what is written on it says.

    POOL is free to be taken by anybody. PENDING to RELEASING are a machine's: being claimed, in
    use, on the way into standby, in standby, being released. WIPING to RETIRING are the host's own:
    being cleaned, kept clean for the next machine, ordered and never used, left alone, given up.
    FOREIGN is another installation's; OTHER and UNNAMED are outside every pool. Where ownership is
    in our records alone, every host is in the POOL. NONE is no host at all.
    """

    NONE = ""
    POOL = "pool"
    PENDING = "pending"
    CLAIMED = "claimed"
    STANDBY = "standby"
    RESTED = "rested"
    RELEASING = "releasing"
    WIPING = "wiping"
    PARKED = "parked"
    ORDERED = "ordered"
    QUARANTINED = "quarantined"
    RETIRING = "retiring"
    FOREIGN = "foreign"
    OTHER = "other"
    UNNAMED = "unnamed"


class OrphanClass(StrEnum):
    """What an orphan probably is; those below *unissued* are of hosts alone: hosts/orphans.py.

    The last one is no resource without a record, but a machine that nobody asks for any more.
    """

    UNRECORDED = "unrecorded"
    FOREIGN = "foreign"
    NO_FLEET = "no-fleet"
    PARTIAL_TAG = "partial-tag"
    UNISSUED = "unissued"
    PENDING_FRESH = "pending-fresh"
    PENDING_STALE = "pending-stale"
    RELEASING_STUCK = "releasing-stuck"
    DUPLICATE_NAME = "duplicate-name"
    SCHEDULED = "scheduled-deletion"
    LOCKED = "locked-or-error"
    DOUBLE = "double"
    SET_ASIDE = "set-aside"
    CLAIMED_LOOKING = "claimed-looking"
    OUTSIDE = "outside"
    ABANDONED = "abandoned"


class HostFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What an observation says of a host; an allocation has the facts of its host.

    `tagged` is the stage that its owner tag tells, whoever wrote that; `holder`, `fleet` and
    `installation` are whom the tag names. `pool` is the prefix of the names of its pool, `image`
    what it runs. `paid_until` is until when it is paid for, and cannot be deleted; `scheduled` that
    the provider will delete it then; `renews` that another period is going to be paid. `updated` is
    when it last changed, where that can speak against a claim. `witness` is something that changes
    with a wipe, `cleaned` that its cleaning was seen to end well, `host_key` the SSH host key that
    it shows, `key_vouched` that its owner wrote down that this is its own. `rate` is what it costs
    while it is on, in euros per hour; `left_alone` is why its owner's settings leave it alone.
    """

    stage: Stage = Stage.NONE
    tagged: Stage = Stage.NONE
    holder: MachineId | None = None
    fleet: FleetName | None = None
    installation: InstallationId | None = None
    pool: str = ""
    image: str = ""
    delivered: bool = False
    paid_until: datetime | None = None
    scheduled: bool = False
    renews: bool = False
    updated: datetime | None = None
    witness: str = ""
    cleaned: bool = False
    host_key: str = ""
    key_vouched: bool = False
    rate: float = 0.0
    left_alone: str = ""


class Resource(Struct, frozen=True, gc=False, kw_only=True):
    """One thing at a provider, as it was seen, or as a definite answer described it.

    `slot` is the place that it fills or would fill; `owner_tag` is None where none can be read, and
    `partial_tag` is what there is of one then; `owner` is the resource that it hangs on (the server
    of a volume); `type` is its commercial type; `status` is the provider's own word and `condition`
    ours; `allowed` are the provider's words for what may be asked of it now; `price` is in euros
    per hour; `protected` says that the provider refuses to delete it; `host` is what else is known
    of a host, or an allocation of one; `notes` are facts that only its provider understands.
    `surplus` and `orphan` are our judgement of it, not an observation.
    """

    id: ResourceId
    slot: Slot
    zone: Zone
    type: str = ""
    owner_tag: OwnerTag | None = None
    partial_tag: PartialTag | None = None
    status: str = ""
    condition: Condition = Condition.UNKNOWN
    allowed: tuple[str, ...] = ()
    owner: ResourceId | None = None
    created: datetime | None = None
    price: float = 0.0
    name: str = ""
    address: str = ""
    protected: bool = False
    host: HostFacts = HostFacts()
    notes: tuple[tuple[str, str], ...] = ()
    surplus: bool = False
    orphan: OrphanClass | None = None

    def note(self, key: str) -> str:
        """Return one of the provider's own facts about this resource, or an empty string."""
        for name, value in self.notes:  # asked so often that a generator would be felt
            if name == key:
                return value
        return ""


class Scope(Struct, frozen=True, gc=False, order=True):
    """What one listing covers: a zone and a kind, whole, or for one machine alone.

    A scope with a machine is complete for that machine: its known ids are asked for one by one
    (`known`), and what carries its owner tag is listed. With `alone` nothing is listed: it says
    whether those ids exist, and nothing of what else the machine may have.
    """

    zone: Zone
    kind: str
    machine: MachineId | None = None
    known: tuple[ResourceId, ...] = ()
    alone: bool = False


class ObservedScope(Struct, frozen=True, gc=False, kw_only=True):
    """How the observation of one scope went: when it began, and whether it was complete."""

    scope: Scope
    begun: datetime
    complete: bool
    error: str = ""


class Observation(Struct, frozen=True, kw_only=True):
    """One observation of an account: what was seen, scope by scope.

    `strange` counts the provider's words that our table does not know.
    """

    observed: tuple[ObservedScope, ...]
    resources: tuple[Resource, ...]
    strange: tuple[str, ...] = ()


def joined(observations: Iterable[Observation]) -> Observation:
    """Return observations that were made side by side as one; each scope has its own beginning."""
    several = tuple(observations)
    return Observation(
        observed=tuple(observed for one in several for observed in one.observed),
        resources=tuple({r.id: r for one in several for r in one.resources}.values()),
        strange=tuple(word for one in several for word in one.strange),
    )
