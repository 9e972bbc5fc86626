"""What exists of Apple silicon: hosts, images, attachments to networks, diagnostics."""

from dataclasses import dataclass, field
from enum import StrEnum

from hostler.simulators.scaleway.records import Record


class MacStatus(StrEnum):
    """The statuses of a Mac that the API documents."""

    STARTING = "starting"
    READY = "ready"
    ERROR = "error"
    REBOOTING = "rebooting"
    UPDATING = "updating"
    LOCKING = "locking"
    LOCKED = "locked"
    UNLOCKING = "unlocking"
    REINSTALLING = "reinstalling"
    BUSY = "busy"


AT_REST = frozenset({MacStatus.READY, MacStatus.ERROR})


@dataclass(slots=True, eq=False, kw_only=True)
class OsImage(Record):
    """An image of macOS, in every zone; a retired one is not found any more."""

    family: str
    version: str
    xcode: str
    types: tuple[str, ...]
    beta: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Mac(Record):
    """A host. `turn` counts its transitions; `installs` how often its disk has been written anew.

    `deletable` is the end of the time that is paid for; None while it is not delivered.
    """

    type_name: str
    os: OsImage
    ip: str
    password: str
    commitment: str
    cancelled: bool = False
    status: MacStatus = MacStatus.STARTING
    delivered: bool = False
    deletable: float | None = None
    deletion_scheduled: bool = False
    vpc: str = "vpc_disabled"
    bandwidth: int = 0
    kext: bool = False
    sealed_until: float = 0.0
    installs: int = 0
    turn: int = 0
    attachments: "dict[str, Attachment]" = field(default_factory=dict)


@dataclass(slots=True, eq=False, kw_only=True)
class Attachment(Record):
    """A Mac in a private network. Its VLAN is not shown before `polls` more looks at it."""

    mac: Mac
    network_id: str
    vlan: int
    status: str = "attaching"
    polls: int = 0


@dataclass(slots=True, eq=False, kw_only=True)
class Diagnostic(Record):
    """A look at the health of a Mac, done at `ready_at`."""

    mac: Mac
    ready_at: float
