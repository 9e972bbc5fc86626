"""Values: a fleet file once it is read and found right, frozen."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import ConfigError, Remedy
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import Fleet

from .errors import Fault, did_you_mean
from .node_tables import NodeTable
from .store_url import StoreUrl


class AccountConfig(Struct, frozen=True, kw_only=True):
    """One [provider.NAME] table: its kind, its budget of calls, and the kind's own settings."""

    name: AccountName
    kind: str
    rate: float
    burst: int
    settings: object


class Listen(Struct, frozen=True, kw_only=True):
    """Where something is served."""

    host: str
    port: int


class Tls(Struct, frozen=True, kw_only=True):
    """Files in PEM, seen from the fleet file: ours, and the authority of those who may call."""

    certificate: str
    key: str
    client_ca: str


class NodeGroup(Struct, frozen=True, kw_only=True):
    """A fleet of which Cluster Autoscaler asks for nodes, and what its nodes are."""

    fleet: FleetName
    node: NodeTable


class ExternalGrpc(Struct, frozen=True, kw_only=True):
    """Where Cluster Autoscaler is served, and what of."""

    listen: Listen
    tls: Tls | None
    groups: tuple[NodeGroup, ...]


class Config(Struct, frozen=True, kw_only=True):
    """A fleet file. `templates` are the kinds' own parts of the fleets' tables.

    `nodes` are what fleets say of their machines as nodes. `warnings` tell of what the file may
    say, and hardly means. Beside the file's fleets may be some that only the store knows any more
    (`removed.with_removed`); `unreadable` are those of them of which nobody can say any more how
    they are to be looked after, and why. `account_ids` are what accounts are outside, as far as
    that is known, and `host_addresses` where those of their hosts are that are switched off when
    nobody has them. `reclaims` is what the file says of fleets that do not say whether they reclaim
    orphans. `objects` are the paths of tables that are objects of a cluster (`fleet.web`), None
    where none are read beside a file; `unread` says why some are not among the values.
    """

    path: Path
    store: StoreUrl
    accounts: tuple[AccountConfig, ...]
    fleets: tuple[Fleet, ...]
    templates: Mapping[FleetName, object]
    settings: Settings
    metrics: Listen | None = None
    externalgrpc: ExternalGrpc | None = None
    nodes: Mapping[FleetName, NodeTable] = field(default_factory=dict[FleetName, NodeTable])
    warnings: tuple[str, ...] = ()
    unreadable: Mapping[FleetName, str] = field(default_factory=dict[FleetName, str])
    account_ids: Mapping[AccountName, str] = field(default_factory=dict[AccountName, str])
    host_addresses: Mapping[AccountName, Mapping[str, str]] = field(
        default_factory=dict[AccountName, Mapping[str, str]]
    )
    reclaims: bool = False
    objects: frozenset[str] | None = None
    unread: str = ""

    def is_object(self, fleet: FleetName) -> bool:
        """Tell whether a fleet is an object of a cluster, and none of the file."""
        return f"fleet.{fleet}" in (self.objects or ())

    @property
    def folder(self) -> Path:
        """Where relative paths in the file begin."""
        return self.path.parent

    def fleet(self, name: str | None) -> Fleet:
        """Return the fleet of this name, or the file's only one; ConfigError lists the names."""
        own = [fleet for fleet in self.fleets if not fleet.removed]
        names = [str(fleet.name) for fleet in (own if name is None else self.fleets)]
        if name is None and len(names) > 1:
            text = f"{self.path} has several fleets ({', '.join(names)}): say which one"
            raise ConfigError(text, Remedy.NAME_FLEET)
        found = own[0] if name is None and own else self.known(name or "")
        if found is None:
            near = did_you_mean(name or "", names) or f"it has {', '.join(names)}"
            raise ConfigError(f"{self.path} has no fleet {name!r}; {near}")
        return found

    def known(self, name: str) -> Fleet | None:
        """Return the fleet of this name, in the file or not; None where there is none."""
        return next((fleet for fleet in self.fleets if str(fleet.name) == name), None)

    def chosen(self, name: str | None) -> tuple[Fleet, ...]:
        """Return the fleet of this name, or all of them."""
        return self.fleets if name is None else (self.fleet(name),)


class WrongFile(ConfigError):
    """A fleet file with faults; the message has all of them, `faults` each by itself."""

    def __init__(self, path: Path, faults: tuple[Fault, ...]) -> None:
        self.path, self.faults = path, faults
        count = f"{len(faults)} error{'s' if len(faults) != 1 else ''}"
        lines = "\n".join(f"  {fault}" for fault in faults)
        super().__init__(f"{path}: {count}\n{lines}")
