"""Manifest: the Job that switches one node, whole: its name, its owner, its bounds, its container.

One name for a node and a purpose, so that the server itself lets nobody make a second one. A Job is
tried once (no back-off), ends by itself when its bound is over, and never runs on the node which
it switches.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from msgspec import Struct

from hostler.ports.power import PowerAction

from .template import JobTemplate

MANAGED_BY, HOSTLER = "app.kubernetes.io/managed-by", "hostler"
NODE, PURPOSE = "hostler.dev/node", "hostler.dev/purpose"
ASKED_AT, TEMPLATE = "hostler.dev/asked-at", "hostler.dev/template"
NODE_NAME = "hostler.dev/node-name"
LONGEST = 63
"""How long the name of a Job may be: its Pods have it as a label."""

_DIGEST = 8
_GRACE = 5
"""Seconds that a Pod which is ended has left: it must not act for much longer."""
_SECURE: Mapping[str, object] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


class Purpose(StrEnum):
    """What a Job is for."""

    STARTUP = "startup"
    SHUTDOWN = "shutdown"


PURPOSES = {PowerAction.ON: Purpose.STARTUP, PowerAction.OFF_SOFT: Purpose.SHUTDOWN}


class Bounds(Struct, frozen=True, kw_only=True):
    """How long a Job may run, and how long it stays to be read once it is finished."""

    limit: timedelta
    keep: timedelta


def bounded(text: str, longest: int = LONGEST) -> str:
    """Return a text as it is, or its beginning and a digest where it is too long for a name."""
    if len(text) <= longest:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return f"{text[: longest - _DIGEST - 1].rstrip('.-_')}-{digest}"


def job_name(purpose: Purpose, node: str) -> str:
    """Return the one name of the Job that starts, or shuts down, this node."""
    return bounded(f"node-{purpose}-{node}")


def selector(node: str) -> str:
    """Return the selector of all Jobs of ours for a node, and of their Pods."""
    return f"{MANAGED_BY}={HOSTLER},{NODE}={bounded(node)}"


def digest_of(template: JobTemplate, bounds: Bounds) -> str:
    """Return a digest of all that a Job does."""
    whole = msgspec.json.encode((template, bounds.limit), order="deterministic")
    return hashlib.sha256(whole).hexdigest()[: 2 * _DIGEST]


def labels(purpose: Purpose, node: str) -> dict[str, str]:
    """Return what a Job and its Pods are found by."""
    return {MANAGED_BY: HOSTLER, NODE: bounded(node), PURPOSE: purpose.value}


def annotations(
    node: str, template: JobTemplate, bounds: Bounds, asked_at: datetime
) -> dict[str, str]:
    """Return which attempt a Job is: when it was asked for, and what it does."""
    return {
        NODE_NAME: node,
        ASKED_AT: asked_at.isoformat(),
        TEMPLATE: digest_of(template, bounds),
    }


def spec_of(
    purpose: Purpose, node: str, template: JobTemplate, bounds: Bounds
) -> Mapping[str, object]:
    """Return the Job's `spec`."""
    return {
        "backoffLimit": 0,
        "activeDeadlineSeconds": max(1, round(bounds.limit.total_seconds())),
        "ttlSecondsAfterFinished": max(0, round(bounds.keep.total_seconds())),
        "template": {
            "metadata": {"labels": labels(purpose, node)},
            "spec": _pod(purpose, node, template),
        },
    }


def _pod(purpose: Purpose, node: str, template: JobTemplate) -> Mapping[str, object]:
    account: dict[str, object] = {"automountServiceAccountToken": bool(template.service_account)}
    if template.service_account:
        account["serviceAccountName"] = template.service_account
    folders = sorted(template.secret_files.items())
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE,
        **account,
        **({"hostNetwork": True} if template.host_network else {}),
        "affinity": {"nodeAffinity": _elsewhere(node)},
        "containers": [_container(purpose, template)],
        "volumes": [
            {"name": f"secret-{number}", "secret": {"secretName": name}}
            for number, (_, name) in enumerate(folders)
        ],
    }


def _container(purpose: Purpose, template: JobTemplate) -> Mapping[str, object]:
    plain = [{"name": name, "value": value} for name, value in template.environment.items()]
    secret = [
        {"name": name, "valueFrom": {"secretKeyRef": _reference(text)}}
        for name, text in template.secrets.items()
    ]
    return {
        "name": purpose.value,
        "image": template.image,
        **({"command": list(template.command)} if template.command else {}),
        **({"args": list(template.args)} if template.args else {}),
        "env": [*plain, *secret],
        "volumeMounts": [
            {"name": f"secret-{number}", "mountPath": path, "readOnly": True}
            for number, path in enumerate(sorted(template.secret_files))
        ],
        "securityContext": {**_SECURE, **template.security_context},
    }


def _reference(text: str) -> Mapping[str, str]:
    name, _, key = text.partition("/")
    return {"name": name, "key": key}


def _elsewhere(node: str) -> Mapping[str, object]:
    """Return that a Pod runs on any node but this one, which goes off, or is off."""
    other = {"key": "metadata.name", "operator": "NotIn", "values": [node]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [other]}]
        }
    }
