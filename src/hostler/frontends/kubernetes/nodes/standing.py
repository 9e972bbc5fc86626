"""Standing: what a Node says of itself, with its age, and which machine's Node it is. Pure.

That a Node is not ready is a reason to look after its machine, and proves nothing of its power.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from .objects import Node, NodeCondition

CONTROL_PLANE = frozenset(
    {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
CORDONED_BY = "hostler.dev/cordoned-by"
"""The annotation that says for which machine's end we cordoned a Node: only that is taken back."""


class Readiness(StrEnum):
    """Whether a Node's kubelet says that it can run Pods. `silent`: it says nothing any more."""

    READY = "ready"
    NOT_READY = "not ready"
    SILENT = "silent"


class Standing(Struct, frozen=True, kw_only=True):
    """How a Node stands: since when, and when its kubelet was last heard; None where unknown."""

    readiness: Readiness
    name: str = ""
    since: datetime | None = None
    heard: datetime | None = None
    text: str = ""

    def age(self, now: datetime) -> timedelta | None:
        """Return how old it is; None where nobody knows."""
        return now - self.heard if self.heard is not None else None


def standing(node: Node) -> Standing:
    """Return how a Node stands; one without its condition was never heard of."""
    conditions = (node.status.conditions if node.status else None) or ()
    ready = next((one for one in conditions if one.type == "Ready"), None)
    if ready is None:
        return Standing(
            readiness=Readiness.SILENT,
            name=node.metadata.name,
            text="its kubelet was never heard",
        )
    return Standing(
        readiness=_READINESS.get(ready.status, Readiness.SILENT),
        name=node.metadata.name,
        since=ready.last_transition_time,
        heard=ready.last_heartbeat_time,
        text=_text(ready),
    )


def is_up(standing: Standing, since: datetime) -> bool:
    """Tell whether a Node is ready by what its kubelet said since then, as far as clocks agree."""
    heard = standing.heard or standing.since
    return standing.readiness is Readiness.READY and heard is not None and heard >= since - _CLOCKS


_CLOCKS = timedelta(minutes=5)
"""How far apart our clock and a kubelet's may be."""

_READINESS = {"True": Readiness.READY, "False": Readiness.NOT_READY}


def _text(ready: NodeCondition) -> str:
    return ": ".join(text for text in (ready.reason, ready.message) if text)


def is_control_plane(node: Node) -> bool:
    """Tell whether a Node says that it carries the control plane."""
    return not CONTROL_PLANE.isdisjoint(node.metadata.labels or {})


class Identity(Struct, frozen=True, kw_only=True):
    """By what a machine's Node is known: its provider ID, and names that it may have."""

    provider_id: str | None
    names: tuple[str, ...] = ()


class NodeIndex(Struct, frozen=True):
    """All Nodes of a cluster, found by what machines know of theirs."""

    by_id: Mapping[str, Node] = field(default_factory=dict[str, Node])
    by_name: Mapping[str, Node] = field(default_factory=dict[str, Node])

    def find(self, identity: Identity) -> Node | None:
        """Return a machine's Node: by provider ID; by name only one that has no provider ID."""
        if identity.provider_id and (node := self.by_id.get(identity.provider_id)):
            return node
        found = (self.by_name.get(name) for name in identity.names)
        return next((node for node in found if node and not id_of(node)), None)


def index(nodes: Iterable[Node]) -> NodeIndex:
    """Return these Nodes by their provider IDs and by their names.

    Of several with one provider ID the youngest is found: a host that joins under another name has
    a Node of its own, and what it was called before is left behind.
    """
    listed = sorted(nodes, key=lambda node: node.metadata.creation_timestamp or _BEFORE_ALL)
    by_id = {id_of(node): node for node in listed if id_of(node)}
    return NodeIndex(by_id, {node.metadata.name: node for node in listed})


_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def is_of_host(node: Node, zone: str, host: str) -> bool:
    """Tell whether a Node is that of a host, which no machine need have: by its provider ID's end.

    By name only where it has no provider ID, as that of a machine.
    """
    known = id_of(node)
    return known.endswith(f"/{zone}/{host}") if known else node.metadata.name == host


def id_of(node: Node) -> str:
    """Return a Node's provider ID; empty where it has none."""
    return node.spec.provider_id if node.spec else ""
