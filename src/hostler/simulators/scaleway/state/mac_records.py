"""What exists of Apple silicon: hosts, images, attachments to networks, diagnostics."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from .network_records import PrivateIp
from .record import Record


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
MOVING = (
    MacStatus.STARTING,
    MacStatus.REBOOTING,
    MacStatus.UPDATING,
    MacStatus.LOCKING,
    MacStatus.UNLOCKING,
    MacStatus.REINSTALLING,
    MacStatus.BUSY,
)
"""The statuses in which a Mac is on its way, as the official clients list them."""


@dataclass(slots=True, eq=False, kw_only=True)
class Disk:
    """What one installation has written, until the next one.

    keys: the public keys of the project when it was written; they may log in.
    seed: what the private host key of this installation is made from.
    files: what a client in this process has put there; served by SSH, a disk is a folder instead.
    """

    keys: tuple[str, ...] = ()
    seed: bytes = bytes(32)
    files: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True, eq=False, kw_only=True)
class Porch:
    """What ails SSH on a Mac: refused and silent until a moment, wrong host keys to be shown."""

    refused: float = 0.0
    silent: float = 0.0
    wrong_keys: int = 0


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

    `deletable` is the end of the time that is paid for; None before it is ordered. `displayed`
    is a status that is shown in place of the true one, `wire` the body that was sent last, with
    what it was made of.
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
    vpc_goal: str = ""  # what `vpc` will be once it is no longer updating
    vpc_turn: int = 0  # counts its changes
    bandwidth: int = 0
    kext: bool = False
    sealed_until: float = 0.0
    installs: int = 0
    disk: Disk = field(default_factory=Disk)
    porch: Porch = field(default_factory=Porch)
    runners: list[str] = field(default_factory=list[str])
    displayed: str = ""
    wire: tuple[tuple[object, ...], msgspec.Raw] | None = None
    turn: int = 0
    attachments: "dict[str, Attachment]" = field(default_factory=dict)

    @property
    def in_vpc(self) -> bool:
        """Tell if it was asked last to be let into private networks."""
        return (self.vpc_goal if self.vpc == "vpc_updating" else self.vpc) == "vpc_enabled"


@dataclass(slots=True, eq=False, kw_only=True)
class Attachment(Record):
    """A Mac in a private network. Its VLAN is not shown before `polls` more looks at it."""

    mac: Mac
    network_id: str
    vlan: int
    card: str
    status: str = "attaching"
    polls: int = 0
    ips: list[PrivateIp] = field(default_factory=list[PrivateIp])


@dataclass(slots=True, eq=False, kw_only=True)
class Runner(Record):
    """A configuration of the provider's own runner."""

    configuration: dict[str, Any]


@dataclass(slots=True, eq=False, kw_only=True)
class Diagnostic(Record):
    """A look at the health of a Mac, done at `ready_at`."""

    mac: Mac
    ready_at: float
