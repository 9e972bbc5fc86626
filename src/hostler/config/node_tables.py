"""Node tables: what the fleet file says of Kubernetes nodes, and of who asks for them."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from hostler.ports.kind import POSITIVE, permission

from .cluster_tables import KubernetesTable
from .quantities import A_QUANTITY, PATTERN

LISTEN = Meta(
    pattern=r"^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$",
    extra={"expected": 'an address and a port, such as "127.0.0.1:9100"'},
)

Quantity = Annotated[str, Meta(pattern=PATTERN, extra={"expected": A_QUANTITY})]
Text = Annotated[str, Meta(min_length=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[timedelta, Meta(extra=POSITIVE)]


class TaintTable(Struct, frozen=True, kw_only=True):
    """One taint of a new node."""

    key: Annotated[Text, Meta(description="its key")]
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"],
        Meta(description="what it does to pods that do not tolerate it"),
    ]
    value: Annotated[str, Meta(description="its value")] = ""


class OptionsTable(Struct, frozen=True, kw_only=True):
    """How Cluster Autoscaler treats this fleet; what is left out is as its flags say.

    Cluster Autoscaler from 1.35 on forgets its time for nodes that are not ready yet
    (`--max-node-startup-time`) where a fleet has any of these.
    """

    scale_down_utilization_threshold: Annotated[
        Share | None, Meta(description="a node is unneeded below this share of its resources")
    ] = None
    scale_down_gpu_utilization_threshold: Annotated[
        Share | None, Meta(description="the same of nodes with GPUs")
    ] = None
    scale_down_unneeded: Annotated[
        Positive | None, Meta(description="how long a node is unneeded before it goes")
    ] = None
    scale_down_unready: Annotated[
        Positive | None, Meta(description="the same of one that is not ready")
    ] = None
    max_node_provision: Annotated[
        Positive | None, Meta(description="how long a node may take to come")
    ] = None
    zero_or_max: Annotated[
        bool | None, Meta(description="whether the fleet has all of its nodes, or none")
    ] = None
    ignore_daemon_sets: Annotated[
        bool | None, Meta(description="whether pods of daemon sets count for utilization")
    ] = None


Choice = Literal["evict", "wait"]


class ManagedTable(Struct, frozen=True, kw_only=True):
    """How hostler works at the Nodes of these machines in their cluster.

    It labels them, drains them before their machines end, and removes them afterwards.
    """

    at_bound: Annotated[
        Literal["proceed", "wait"],
        Meta(
            description="what follows when `timers.drain` is over and something still runs on a "
            "Node: its machine is ended all the same, or it waits for as long as it takes"
        ),
    ] = "proceed"
    grace: Annotated[
        Positive | None,
        Meta(description="how long each pod has for its end; left out: as each says itself"),
    ] = None
    unmanaged: Annotated[
        Choice, Meta(description="what becomes of pods that nothing would start anew")
    ] = "evict"
    local_storage: Annotated[
        Choice, Meta(description="what becomes of pods that would lose their emptyDir volumes")
    ] = "evict"
    unsafe: Annotated[
        Choice,
        Meta(
            description="what becomes of pods with the annotation "
            "cluster-autoscaler.kubernetes.io/safe-to-evict: false"
        ),
    ] = "wait"
    control_plane: Annotated[
        bool,
        Meta(
            description="whether nodes of the control plane may be drained, and their machines "
            "ended; otherwise they are protected"
        ),
    ] = False
    remove: Annotated[
        bool, Meta(description="whether the Node of a machine that has ended is removed")
    ] = True
    annotations: Annotated[
        dict[str, str], Meta(description="annotations that its nodes have, beside `labels`")
    ] = {}


class NodeTable(Struct, frozen=True, kw_only=True):
    """What the fleet's machines are as nodes of a Kubernetes cluster."""

    minimum: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)],
        Meta(description="Cluster Autoscaler goes no lower"),
    ] = 0
    provider_id: Annotated[
        Text | None,
        Meta(
            description="the providerID that its nodes have, with {host}, {machine}, {zone} and "
            '{address}, such as "k3s://{host}"; left out: the provider\'s own'
        ),
    ] = None
    cpu: Annotated[
        Quantity | None,
        Meta(
            description="the processors that pods get on a node; without `cpu` and `memory` "
            "Cluster Autoscaler learns a node only from one that is there, and cannot begin at none"
        ),
    ] = None
    memory: Annotated[Quantity | None, Meta(description="the memory that pods get")] = None
    pods: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)], Meta(description="how many pods a node takes")
    ] = 110
    storage: Annotated[Quantity | None, Meta(description="the ephemeral storage that pods get")] = (
        None
    )
    resources: Annotated[
        dict[str, Quantity], Meta(description="others, by name, such as nvidia.com/gpu")
    ] = {}
    labels: Annotated[
        dict[str, str], Meta(description="labels that its nodes have", extra=permission("labels"))
    ] = {}
    taints: Annotated[
        tuple[TaintTable, ...], Meta(description="taints that its nodes have for good")
    ] = ()
    architecture: Annotated[Text, Meta(description="kubernetes.io/arch of its nodes")] = "amd64"
    system: Annotated[Text, Meta(description="kubernetes.io/os of its nodes")] = "linux"
    price: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="euros an hour, for the expander `price`; left out: as the provider says"),
    ] = None
    options: OptionsTable | None = None
    managed: Annotated[
        ManagedTable | None,
        Meta(description="with this, hostler itself works at their Nodes in the cluster"),
    ] = None


class HostNodeTable(Struct, frozen=True, kw_only=True):
    """What one host is as a Node, beside what its machine's fleet says."""

    labels: Annotated[
        dict[str, str],
        Meta(
            description="labels that its Node has, before those of the fleet; written where that "
            "has `node.managed`",
            extra=permission("labels"),
        ),
    ] = {}
    taints: Annotated[
        tuple[TaintTable, ...],
        Meta(description="taints that its Node has for good, before those of the fleet"),
    ] = ()


def with_host(table: NodeTable, host: HostNodeTable | None) -> NodeTable:
    """Return what a Node is to be where its host has a say: the host's is what holds."""
    if host is None:
        return table
    taints = {(one.key, one.effect): one for one in (*table.taints, *host.taints)}
    return structs.replace(
        table, labels={**table.labels, **host.labels}, taints=tuple(taints.values())
    )


class TlsTable(Struct, frozen=True, kw_only=True):
    """Who is served: only callers with a certificate that this authority signed."""

    certificate: Annotated[Text, Meta(description="the server's certificate, a file in PEM")]
    key: Annotated[Text, Meta(description="its private key, a file in PEM")]
    client_ca: Annotated[
        Text, Meta(description="the authority whose certificates callers have, a file in PEM")
    ]


class ExternalGrpcTable(Struct, frozen=True, kw_only=True):
    """Where Cluster Autoscaler asks for nodes: fleets with `renews = false` are its node groups."""

    listen: Annotated[str, LISTEN, Meta(description="address and port for gRPC; port 0: any")]
    tls: TlsTable | None = None
    insecure: Annotated[
        bool,
        Meta(
            description="serve others than this computer without `tls`: whoever reaches the port "
            "can make and delete machines"
        ),
    ] = False


class FrontendTable(Struct, frozen=True, kw_only=True):
    """What else is served, beside metrics."""

    externalgrpc: ExternalGrpcTable | None = None
    kubernetes: KubernetesTable | None = None
