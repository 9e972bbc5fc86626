"""Workloads: Pods that are made, placed, run and ended by the cluster's own parts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from hostler.lab.kubernetes.simulated_cluster import Raw

from .api import APPS, ClusterApi, Time, is_ending, is_true, name_of, pod_path
from .kubelets import STRANGERS, Kubelets
from .scenario import TAINT, NodesScenario

PROTECTED, OTHERS, AGENT, TASK = "protected", "others", "agent", "task"
"""What runs: Pods behind a disruption budget, others, one on each Node, and single tasks."""

UNSAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_SETS = f"/apis/apps/v1/namespaces/{APPS}"
_PODS = f"/api/v1/namespaces/{APPS}/pods"
_POLICY = f"/apis/policy/v1/namespaces/{APPS}/poddisruptionbudgets"
_STARTS, _STOPS = (5.0, 40.0), (2.0, 60.0)
_RETURNS = 0.1
_FORCED = 1800.0
"""So long, in seconds, a Pod that ends on a silent Node is waited for until a person ends it."""
_TASK_LASTS, _TASKS_EVERY = (60.0, 900.0), 900.0


@dataclass(slots=True)
class Workloads:
    """All that runs in the cluster. `step` is called every few seconds."""

    api: ClusterApi
    kubelets: Kubelets
    scenario: NodesScenario
    random: Random
    now: Time
    wanted: dict[str, int] = field(default_factory=dict[str, int])
    _owners: dict[str, Raw] = field(default_factory=dict[str, Raw])
    _due: dict[str, float] = field(default_factory=dict[str, float])
    _made: int = 0
    _next_task: float = 0.0

    def found(self) -> None:
        """Make what owns Pods, and the budget, at the beginning."""
        scenario = self.scenario
        self.wanted = {PROTECTED: scenario.protected, OTHERS: scenario.others}
        for name in (PROTECTED, OTHERS):
            self._found(name, "ReplicaSet")
        self._found(AGENT, "DaemonSet")
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": PROTECTED, "namespace": APPS},
            "spec": {
                "selector": {"matchLabels": {"app": PROTECTED}},
                "maxUnavailable": scenario.missing,
            },
        }
        self.api.make(_POLICY, budget)
        self._next_task = self.random.uniform(0, _TASKS_EVERY) if scenario.tasks else float("inf")

    def tidy_up(self) -> None:
        """Let people want nothing of it any more: what is over budget would wait for ever."""
        self.wanted, self._next_task = dict.fromkeys(self.wanted, 0), float("inf")
        for pod in self.api.pods():
            if pod["metadata"]["labels"]["app"] != AGENT and not is_ending(pod):
                self.api.delete(pod_path(pod))

    def step(self) -> None:
        """Let time go on: Pods are made, placed, run and ended."""
        nodes = self.api.nodes()
        for pod in self.api.pods():
            self._go_on(pod, nodes)
        self._fill()
        self._each_node(nodes)
        if self.now() >= self._next_task:
            self._next_task = self.now() + self.random.uniform(0.3, 1.7) * _TASKS_EVERY
            self._make(TASK, annotations={UNSAFE: "false"})
        self._place(nodes)

    # ------------------------------------------------------------ what makes Pods

    def _found(self, name: str, kind: str) -> None:
        plural = f"{kind.lower()}s"
        body = {
            "apiVersion": "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": APPS},
            "spec": {"selector": {"matchLabels": {"app": name}}},
        }
        made = self.api.make(f"{_SETS}/{plural}", body)
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
        self._owners[name] = {**owner, "uid": made["metadata"]["uid"]}

    def _fill(self) -> None:
        """Make as many Pods of each set as it lacks; those that end count no more."""
        counts = dict.fromkeys(self.wanted, 0)
        for pod in self.api.pods():
            app = pod["metadata"]["labels"]["app"]
            if app in counts and not is_ending(pod):
                counts[app] += 1
        for app, wanted in self.wanted.items():
            for _ in range(wanted - counts[app]):
                self._make(app)

    def _each_node(self, nodes: dict[str, Raw]) -> None:
        """Make the Pod that each Node has."""
        there = {pod["spec"].get("nodeName") for pod in self._of(AGENT)}
        for name in nodes:
            if name not in there and self.kubelets.box(name) is not None:
                self._make(AGENT, node=name)

    def _make(self, app: str, node: str = "", annotations: dict[str, str] | None = None) -> None:
        self._made += 1
        metadata: Raw = {
            "name": f"{app}-{self._made}",
            "namespace": APPS,
            "labels": {"app": app},
            "annotations": annotations or {},
        }
        if app in self._owners:
            metadata["ownerReferences"] = [self._owners[app]]
        spec: Raw = {"containers": [{"name": "main", "image": "example"}]}
        spec["terminationGracePeriodSeconds"] = self.random.choice((5, 30, 90))
        if node:
            spec["nodeName"] = node
        self.api.make(
            _PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )

    # ------------------------------------------------------------ where they run

    def _place(self, nodes: dict[str, Raw]) -> None:
        """Place each Pod that waits on a Node that takes it: on one of ours, if there is any."""
        takes = [name for name in sorted(nodes) if self._takes(name, nodes[name])]
        ours = [name for name in takes if self.kubelets.box(name) is not None]
        if ours and self.random.random() < _RETURNS:
            self._return()
        takes = ours or takes
        for pod in self.api.pods():
            if not pod["spec"].get("nodeName") and not is_ending(pod) and takes:
                target = {"apiVersion": "v1", "kind": "Node", "name": self.random.choice(takes)}
                body = {"apiVersion": "v1", "kind": "Binding", "target": target}
                self.api.make(
                    f"{pod_path(pod)}/binding", {**body, "metadata": {"name": name_of(pod)}}
                )

    def _return(self) -> None:
        """Have a Pod that runs elsewhere made anew: there is room on our Nodes again."""
        there = (pod for pod in self.api.pods() if pod["spec"].get("nodeName") == STRANGERS[1])
        found = next((pod for pod in there if is_true(pod) and not is_ending(pod)), None)
        if found is not None:
            self.api.delete(pod_path(found))

    def _takes(self, name: str, node: Raw) -> bool:
        spec = node.get("spec", {})
        bars = (one for one in spec.get("taints") or () if one["effect"] != "PreferNoSchedule")
        taints = {one["key"] for one in bars} - {TAINT}
        stranger = name in self.kubelets.strangers()
        if stranger and not (self.scenario.elsewhere and name == STRANGERS[1]):
            return False
        return is_true(node) and not spec.get("unschedulable") and not taints

    def _go_on(self, pod: Raw, nodes: dict[str, Raw]) -> None:
        """Let one Pod go on: with its Node it is gone; without a kubelet only a person ends it."""
        node = pod["spec"].get("nodeName", "")
        if (not node and is_ending(pod)) or (node and node not in nodes):
            self.api.end_pod(pod)
        elif node and self.kubelets.speaks(node):
            self._run(pod)
        elif node and is_ending(pod) and self._is_due(pod, "forced", _FORCED):
            self.api.end_pod(pod)

    def _run(self, pod: Raw) -> None:
        """Do what a kubelet does with a Pod of its Node."""
        phase = pod.get("status", {}).get("phase")
        if is_ending(pod):
            grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
            if self._is_due(pod, "stop", min(grace, self.random.uniform(*_STOPS))):
                self.api.end_pod(pod)
        elif phase == "Pending" or (phase == "Running" and not is_true(pod)):
            if self._is_due(pod, "start", self.random.uniform(*_STARTS)):
                self._become(pod, "Running", "True")
        elif phase == "Running" and pod["metadata"]["labels"]["app"] == TASK:
            if self._is_due(pod, "task", self.random.uniform(*_TASK_LASTS)):
                self._become(pod, "Succeeded", "False")
        elif phase == "Succeeded" and self._is_due(pod, "left", 300.0):
            self.api.delete(pod_path(pod))

    def _become(self, pod: Raw, phase: str, ready: str) -> None:
        status = {"phase": phase, "conditions": [self.api.ready(pod, ready, "Kubelet")]}
        self.api.patch(f"{pod_path(pod)}/status", {"status": status})
        self._due.pop(f"{pod['metadata']['uid']} start", None)

    def _is_due(self, pod: Raw, what: str, after: float) -> bool:
        """Tell whether something that takes a while has been under way for as long."""
        at = self._due.setdefault(f"{pod['metadata']['uid']} {what}", self.now() + after)
        return self.now() >= at

    def _of(self, app: str) -> Iterator[Raw]:
        return (pod for pod in self.api.pods() if pod["metadata"]["labels"]["app"] == app)
