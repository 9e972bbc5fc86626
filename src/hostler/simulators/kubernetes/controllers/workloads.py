"""Workloads: Pods that run and end on their Nodes, and Jobs that end as somebody says."""

import asyncio
from collections.abc import Callable
from datetime import UTC

from msgspec import Struct

from hostler.simulators.kubernetes.state.body import (
    Body,
    mapping,
    metadata_of,
    sequence,
    text_at,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.storage import Change, place_of
from hostler.simulators.kubernetes.writes.deletion import Terms, delete

JOBS, PODS = "jobs.batch", "pods"
_ENDED = frozenset({"Complete", "Failed"})


class JobEnd(Struct, frozen=True, kw_only=True):
    """How a Job ends, and how many seconds after it was made; with which reason, if it fails."""

    after: float
    succeeded: bool = True
    reason: str = "BackoffLimitExceeded"


class Workloads(Struct, frozen=True, kw_only=True):
    """What runs: `job` says how a Job ends, None for never but by its deadline.

    `start` is how many seconds a Pod on a Node takes until it is ready; `stop` how many one takes
    to end that is deleted, if its grace is not over before.
    """

    job: Callable[[Body], JobEnd | None]
    start: float = 2.0
    stop: float = 5.0


class Runner:
    """Lets Pods and Jobs go on, each by timers of the running loop."""

    def __init__(self, cluster: Cluster, workloads: Workloads, settle: Callable[[], None]) -> None:
        self._cluster, self._workloads, self._settle = cluster, workloads, settle
        cluster.storage.listeners.append(self._take)

    def _take(self, change: Change) -> None:
        if change.deleted:
            return
        if change.store == JOBS and change.before is None:
            self._begin(change.item)
        elif change.store == PODS:
            self._follow(change.item, change.before)

    def _later(self, seconds: float, store: str, item: Body, step: Callable[[Body], None]) -> None:
        """Do something with an object in a while, if it is still there."""
        place, uid = place_of(item), text_at(item, "metadata", "uid")

        def due() -> None:
            found = self._cluster.storage.find(store, place)
            if found is not None and text_at(found, "metadata", "uid") == uid:
                step(found)
                self._settle()

        asyncio.get_running_loop().call_later(seconds, due)

    # ------------------------------------------------------------ Pods

    def _follow(self, pod: Body, before: Body | None) -> None:
        if metadata_of(pod).get("deletionTimestamp"):
            if not metadata_of(before or {}).get("deletionTimestamp"):
                grace = int(metadata_of(pod).get("deletionGracePeriodSeconds") or 0)
                self._later(min(grace, self._workloads.stop), PODS, pod, self._stop)
        elif text_at(pod, "spec", "nodeName") and text_at(pod, "status", "phase") == "Pending":
            self._later(self._workloads.start, PODS, pod, self._run)

    def _run(self, pod: Body) -> None:
        if text_at(pod, "status", "phase") != "Pending":
            return
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": self._cluster.stamp()}
        status = {**mapping(pod.get("status")), "phase": "Running", "conditions": [ready]}
        self._cluster.storage.put(PODS, {**pod, "status": status})

    def _stop(self, pod: Body) -> None:
        kind = self._cluster.kinds.stored(PODS)
        if kind is not None:
            delete(self._cluster, kind, pod, Terms(grace=0))

    # ------------------------------------------------------------ Jobs

    def _begin(self, job: Body) -> None:
        end = self._workloads.job(job)
        deadline = mapping(job.get("spec")).get("activeDeadlineSeconds")
        if end is not None:
            self._later(end.after, JOBS, job, lambda found: self._end(found, end))
        if isinstance(deadline, int):
            late = JobEnd(after=deadline, succeeded=False, reason="DeadlineExceeded")
            self._later(deadline, JOBS, job, lambda found: self._end(found, late))

    def _end(self, job: Body, end: JobEnd) -> None:
        """Write both conditions of the end, as the controller does, and its time."""
        status = mapping(job.get("status"))
        known = {text_at(one, "type") for one in sequence(status.get("conditions"))}
        if known & _ENDED:
            return
        types = ("SuccessCriteriaMet", "Complete") if end.succeeded else ("FailureTarget", "Failed")
        reason = "CompletionsReached" if end.succeeded else end.reason
        time = f"{self._cluster.now().astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        conditions = [
            {"type": each, "status": "True", "reason": reason, "lastTransitionTime": time}
            for each in types
        ]
        ended: Body = {"succeeded": 1, "completionTime": time} if end.succeeded else {"failed": 1}
        after = {**status, **ended, "startTime": time, "conditions": conditions}
        written = self._cluster.storage.put(JOBS, {**job, "status": after})
        stays = mapping(job.get("spec")).get("ttlSecondsAfterFinished")
        if isinstance(stays, int):
            self._later(stays, JOBS, written, self._remove)

    def _remove(self, job: Body) -> None:
        kind = self._cluster.kinds.stored(JOBS)
        if kind is not None:
            delete(self._cluster, kind, job, Terms(policy="Background"))
