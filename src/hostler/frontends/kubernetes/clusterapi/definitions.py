"""Definitions: our kinds of Cluster API as custom resource definitions, as plain documents."""

from collections.abc import Mapping

from hostler.frontends.kubernetes.definitions.custom import DIGEST, digest_of

from . import schemas
from .names import CONTRACTS, PROVIDER, PROVIDER_LABEL, VERSION
from .objects import CONTROL_PLANES, HOSTLER_CLUSTERS, MACHINES, TEMPLATES
from .schemas import Schema, record, text

Document = Mapping[str, object]


def definitions() -> tuple[Document, ...]:
    """Return a definition of each kind, ready to be applied."""
    return (
        _definition(MACHINES.group, "HostlerMachine", _MACHINE, ("hm",), _MACHINE_COLUMNS),
        _definition(TEMPLATES.group, "HostlerMachineTemplate", _MACHINE_TEMPLATE, ("hmt",)),
        _definition(HOSTLER_CLUSTERS.group, "HostlerCluster", _CLUSTER, ("hc",), _CLUSTER_COLUMNS),
        _definition(HOSTLER_CLUSTERS.group, "HostlerClusterTemplate", _CLUSTER_TEMPLATE, ("hct",)),
        _definition(
            CONTROL_PLANES.group,
            "HostlerExternalControlPlane",
            _CONTROL_PLANE,
            ("hecp",),
            _CONTROL_PLANE_COLUMNS,
        ),
    )


def _definition(
    group: str,
    kind: str,
    schema: Schema,
    short: tuple[str, ...],
    columns: tuple[Document, ...] = (),
) -> Document:
    """Return a definition whose name is what core computes from the kind: it never looks it up."""
    plural = f"{kind.lower()}s"
    version: Document = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            *columns,
            _column("Age", ".metadata.creationTimestamp", "date"),
        ],
    }
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "shortNames": list(short),
        "categories": ["cluster-api", "hostler"],
    }
    spec: Document = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            "labels": {PROVIDER_LABEL: PROVIDER, **dict.fromkeys(CONTRACTS, VERSION)},
            "annotations": {DIGEST: digest_of(spec)},
        },
        "spec": spec,
    }


def _column(name: str, path: str, type_: str = "string", *, wide: bool = False) -> Document:
    return {"name": name, "type": type_, "jsonPath": path, "priority": int(wide)}


_READY = '.status.conditions[?(@.type=="Ready")].'
_MACHINE_COLUMNS = (
    _column("Cluster", r".metadata.labels.cluster\.x-k8s\.io/cluster-name"),
    _column("Fleet", ".spec.fleetName"),
    _column("Ready", f"{_READY}status"),
    _column("Reason", f"{_READY}reason"),
    _column("Machine", ".spec.machineID"),
    _column("ProviderID", ".spec.providerID", wide=True),
    _column("Message", f"{_READY}message", wide=True),
)
_CLUSTER_COLUMNS = (
    _column("Ready", f"{_READY}status"),
    _column("Endpoint", ".spec.controlPlaneEndpoint.host"),
)
_CONTROL_PLANE_COLUMNS = (
    _column("Available", '.status.conditions[?(@.type=="Available")].status'),
    _column("Reason", '.status.conditions[?(@.type=="Available")].reason'),
)


def _kind(description: str, spec: Schema, status: Schema | None = None) -> Schema:
    """Return the schema of a kind."""
    type_meta: Schema = {"type": "string"}
    parts: dict[str, Schema] = {
        "apiVersion": type_meta,
        "kind": type_meta,
        "metadata": {"type": "object"},
        "spec": spec,
    }
    return record(description, **parts, **({"status": status} if status is not None else {}))


def _template(of: str, spec: Schema, **beside: Schema) -> Schema:
    """Return the spec of a template: core clones what is in `spec.template` alone."""
    template = record(
        f"what each {of} is made from", ("spec",), metadata=schemas.METADATA, spec=spec
    )
    return record("what is wanted", ("template",), template=template, **beside)


# ---------------------------------------------------------------- the kinds

_CHOICES: Mapping[str, Schema] = {
    "fleetName": text(
        "the fleet that the machine is asked of; it has `renews = false`", 63, shortest=1
    ),
    "type": text("the type of the machine, where the fleet offers several", 128),
    "zone": text(
        "the zone of the machine, where the fleet offers several and the Machine names no "
        "failure domain",
        128,
    ),
    "image": text("the image that it is started from, where the fleet offers several", 256),
}
_MACHINE_SPEC = record(
    "what is wanted",
    ("fleetName",),
    **_CHOICES,
    providerID=schemas.once(
        text("the id that its Node bears; written by hostler, once", 512),
        "the Node is found by it: replace the Machine instead",
    ),
    machineID=text(
        "the id under which hostler has the machine; written by hostler before it asks", 12
    ),
)
_ADDRESS = record(
    "one address",
    ("type", "address"),
    type={
        "type": "string",
        "description": "what sort of address it is",
        "enum": ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"],
    },
    address=text("the address", 256, shortest=1),
)
_MACHINE = _kind(
    "A machine that is asked of a fleet of hostler, for one Machine of Cluster API.",
    _MACHINE_SPEC,
    record(
        "how it stands",
        ready={"type": "boolean", "description": "the same for cores of contract v1beta1"},
        initialization=schemas.initialization("provisioned", "whether it was ready once"),
        addresses={
            "type": "array",
            "description": "where it is reached",
            "items": _ADDRESS,
            "maxItems": 32,
            "x-kubernetes-list-type": "atomic",
        },
        failureDomain=text("the zone that it is in", 256),
        conditions=schemas.CONDITIONS,
    ),
)
_MACHINE_TEMPLATE = _kind(
    "What the HostlerMachines of a MachineDeployment or MachineSet are made from.",
    _template(
        "HostlerMachine",
        record("what is wanted of each", ("fleetName",), **_CHOICES),
        capacity=schemas.CAPACITY,
        nodeInfo=schemas.NODE_INFO,
    ),
    record("how it stands", capacity=schemas.CAPACITY, nodeInfo=schemas.NODE_INFO),
)
_CLUSTER_SPEC = record(
    "what is wanted",
    controlPlaneEndpoint=schemas.ENDPOINT,
    failureDomains=schemas.FAILURE_DOMAINS,
)
_CLUSTER = _kind(
    "The infrastructure of a cluster: nothing but what its machines have to know.",
    _CLUSTER_SPEC,
    record(
        "how it stands",
        ready={"type": "boolean", "description": "the same for cores of contract v1beta1"},
        initialization=schemas.initialization("provisioned", "whether machines may be made"),
        failureDomains=schemas.FAILURE_DOMAINS,
        conditions=schemas.CONDITIONS,
    ),
)
_CLUSTER_TEMPLATE = _kind(
    "What the HostlerClusters of a ClusterClass are made from.",
    _template("HostlerCluster", _CLUSTER_SPEC),
)
_CONTROL_PLANE = _kind(
    "A control plane that exists and that nobody here manages: with it, Cluster API drains the "
    "Nodes of workers and deletes them.",
    record("what is wanted: nothing"),
    record(
        "how it stands",
        ready={"type": "boolean", "description": "the same for cores of contract v1beta1"},
        initialized={"type": "boolean", "description": "the same for cores of contract v1beta1"},
        externalManagedControlPlane=schemas.flag("that Cluster API has no machines of it: true"),
        initialization=schemas.initialization(
            "controlPlaneInitialized", "whether its API server can be used"
        ),
        conditions=schemas.CONDITIONS,
    ),
)
