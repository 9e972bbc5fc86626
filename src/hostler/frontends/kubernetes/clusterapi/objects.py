"""Objects: what is read of Cluster API's own kinds, and of ours. All fields may be missing."""

from collections.abc import Mapping

import msgspec

from hostler.kubernetes.objects import Metadata, Object
from hostler.kubernetes.resources import Resource

from .names import CONTROL_PLANE, CORE, CORE_VERSION, INFRASTRUCTURE, VERSION


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of an object."""


class Condition(Part, frozen=True):
    """One condition; `status` is True, False or Unknown, the time in RFC 3339 and seconds."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""


class Initialization(Part, frozen=True):
    """What happened once and for all."""

    provisioned: bool = False
    control_plane_initialized: bool = False
    infrastructure_provisioned: bool = False


class Endpoint(Part, frozen=True):
    """Where an API server is reached; without a port there is none yet."""

    host: str = ""
    port: int = 0


class FailureDomain(Part, frozen=True):
    """A failure domain: a zone of ours."""

    name: str = ""
    control_plane: bool = False
    attributes: Mapping[str, str] = {}


class Address(Part, frozen=True):
    """One address of a machine, with its type as core names it."""

    type: str = ""
    address: str = ""


# ---------------------------------------------------------------- of core


class ClusterSpec(Part, frozen=True):
    """What is wanted of a cluster."""

    paused: bool = False
    control_plane_endpoint: Endpoint = Endpoint()


class ClusterStatus(Part, frozen=True):
    """How a cluster stands."""

    initialization: Initialization = Initialization()


Cluster = Object[ClusterSpec, ClusterStatus]


class Bootstrap(Part, frozen=True):
    """Where a machine's bootstrap data is."""

    data_secret_name: str = ""


class CoreMachineSpec(Part, frozen=True):
    """What is wanted of a machine by Cluster API."""

    cluster_name: str = ""
    bootstrap: Bootstrap = Bootstrap()
    failure_domain: str = ""


CoreMachine = Object[CoreMachineSpec, Part]

# ---------------------------------------------------------------- ours


class MachineWants(Part, frozen=True):
    """The spec of a HostlerMachine; `provider_id` and `machine_id` are written by hostler."""

    provider_id: str = msgspec.field(name="providerID", default="")
    machine_id: str = msgspec.field(name="machineID", default="")
    fleet_name: str = ""
    type: str = ""
    zone: str = ""
    image: str = ""


class MachineStatus(Part, frozen=True):
    """The status of a HostlerMachine; `ready` is for cores of contract v1beta1."""

    ready: bool = False
    initialization: Initialization = Initialization()
    addresses: tuple[Address, ...] = ()
    failure_domain: str = ""
    conditions: tuple[Condition, ...] = ()


HostlerMachine = Object[MachineWants, MachineStatus]


class ClusterWants(Part, frozen=True):
    """The spec of a HostlerCluster."""

    control_plane_endpoint: Endpoint = Endpoint()
    failure_domains: tuple[FailureDomain, ...] = ()


class InfrastructureStatus(Part, frozen=True):
    """The status of a HostlerCluster; `ready` is for cores of contract v1beta1."""

    ready: bool = False
    initialization: Initialization = Initialization()
    failure_domains: tuple[FailureDomain, ...] = ()
    conditions: tuple[Condition, ...] = ()


HostlerCluster = Object[ClusterWants, InfrastructureStatus]


class ControlPlaneStatus(Part, frozen=True):
    """The status of a control plane that exists and that nobody here manages."""

    ready: bool = False
    initialized: bool = False
    external_managed_control_plane: bool = False
    initialization: Initialization = Initialization()
    conditions: tuple[Condition, ...] = ()


ControlPlane = Object[Part, ControlPlaneStatus]
"""A control plane; nothing is wanted of it."""


class NodeInfo(Part, frozen=True):
    """What a node of a template would be."""

    architecture: str = ""
    operating_system: str = ""


class TemplateWants(Part, frozen=True):
    """The spec of a HostlerMachineTemplate, without the template that core clones.

    A whole number is a quantity too, as Kubernetes has them: `cpu: 8`.
    """

    capacity: Mapping[str, str | int] = {}
    node_info: NodeInfo = NodeInfo()


class TemplateStatus(Part, frozen=True):
    """The status of a HostlerMachineTemplate: what scaling from zero counts with."""

    capacity: Mapping[str, str | int] = {}
    node_info: NodeInfo = NodeInfo()


MachineTemplate = Object[TemplateWants, TemplateStatus]


class Secret(Part, frozen=True):
    """A secret; `data` is base64."""

    metadata: Metadata
    data: Mapping[str, str] | None = None

    def __repr__(self) -> str:
        """Return nothing of what is in it."""
        return f"<Secret {self.metadata.name}>"


class Namespace(Part, frozen=True):
    """A namespace; that of the system is there as long as its cluster."""

    metadata: Metadata


# ---------------------------------------------------------------- where they are

CORE_INSTALL = "clusterctl init"
"""What installs Cluster API's core, and its kinds with it."""

CLUSTERS = Resource(
    group=CORE,
    version=CORE_VERSION,
    plural="clusters",
    kind="Cluster",
    model=Cluster,
    installed_by=CORE_INSTALL,
)
CORE_MACHINES = Resource(
    group=CORE,
    version=CORE_VERSION,
    plural="machines",
    kind="Machine",
    model=CoreMachine,
    installed_by=CORE_INSTALL,
)
MACHINES = Resource(
    group=INFRASTRUCTURE,
    version=VERSION,
    plural="hostlermachines",
    kind="HostlerMachine",
    model=HostlerMachine,
)
HOSTLER_CLUSTERS = Resource(
    group=INFRASTRUCTURE,
    version=VERSION,
    plural="hostlerclusters",
    kind="HostlerCluster",
    model=HostlerCluster,
)
TEMPLATES = Resource(
    group=INFRASTRUCTURE,
    version=VERSION,
    plural="hostlermachinetemplates",
    kind="HostlerMachineTemplate",
    model=MachineTemplate,
)
CONTROL_PLANES = Resource(
    group=CONTROL_PLANE,
    version=VERSION,
    plural="hostlerexternalcontrolplanes",
    kind="HostlerExternalControlPlane",
    model=ControlPlane,
)
NAMESPACES = Resource(
    group="", version="v1", plural="namespaces", kind="Namespace", model=Namespace, namespaced=False
)
SECRETS = Resource(group="", version="v1", plural="secrets", kind="Secret", model=Secret)
