"""Pods: evictions that respect disruption budgets, and bindings to Nodes."""

from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.reads.selectors import matched_by
from hostler.simulators.kubernetes.state.body import (
    Body,
    at,
    mapping,
    metadata_of,
    sequence,
    text_at,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import conflict, internal, too_many

from .deletion import Terms, delete
from .verbs import Written, found

BUDGETS = "poddisruptionbudgets.policy"
SUCCESS: Body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def evict(cluster: Cluster, call: Call) -> Written:
    """Delete a Pod if no disruption budget is against it; 429 says to ask again."""
    body, pod = call.body(), found(cluster, call)
    options = mapping(body.get("deleteOptions"))
    grace = options.get("gracePeriodSeconds")
    terms = Terms(
        uid=text_at(options, "preconditions", "uid"),
        version=text_at(options, "preconditions", "resourceVersion"),
        grace=grace if isinstance(grace, int) else None,
        dry=call.dry or "All" in sequence(options.get("dryRun")),
    )
    if not _free(pod):
        _spend(cluster, pod, terms)
    delete(cluster, call.kind, pod, terms)
    return 201, {**SUCCESS, "code": 201}


def _free(pod: Body) -> bool:
    """Tell whether budgets do not count a Pod: it has ended, ends already, or never ran."""
    phase = text_at(pod, "status", "phase")
    return phase in {"Succeeded", "Failed", "Pending"} or bool(
        metadata_of(pod).get("deletionTimestamp")
    )


def _spend(cluster: Cluster, pod: Body, terms: Terms) -> None:
    namespace = text_at(pod, "metadata", "namespace")
    labels = mapping(metadata_of(pod).get("labels"))
    budgets = [
        budget
        for budget in cluster.storage.everything(BUDGETS, namespace)
        if matched_by(at(budget, "spec", "selector"), labels)
    ]
    if len(budgets) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
    for budget in budgets:
        _check(budget)
        status = mapping(budget.get("status"))
        left = int(status.get("disruptionsAllowed", 0)) - 1
        disrupted = {
            **mapping(status.get("disruptedPods")),
            text_at(pod, "metadata", "name"): cluster.stamp(),
        }
        status = {**status, "disruptionsAllowed": left, "disruptedPods": disrupted}
        if not terms.dry:
            cluster.storage.put(BUDGETS, {**budget, "status": status})


def _check(budget: Body) -> None:
    name, status = text_at(budget, "metadata", "name"), mapping(budget.get("status"))
    observed = status.get("observedGeneration", 0)
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    if observed < metadata_of(budget).get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        cause = {"reason": "DisruptionBudget", "message": why}
        raise too_many(text, {"causes": [cause], "retryAfterSeconds": 10})
    if int(status.get("disruptionsAllowed", 0)) <= 0:
        wanted, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        why = (
            f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
        )
        raise too_many(text, {"causes": [{"reason": "DisruptionBudget", "message": why}]})


def bind(cluster: Cluster, call: Call) -> Written:
    """Place a Pod on a Node."""
    body, pod = call.body(), found(cluster, call)
    if placed := text_at(pod, "spec", "nodeName"):
        why = f"pod {call.target.name} is already assigned to node {placed!r}"
        raise conflict(call.about, why)
    spec = {**mapping(pod.get("spec")), "nodeName": text_at(body, "target", "name")}
    if not call.dry:
        cluster.storage.put(call.kind.store, {**pod, "spec": spec})
    return 201, {**SUCCESS, "code": 201}
