"""Kubelets: the Nodes of boxes, as long as these are on, and those of somebody else.

A kubelet registers its Node once in each boot, and does not see it removed. Who watches Nodes calls
one unknown whose kubelet was silent for long, and has its Pods deleted in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.resource import Condition
from hostler.lab.kubernetes.simulated_cluster import Raw
from hostler.lab.metal.ground_truth import MetalTruth

from .api import ClusterApi, is_ending, is_true, name_of, node_path, pod_path
from .scenario import Guard, Naming, NodesScenario

SILENT = (40.0, 300.0)
"""Between which numbers of seconds after its last word a kubelet is held to be silent."""
STRANGERS = ("control-1", "other-1")
"""Nodes of somebody else: of the control plane, and of another installation's machine."""

_PREFIX = "node-of-"
_JOINS = (5.0, 40.0)
_HEARTBEAT = 60.0
_GIVEN_UP = 300.0
_UNREACHABLE = "node.kubernetes.io/unreachable"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclass(slots=True)
class _Kubelet:
    """One box's: in which boot it is, when it joins then, and when it was last heard."""

    boot: float
    joins: float
    joined: bool = False
    heard: float = 0.0
    silence: float = 0.0


@dataclass(slots=True)
class Kubelets:
    """All of them. `step` is called every few seconds."""

    api: ClusterApi
    truth: MetalTruth
    random: Random
    scenario: NodesScenario
    is_guarded: bool = True
    _freed: tuple[HostId, float] | None = None
    _known: dict[str, _Kubelet] = field(default_factory=dict[str, _Kubelet])
    _unknown: dict[str, float] = field(default_factory=dict[str, float])

    def found(self) -> None:
        """Let the Nodes of somebody else join, at the beginning."""
        control = {"labels": {_CONTROL_PLANE: ""}}
        taint = {"key": _CONTROL_PLANE, "effect": "NoSchedule"}
        self._register("control-1", "cloud://control-1", control, [taint])
        other = {
            "labels": {"hostler.dev/fleet": "metal", "hostler.dev/machine": "m-elsewhere"},
            "annotations": {"hostler.dev/installation": "i-elsewhere"},
        }
        self._register("other-1", "cloud://other-1", other, [])
        if self._naming is Naming.CROSSED:
            for box in self.truth.rack.boxes():
                self._register(str(box.id), f"cloud://{box.id}", {}, [])
        for name in self.strangers():
            self._say(name, "True", "KubeletReady")

    def strangers(self) -> frozenset[str]:
        """Return the names of the Nodes of somebody else."""
        crossed = (str(box.id) for box in self.truth.rack.boxes())
        return frozenset((*STRANGERS, *(crossed if self._naming is Naming.CROSSED else ())))

    @property
    def _naming(self) -> Naming:
        return self.scenario.naming

    def name(self, box: str) -> str:
        """Return the name of a box's Node."""
        return f"{_PREFIX}{box}" if self._naming is Naming.CROSSED else box

    @property
    def guarded(self) -> HostId | None:
        """The box whose Node is never to be drained, nor it switched off; None where none is."""
        boxes = [HostId(box.id) for box in self.truth.rack.boxes()]
        guards = self.scenario.guard is not None and self.is_guarded
        return boxes[self.scenario.guarded % len(boxes)] if guards and boxes else None

    @property
    def own_node(self) -> str:
        """The name of the Node on which the process runs; empty where it runs elsewhere."""
        box = self.guarded if self.scenario.guard is Guard.OWN else None
        return "" if box is None else self.name(box)

    def let_go(self) -> None:
        """Let no Node be guarded any more: what made it so moves elsewhere."""
        box = self.guarded
        self.is_guarded = False
        self._freed = (box, self.truth.now) if box is not None else None
        if box is not None and self.name(box) in self.api.nodes():
            labels = {"labels": {_CONTROL_PLANE: None}}
            self.api.patch(node_path(self.name(box)), {"metadata": labels})

    def freed(self, box: HostId) -> float | None:
        """Return since when a box is guarded no more; None where it never was, or is."""
        known = self._freed
        return known[1] if known is not None and known[0] == box else None

    def box(self, node: str) -> HostId | None:
        """Return whose Node it is; None for one of somebody else."""
        box = ResourceId(node.removeprefix(_PREFIX))
        there = self.truth.rack.box(box) if self.name(box) == node else None
        return HostId(there.id) if there is not None else None

    def heard(self, box: HostId) -> float:
        """Return when a box's kubelet spoke last; 0.0 where it never did."""
        known = self._known.get(box)
        return known.heard if known is not None else 0.0

    def speaks(self, node: str) -> bool:
        """Tell whether a Node's kubelet is at work now."""
        box = self.box(node)
        if box is None:
            return node in self.strangers()
        known = self._known.get(box)
        return known is not None and known.joined and self._is_boot(box, known)

    def step(self) -> None:
        """Let time go on: kubelets join, speak and fall silent."""
        nodes = self.api.nodes()
        for box in self.truth.rack.boxes():
            name = self.name(str(box.id))
            if box.condition is Condition.UP:
                self._run(str(box.id), name, nodes.get(name))
            elif (node := nodes.get(name)) is not None:
                self._miss(str(box.id), name, node)

    # ------------------------------------------------------------ what a kubelet does

    def _is_boot(self, box: HostId, known: _Kubelet) -> bool:
        up = self.truth.condition(box) is Condition.UP
        return up and self.truth.since(box) == known.boot

    def _run(self, box: str, name: str, node: Raw | None) -> None:
        """Join once in each boot, and speak from then on, if the Node is there."""
        now, known = self.truth.now, self._known.get(box)
        if known is None or not self._is_boot(HostId(box), known):
            boot = self.truth.since(HostId(box))
            joins, heard = now + self.random.uniform(*_JOINS), self.heard(HostId(box))
            known = self._known[box] = _Kubelet(boot, joins, heard=heard)
        if now < known.joins:
            return
        if not known.joined:
            known.joined = True
            if node is None:
                ids = self._naming is not Naming.NAMES
                carries = self.guarded == box and self.scenario.guard is Guard.CONTROL
                more = {"labels": {_CONTROL_PLANE: ""}} if carries else {}
                self._register(name, f"hostler://power/rack-1/{box}" if ids else "", more, [])
            self._speak(name, known)
        elif node is not None and now - known.heard >= _HEARTBEAT:
            self._speak(name, known)

    def _register(
        self,
        name: str,
        provider_id: str,
        metadata: Mapping[str, object],
        taints: list[dict[str, str]],
    ) -> None:
        spec: Raw = {"taints": taints} if taints else {}
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, **metadata},
            "spec": {**spec, "providerID": provider_id} if provider_id else spec,
        }
        self.api.make("/api/v1/nodes", body)

    def _say(self, name: str, status: str, reason: str) -> None:
        """Write whether a Node is ready."""
        node = self.api.nodes().get(name)
        ready = {"status": {"conditions": [self.api.ready(node, status, reason)]}}
        self.api.patch(f"{node_path(name)}/status", ready)

    def _speak(self, name: str, known: _Kubelet) -> None:
        known.heard, known.silence = self.truth.now, self.random.uniform(*SILENT)
        self._unknown.pop(name, None)
        self._say(name, "True", "KubeletReady")
        self._taint(name, unreachable=False)

    # ------------------------------------------------------------ who watches Nodes

    def _miss(self, box: str, name: str, node: Raw) -> None:
        """Call a Node unknown after a while, and have its Pods deleted later."""
        known = self._known.get(box)
        since = self.truth.since(HostId(box))
        if is_true(node):
            if known is None or self.truth.now - since >= known.silence:
                self._say(name, "Unknown", "NodeStatusUnknown")
                self._taint(name, unreachable=True)
                self._unknown[name] = self.truth.now
                self._not_ready(name)
        elif self.truth.now - self._unknown.get(name, self.truth.now) >= _GIVEN_UP:
            for pod in self._pods_on(name):
                if not is_ending(pod) and pod["metadata"]["labels"].get("app") != "agent":
                    self.api.delete(pod_path(pod))

    def _not_ready(self, name: str) -> None:
        for pod in self._pods_on(name):
            ready = self.api.ready(pod, "False", "NodeNotReady")
            status = {"status": {"conditions": [ready]}}
            self.api.patch(f"{pod_path(pod)}/status", status)

    def _pods_on(self, name: str) -> list[Raw]:
        return [pod for pod in self.api.pods() if pod["spec"].get("nodeName") == name]

    def _taint(self, name: str, *, unreachable: bool) -> None:
        """Write, or take off, the taint of a Node that nobody reaches; all others stay."""
        node = self.api.nodes().get(name)
        if node is None:
            return
        taints: list[Raw] = node.get("spec", {}).get("taints") or []
        others = [one for one in taints if one["key"] != _UNREACHABLE]
        if len(others) == len(taints) and not unreachable:
            return
        more = [{"key": _UNREACHABLE, "effect": "NoSchedule"}] if unreachable else []
        self.api.patch(node_path(name_of(node)), {"spec": {"taints": [*others, *more] or None}})
