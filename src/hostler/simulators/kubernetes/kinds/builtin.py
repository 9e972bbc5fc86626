"""The kinds that every server serves, as far as clients of machines meet them."""

from collections.abc import Iterator

from .kind import Kind

STATUS = frozenset({"status"})
_ROLES = {"upserted": True}
_EVENT = {
    "involvedObject.kind": ("involvedObject", "kind"),
    "involvedObject.namespace": ("involvedObject", "namespace"),
    "involvedObject.name": ("involvedObject", "name"),
    "involvedObject.uid": ("involvedObject", "uid"),
    "reason": ("reason",),
    "type": ("type",),
}
_POD = {
    "spec.nodeName": ("spec", "nodeName"),
    "spec.restartPolicy": ("spec", "restartPolicy"),
    "spec.schedulerName": ("spec", "schedulerName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.phase": ("status", "phase"),
    "status.podIP": ("status", "podIP"),
}


def _core() -> Iterator[Kind]:
    def kind(plural: str, name: str, *short: str, **more: object) -> Kind:
        return _kind("", plural, name, short, more)

    yield kind(
        "namespaces",
        "Namespace",
        "ns",
        namespaced=False,
        subresources=frozenset({"status", "finalize"}),
        fields={"status.phase": ("status", "phase")},
    )
    yield kind(
        "pods",
        "Pod",
        "po",
        counted=True,
        subresources=frozenset({"status", "eviction", "binding"}),
        fields=_POD,
    )
    yield kind(
        "nodes",
        "Node",
        "no",
        namespaced=False,
        subresources=STATUS,
        fields={"spec.unschedulable": ("spec", "unschedulable")},
    )
    yield kind("configmaps", "ConfigMap", "cm")
    yield kind("secrets", "Secret", fields={"type": ("type",)})
    yield kind("serviceaccounts", "ServiceAccount", "sa", subresources=frozenset({"token"}))
    yield kind("events", "Event", "ev", store="events", upserted=True, fields=_EVENT)
    yield kind("services", "Service", "svc", subresources=STATUS)
    yield kind("endpoints", "Endpoints", "ep")
    yield kind("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=STATUS)
    yield kind("persistentvolumes", "PersistentVolume", "pv", namespaced=False, subresources=STATUS)


def _others() -> Iterator[Kind]:
    def kind(group: str, plural: str, name: str, *short: str, **more: object) -> Kind:
        return _kind(group, plural, name, short, more)

    scaled = frozenset({"status", "scale"})
    replicas = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    for plural, name, short in (
        ("deployments", "Deployment", "deploy"),
        ("replicasets", "ReplicaSet", "rs"),
        ("statefulsets", "StatefulSet", "sts"),
    ):
        yield kind("apps", plural, name, short, counted=True, subresources=scaled, scale=replicas)
    yield kind("apps", "daemonsets", "DaemonSet", "ds", counted=True, subresources=STATUS)
    yield kind("batch", "jobs", "Job", counted=True, subresources=STATUS)
    yield kind("batch", "cronjobs", "CronJob", "cj", counted=True, subresources=STATUS)
    yield kind("coordination.k8s.io", "leases", "Lease", upserted=True)
    yield kind(
        "policy",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        "pdb",
        counted=True,
        subresources=STATUS,
    )
    yield kind("events.k8s.io", "events", "Event", "ev", store="events", upserted=True)
    yield kind("networking.k8s.io", "networkpolicies", "NetworkPolicy", "netpol", counted=True)
    yield from _of_the_cluster()
    for plural, name in (("roles", "Role"), ("rolebindings", "RoleBinding")):
        yield kind("rbac.authorization.k8s.io", plural, name, **_ROLES)


def _of_the_cluster() -> Iterator[Kind]:
    def kind(group: str, plural: str, name: str, *short: str, **more: object) -> Kind:
        return _kind(group, plural, name, short, {"namespaced": False, **more})

    rbac = "rbac.authorization.k8s.io"
    yield kind(rbac, "clusterroles", "ClusterRole", **_ROLES)
    yield kind(rbac, "clusterrolebindings", "ClusterRoleBinding", **_ROLES)
    yield kind(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd",
        "crds",
        counted=True,
        unconditional=False,
        subresources=STATUS,
    )
    admission = "admissionregistration.k8s.io"
    for plural, name in (
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ):
        yield kind(admission, plural, name, counted=True)
    yield kind("scheduling.k8s.io", "priorityclasses", "PriorityClass", "pc")
    yield kind("storage.k8s.io", "storageclasses", "StorageClass", "sc")
    yield kind("storage.k8s.io", "volumeattachments", "VolumeAttachment", subresources=STATUS)


def _kind(
    group: str, plural: str, name: str, short: tuple[str, ...], more: dict[str, object]
) -> Kind:
    store = f"{plural}.{group}" if group else plural
    fields: dict[str, object] = {"store": store, "singular": name.lower(), **more}
    return Kind(
        group=group,
        version="v1",
        plural=plural,
        kind=name,
        short=short,
        **fields,  # pyright: ignore[reportArgumentType] - the fields of a Kind, by name
    )


BUILTIN: tuple[Kind, ...] = (*_core(), *_others())
