"""Objects: Jobs and their Pods, with the fields of them that are read."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from hostler.kubernetes.objects import Object
from hostler.kubernetes.resources import Resource

from .manifest import ASKED_AT, HOSTLER, MANAGED_BY, TEMPLATE

_ENDS = ("Complete", "Failed")
"""Only these end a Job: `SuccessCriteriaMet` and `FailureTarget` come before its Pods ended."""
_PODS_ENDED = frozenset({"Succeeded", "Failed"})


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of a Job."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a Job stands."""

    conditions: tuple[Condition, ...] | None = None


class PodStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a Pod stands."""

    phase: str = ""


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a Pod runs."""

    node_name: str = ""


Job = Object[Mapping[str, object], JobStatus]
Pod = Object[PodSpec, PodStatus]
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", model=Job)
PODS = Resource(group="", version="v1", plural="pods", kind="Pod", model=Pod)


def end_of(job: Job) -> Condition | None:
    """Return the condition by which a Job is finished, or None where it still runs."""
    conditions = (job.status.conditions if job.status else None) or ()
    ends = (one for one in conditions if one.type in _ENDS and one.status == "True")
    return next(ends, None)


def is_ours(job: Job) -> bool:
    """Tell whether a Job was made by us: another one of that name is nobody's to remove."""
    metadata = job.metadata
    return (metadata.labels or {}).get(MANAGED_BY) == HOSTLER and TEMPLATE in (
        metadata.annotations or {}
    )


def is_under_way(job: Job, digest: str, now: datetime, limit: timedelta) -> bool:
    """Tell whether a Job still does what would be asked for now, and is within its bound.

    One that is of another template, asked for in the future or for too long, finished, or on its
    way out is an old attempt.
    """
    annotations = job.metadata.annotations or {}
    if job.metadata.deletion_timestamp is not None or end_of(job) is not None:
        return False
    try:
        age = now - datetime.fromisoformat(annotations.get(ASKED_AT, ""))
    except (ValueError, TypeError):
        return False
    return annotations.get(TEMPLATE) == digest and timedelta(0) <= age <= limit


def is_active(pod: Pod) -> bool:
    """Tell whether a Pod may still act."""
    return (pod.status.phase if pod.status else "") not in _PODS_ENDED


def owner_of(pod: Pod) -> str:
    """Return the uid of the Job that a Pod belongs to, or an empty string."""
    owners = pod.metadata.owner_references or ()
    return next((one.uid for one in owners if one.controller), "")
