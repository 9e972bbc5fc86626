"""Objects: Nodes and Pods with the fields that are read, and evictions as they are asked for."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from hostler.kubernetes.objects import Metadata, Object
from hostler.kubernetes.resources import Resource


class Taint(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One taint of a Node, whole: a list of them is written as a whole."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is wanted of a Node."""

    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One condition of a Node."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a Node's kubelet tells of its system; a boot has an id of its own."""

    boot_id: str = msgspec.field(name="bootID", default="")


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a Node stands."""

    conditions: tuple[NodeCondition, ...] | None = None
    allocatable: Mapping[str, str] | None = None
    node_info: NodeInfo | None = None


class Volume(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One volume of a Pod; only those on the Node's own disk are told apart."""

    name: str = ""
    empty_dir: Mapping[str, object] | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a Pod runs, and what it has there."""

    node_name: str = ""
    volumes: tuple[Volume, ...] | None = None


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a Pod stands."""

    phase: str = ""


class Preconditions(msgspec.Struct, frozen=True, kw_only=True):
    """Which object is meant, of all that have had this name."""

    uid: str


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a Pod is ended."""

    preconditions: Preconditions
    grace_period_seconds: int | None = None


class Eviction(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An eviction, as it is asked for; what is answered is a Status, which has no name."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()
    delete_options: DeleteOptions | None = None


Node = Object[NodeSpec, NodeStatus]
Pod = Object[PodSpec, PodStatus]
NODES = Resource(group="", version="v1", plural="nodes", kind="Node", model=Node, namespaced=False)
PODS = Resource(group="", version="v1", plural="pods", kind="Pod", model=Pod)
EVICTIONS = Resource(group="", version="v1", plural="pods", kind="Eviction", model=Eviction)
"""Pods as evictions are asked for at them: the subresource `eviction`."""
