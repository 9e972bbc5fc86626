"""What exists in the world: mutable objects, each with the facts that its bodies are made from.

They are changed by the handlers and by the timeline only. Times are seconds of the world's clock.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from .network_records import PrivateIp
from .record import Record


class State(StrEnum):
    """The states of a server that the API documents."""

    RUNNING = "running"
    STOPPED = "stopped"
    IN_PLACE = "stopped in place"
    STARTING = "starting"
    STOPPING = "stopping"
    LOCKED = "locked"


@dataclass(slots=True, eq=False, kw_only=True)
class Image(Record):
    """An image of an operating system; `root_type` is what its root volume becomes."""

    arch: str
    label: str = ""
    root_id: str
    root_type: str
    root_size: int = 0
    root_name: str = ""
    public: bool = True
    from_server: str = ""
    extras: "dict[str, Snapshot]" = field(default_factory=dict)

    @property
    def parts(self) -> set[str]:
        """The ids of the snapshots that it is made of."""
        return {self.root_id, *(snapshot.id for snapshot in self.extras.values())}


@dataclass(slots=True, eq=False, kw_only=True)
class Address(Record):
    """A flexible IP; a dynamic one belongs to its server and is in no list."""

    kind: str
    ip: str  # of IPv6, the prefix without its length
    reverse: str | None = None
    state: str = "detached"
    server: "Server | None" = None
    dynamic: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Reference:
    """What ties a block volume to a server, as Block Storage sees it."""

    id: str
    server_id: str
    created: float
    status: str = "attached"


@dataclass(slots=True, eq=False, kw_only=True)
class BlockVolume(Record):
    """A volume of Block Storage. It outlives its server whatever happens to that."""

    size: int
    iops: int = 5000
    status: str = "creating"
    snapshot_id: str | None = None
    reference: Reference | None = None
    detached: float | None = None
    server: "Server | None" = None
    attaching: bool = False

    @property
    def kind(self) -> str:
        """The volume type, in the words of the Instance API."""
        return "sbs_volume"

    @property
    def busy(self) -> bool:
        """While it is, the server allows no action."""
        return self.attaching


@dataclass(slots=True, eq=False, kw_only=True)
class LocalVolume(Record):
    """A volume of the Instance API: `l_ssd` or `scratch`."""

    size: int
    kind: str
    state: str = "available"
    server: "Server | None" = None

    @property
    def busy(self) -> bool:
        """While it is, the server allows no action."""
        return self.state != "available"


Volume = BlockVolume | LocalVolume


@dataclass(slots=True, eq=False, kw_only=True)
class Nic(Record):
    """A private network card of a server."""

    server: "Server"
    network_id: str
    mac: str
    available: bool = True
    ips: list[PrivateIp] = field(default_factory=list[PrivateIp])


@dataclass(slots=True, eq=False, kw_only=True)
class SecurityRule:
    """One rule of a security group."""

    id: str
    fields: dict[str, object]


@dataclass(slots=True, eq=False, kw_only=True)
class SecurityGroup(Record):
    """A security group; every project has a default one in each zone, made when first needed."""

    default: bool = False
    fields: dict[str, object] = field(default_factory=dict[str, object])
    rules: dict[str, SecurityRule] = field(default_factory=dict[str, SecurityRule])


@dataclass(slots=True, eq=False, kw_only=True)
class PlacementGroup(Record):
    """A placement group."""

    mode: str = "optional"
    kind: str = "max_availability"


@dataclass(slots=True, eq=False, kw_only=True)
class Snapshot(Record):
    """A snapshot, of either API: `kind` is `sbs` or the type of the local volume."""

    kind: str
    size: int
    state: str
    volume_id: str | None
    volume_name: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class SshKey(Record):
    """A key of IAM; its zone is empty."""

    public_key: str
    fingerprint: str
    disabled: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Server(Record):
    """A server. `turn` counts its transitions, so that an overtaken one does nothing."""

    commercial_type: str
    arch: str
    image: Image | None
    hostname: str
    mac: str
    security_group: SecurityGroup
    placement_group: PlacementGroup | None = None
    boot_type: str = "local"
    state: str = State.STOPPED
    detail: str = ""
    displayed: str = ""  # a state that is shown in place of the true one
    protected: bool = False
    dynamic_ip_required: bool = True
    admin_key_id: str | None = None
    boot_slots: dict[str, bool] = field(default_factory=dict[str, bool])
    volumes: dict[str, Volume] = field(default_factory=dict[str, Volume])
    addresses: list[Address] = field(default_factory=list[Address])
    nics: dict[str, Nic] = field(default_factory=dict[str, Nic])
    user_data: dict[str, bytes] = field(default_factory=dict[str, bytes])
    location: dict[str, str] | None = None
    turn: int = 0
    goal: str = ""  # where the transition under way leads; "deleted" for terminate
    guest_up: bool = False
    wire: msgspec.Raw | None = None  # its body as last encoded; None when something changed
