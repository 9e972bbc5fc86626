"""Resources: what costs or can clash at a provider, whose it is, and how it stands."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

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


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A place in a machine that one resource fills: the server, address 1, volume 0."""

    kind: str
    index: int = 0

    def __str__(self) -> str:
        """Return the slot as people read it: `address 1`, or `server`."""
        return self.kind if self.kind == "server" else f"{self.kind} {self.index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerTag:
    """How a resource says whose it is."""

    installation: InstallationId
    fleet: FleetName
    machine: MachineId
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One thing at a provider, as it was seen, or as a definite answer described it.

    `slot` is the place that it fills or would fill; `mark` is None where none can be read; `owner`
    is the resource that it hangs on (the server of a volume); `status` is the provider's own word
    and `condition` ours; `allowed` are the provider's words for what may be asked of it now;
    `price` is in euros per hour; `notes` are facts that only its provider understands.
    """

    id: ResourceId
    slot: Slot
    zone: Zone
    owner_tag: OwnerTag | None = None
    status: str = ""
    condition: Condition = Condition.UNKNOWN
    allowed: tuple[str, ...] = ()
    owner: ResourceId | None = None
    created: datetime | None = None
    price: float = 0.0
    name: str = ""
    address: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    surplus: bool = False

    def note(self, key: str) -> str:
        """Return one of the provider's own facts about this resource, or an empty string."""
        for name, value in self.notes:  # asked so often that a generator would be felt
            if name == key:
                return value
        return ""


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """What one listing covers: a zone and a kind, whole, or for one machine alone.

    A scope with a machine is complete for that machine: its known ids are asked for one by one
    (`known`), and what carries its owner tag is listed.
    """

    zone: Zone
    kind: str
    machine: MachineId | None = None
    known: tuple[ResourceId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedScope:
    """How the observation of one scope went: when it began, and whether it was complete."""

    scope: Scope
    begun: datetime
    complete: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One observation of an account: what was seen, scope by scope.

    `strange` counts the provider's words that our table does not know.
    """

    observed: tuple[ObservedScope, ...]
    resources: tuple[Resource, ...]
    strange: tuple[str, ...] = ()
