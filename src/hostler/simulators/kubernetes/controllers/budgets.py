"""Budgets: how many Pods of each PodDisruptionBudget may be evicted now."""

from hostler.simulators.kubernetes.reads.selectors import matched_by
from hostler.simulators.kubernetes.state.body import (
    Body,
    at,
    mapping,
    metadata_of,
    same,
    sequence,
    text_at,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.storage import Change
from hostler.simulators.kubernetes.writes.pods import BUDGETS


class Budgets:
    """Counts Pods for budgets. Expected are the Pods that are there."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due = set[str]()
        cluster.storage.listeners.append(self._take)

    def _take(self, change: Change) -> None:
        if change.store in {BUDGETS, "pods"}:
            self._due.add(text_at(change.item, "metadata", "namespace"))

    def settle(self) -> bool:
        """Count anew where something changed; tell whether there was something."""
        due, self._due = self._due, set[str]()
        for namespace in sorted(due):
            for budget in self._cluster.storage.everything(BUDGETS, namespace):
                self._count(budget, self._cluster.storage.everything("pods", namespace))
        return bool(due)

    def _count(self, budget: Body, pods: list[Body]) -> None:
        selector = at(budget, "spec", "selector")
        mine = [
            pod
            for pod in pods
            if matched_by(selector, mapping(metadata_of(pod).get("labels")))
            and text_at(pod, "status", "phase") not in {"Succeeded", "Failed"}
        ]
        healthy = sum(_is_healthy(pod) for pod in mine)
        wanted = _wanted(budget, len(mine))
        status: Body = {
            **mapping(budget.get("status")),
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": len(mine),
            "disruptionsAllowed": max(0, healthy - wanted),
            "disruptedPods": {},
            "observedGeneration": metadata_of(budget).get("generation", 0),
        }
        if not same(status, budget.get("status")):
            self._cluster.storage.put(BUDGETS, {**budget, "status": status})


def _is_healthy(pod: Body) -> bool:
    ready = any(
        text_at(one, "type") == "Ready" and text_at(one, "status") == "True"
        for one in sequence(at(pod, "status", "conditions"))
    )
    return ready and not metadata_of(pod).get("deletionTimestamp")


def _wanted(budget: Body, expected: int) -> int:
    least, most = at(budget, "spec", "minAvailable"), at(budget, "spec", "maxUnavailable")
    if most is not None:
        return max(0, expected - _scaled(most, expected))
    return _scaled(least, expected) if least is not None else 0


def _scaled(value: object, whole: int) -> int:
    text = str(value)
    if text.endswith("%"):
        return -(-whole * int(text[:-1]) // 100)
    return int(text)
