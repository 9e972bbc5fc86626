"""Workload: which Pods of a Node matter to its end, which of them are evicted, and why not. Pure.

The rules are those of `kubectl drain` and of Cluster API's own drain: Pods of DaemonSets, mirror
Pods and those that have finished are in nobody's way.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from hostler.kubernetes.objects import key_of

from .objects import Pod

MIRROR = "kubernetes.io/config.mirror"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DRAIN_LABEL = "cluster.x-k8s.io/drain"
"""Cluster API's label: `skip`, or `wait-completed`."""

OVERDUE = timedelta(minutes=1)
"""How long after its own end a Pod may still be there: then its kubelet does not end it."""

_FINISHED = frozenset({"Succeeded", "Failed"})


class Treatment(StrEnum):
    """What is done about a Pod before its Node ends."""

    EVICT = "evict"
    AWAIT = "await"
    LEAVE = "leave"


class Choice(StrEnum):
    """What to do with Pods that lose something for good when they are evicted."""

    EVICT = "evict"
    WAIT = "wait"


class Rules(Struct, frozen=True, kw_only=True):
    """What a fleet's owner decided.

    `unmanaged` Pods have no controller that would start them anew, those with `local_storage` lose
    it, and `unsafe` ones say so of themselves (`safe-to-evict: "false"`). `grace` is how long each
    Pod has for its end, None for its own.
    """

    unmanaged: Choice = Choice.EVICT
    local_storage: Choice = Choice.EVICT
    unsafe: Choice = Choice.WAIT
    grace: timedelta | None = None


class Judged(Struct, frozen=True, kw_only=True):
    """One Pod, what is done about it, and why."""

    pod: Pod
    treatment: Treatment
    why: str

    def __str__(self) -> str:
        """Return it as a blocker is told."""
        return f"{key_of(self.pod)} ({self.why})"


def judge(pod: Pod, rules: Rules, now: datetime, *, silent: bool) -> Judged:
    """Return what is done about a Pod; `silent` says that its Node's kubelet tells nothing."""
    treatment, why = _treatment(pod, rules, now, silent=silent)
    return Judged(pod=pod, treatment=treatment, why=why)


def in_the_way(
    pods: Iterable[Pod], rules: Rules, now: datetime, *, silent: bool
) -> tuple[Judged, ...]:
    """Return the Pods that matter, by name: a Node with none of them is free."""
    judged = (judge(pod, rules, now, silent=silent) for pod in pods)
    found = (one for one in judged if one.treatment is not Treatment.LEAVE)
    return tuple(sorted(found, key=lambda one: key_of(one.pod)))


def _treatment(pod: Pod, rules: Rules, now: datetime, *, silent: bool) -> tuple[Treatment, str]:
    if why := _left(pod):
        return Treatment.LEAVE, why
    if (ends := pod.metadata.deletion_timestamp) is not None:
        if silent and now > ends + OVERDUE:
            return Treatment.LEAVE, "it ended long ago, and its kubelet does not say so"
        return Treatment.AWAIT, "it is ending"
    if why := _awaited(pod, rules):
        return Treatment.AWAIT, why
    return Treatment.EVICT, "it is to be evicted"


def _left(pod: Pod) -> str:
    """Return why a Pod is in nobody's way, or an empty string."""
    if MIRROR in (pod.metadata.annotations or {}):
        return "its kubelet runs it from a file"
    if (pod.status.phase if pod.status else "") in _FINISHED:
        return "it has finished"
    if _controller(pod) == "DaemonSet":
        return "its DaemonSet would start it here anew"
    if (pod.metadata.labels or {}).get(DRAIN_LABEL) == "skip":
        return f"its label {DRAIN_LABEL} says so"
    return ""


def _awaited(pod: Pod, rules: Rules) -> str:
    """Return why a Pod is waited for and not evicted, or an empty string."""
    if (pod.metadata.labels or {}).get(DRAIN_LABEL) == "wait-completed":
        return f"its label {DRAIN_LABEL} says that it is to complete"
    if (
        rules.unsafe is Choice.WAIT
        and (pod.metadata.annotations or {}).get(SAFE_TO_EVICT) == "false"
    ):
        return "it says that it is not safe to evict"
    if rules.unmanaged is Choice.WAIT and not _controller(pod):
        return "nothing would start it anew"
    if rules.local_storage is Choice.WAIT and _is_local(pod):
        return "it would lose its local storage"
    return ""


def _controller(pod: Pod) -> str:
    """Return the kind of what starts a Pod anew, or an empty string."""
    owners = pod.metadata.owner_references or ()
    return next((owner.kind for owner in owners if owner.controller), "")


def _is_local(pod: Pod) -> bool:
    volumes = (pod.spec.volumes if pod.spec else None) or ()
    return any(volume.empty_dir is not None for volume in volumes)
