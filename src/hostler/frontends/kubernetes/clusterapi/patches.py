"""Patches: what is written into our objects, each with the version that was read.

Core writes into them too, so that no field is touched but ours; and what was decided from an old
copy is refused by the server as a conflict.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hostler.kubernetes.objects import Metadata
from hostler.kubernetes.requests import Patch, merge_patch

from .names import FINALIZER
from .objects import (
    ControlPlaneStatus,
    InfrastructureStatus,
    MachineStatus,
    TemplateStatus,
)


def claimed(read: Metadata, machine: str) -> Patch:
    """Return the patch that writes our finalizer and the machine's id."""
    finalizers = [*(read.finalizers or ())]
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    return merge_patch({"spec": {"machineID": machine}}, read, {"finalizers": finalizers})


def placed(read: Metadata, provider_id: str) -> Patch:
    """Return the patch that writes the providerID."""
    return merge_patch({"spec": {"providerID": provider_id}}, read)


def left(read: Metadata) -> Patch:
    """Return the patch that takes our finalizer off, and nobody else's."""
    finalizers = [name for name in read.finalizers or () if name != FINALIZER]
    return merge_patch({}, read, {"finalizers": finalizers or None})


def status_of_machine(read: Metadata, status: MachineStatus) -> Patch:
    """Return the patch that makes a status this one; what happened once is never taken back."""
    changes: dict[str, object] = {
        "ready": status.ready,
        "addresses": built(status.addresses) or None,
        "failureDomain": status.failure_domain or None,
        "conditions": built(status.conditions),
        **_once("provisioned", holds=status.initialization.provisioned),
    }
    return merge_patch({"status": changes}, read)


def built(parts: Iterable[msgspec.Struct]) -> list[object]:
    """Return parts as they are sent."""
    return [msgspec.to_builtins(part) for part in parts]


def status_of_cluster(read: Metadata, status: InfrastructureStatus) -> Patch:
    """Return the patch that makes a HostlerCluster's status this one."""
    changes: dict[str, object] = {
        "ready": status.ready,
        "failureDomains": built(status.failure_domains) or None,
        "conditions": built(status.conditions),
        **_once("provisioned", holds=status.initialization.provisioned),
    }
    return merge_patch({"status": changes}, read)


def status_of_control_plane(read: Metadata, status: ControlPlaneStatus) -> Patch:
    """Return the patch that makes a control plane's status this one."""
    initialized = status.initialization.control_plane_initialized
    changes: dict[str, object] = {
        "ready": status.ready,
        "initialized": status.initialized,
        "externalManagedControlPlane": status.external_managed_control_plane,
        "conditions": built(status.conditions),
        **_once("controlPlaneInitialized", holds=initialized),
    }
    return merge_patch({"status": changes}, read)


def status_of_template(read: Metadata, before: TemplateStatus, status: TemplateStatus) -> Patch:
    """Return the patch that makes a template's status this one, where it was that of before."""
    changes = {
        "capacity": _instead(before.capacity, status.capacity),
        "nodeInfo": _instead(_fields(before.node_info), _fields(status.node_info)),
    }
    return merge_patch({"status": changes}, read)


def _instead(before: Mapping[str, object], after: Mapping[str, object]) -> object:
    """Return what makes one mapping another: what is merged in leaves what it does not name."""
    return {**dict.fromkeys(before), **after} if after else None


def _fields(part: msgspec.Struct) -> Mapping[str, object]:
    fields: Mapping[str, object] = msgspec.to_builtins(part)
    return fields


def _once(name: str, *, holds: bool) -> dict[str, object]:
    """Return what happened once, as a change; nothing is ever taken back."""
    return {"initialization": {name: True}} if holds else {}
