"""The judge of Nodes: what was done to them is held against Pods, budgets, boxes and records.

drain     no box of ours goes off by our hand while Pods that matter run there, before their bound.
budget    nothing of ours takes a Pod away that a disruption budget needs, nor any but by eviction.
foreign   no Node of somebody else is touched by us, nor a Pod there.
cordon    no cordon of ours stays for long on a Node whose machine stays.
removed   the Node of a machine that has ended goes once its kubelet is silent, and not before.
guarded   a machine on whose Node we run, or that carries the control plane, is protected, and is
          neither drained nor switched off from then on, unless its end is asked for at once.
doubled   nothing of ours takes a Pod from a Node that core has drained.
probed    where Nodes are probed, no machine gets ready before its kubelet speaks.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.kubernetes.simulated_cluster import Raw
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.ports.http import HttpRequest, Response
from hostler.simulators.kubernetes.gateway import Reply

from .api import BUDGETS, ClusterApi, is_ending, is_true, name_of
from .kubelets import Kubelets
from .scenario import NodesScenario
from .workloads import AGENT

CORDONED_BY, MACHINE = "hostler.dev/cordoned-by", "hostler.dev/machine"
INSTALLATION = "hostler.dev/installation"

_JOINED = 150.0
"""So long a Node may be there without anybody who asks about its Pods knowing of it."""
_CLOCKS = 375.0
"""So long before a machine was asked for, by our clock, its kubelet may have spoken by its own."""
_BARRED = "it was barred"
_SHELF = "shelf"
_EARLY = 75.0
"""How much earlier than by true time a bound may be over by the clocks of engines."""
_STOOD = 310.0
"""So long a process may stand still between a decision and its save."""
_STOPS = ("paused", "suspended")
_ENDS = frozenset({Phase.DRAINING, Phase.STOPPING, Phase.FAILED})
_KNOWN = 120.0
"""So long after Nodes were listed to an engine those that lead know of them."""
_FINE = 200
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})

Wrong = Callable[[str, str, str], None]
"""Notes what does not hold: the law, what was found, and a machine."""


def nowhere(box: HostId) -> str:
    """Return that nobody wrote anything of single boxes."""
    del box
    return ""


@dataclass(slots=True)
class NodesJudge:
    """Knows all Nodes and their Pods, whatever anybody says of them.

    `shadows` are the records, `wrong` is told of what does not hold, and `shelf` tells what people
    wrote of the Node of a single box; `drained_by_core` are the Nodes that core has drained, and
    `faults` how often each fault struck until now.
    """

    api: ClusterApi
    kubelets: Kubelets
    truth: MetalTruth
    scenario: NodesScenario
    shadows: list[ShadowStore]
    wrong: Wrong
    shelf: Callable[[HostId], str]
    drained_by_core: Container[str]
    faults: Mapping[str, int]
    _ends: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    _last: dict[HostId, Machine] = field(default_factory=dict[HostId, Machine])
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _healthy: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _guarded: set[MachineId] = field(default_factory=set[MachineId])
    _was_ready: set[MachineId] = field(default_factory=set[MachineId])
    _listed: float = -inf

    # ------------------------------------------------------------ what is recorded

    def saved(self, machine: Machine) -> None:
        """Note since when a machine's end is wanted, whose a box is, or was last, and its guard."""
        self._gets_ready(machine)
        if machine.host is not None and machine.host == self.kubelets.guarded:
            known = machine.protection is not None or machine.fact(_BARRED) is not None
            self._guarded |= {machine.id} if known else set[MachineId]()
        if machine.host is not None:
            self._last[machine.host] = machine
        if not _is_to_end(machine):
            self._ends.pop(machine.id, None)
        else:
            self._ends.setdefault(machine.id, self._decided(machine))

    def _decided(self, machine: Machine) -> float:
        """Return when an end was decided that is saved now: a process may stand still meanwhile."""
        now = self.truth.now
        late = machine.phase in _ENDS and any(self.faults[fault] for fault in _STOPS)
        moved = seconds(machine.since) if late else now
        return min(now, max(moved, now - _STOOD))

    def _gets_ready(self, machine: Machine) -> None:
        """Check a machine that is ready for the first time: its Node was, not long before.

        What was said before it was asked for counts too, as far as clocks may be apart.
        """
        if machine.phase is not Phase.READY or machine.id in self._was_ready:
            return
        self._was_ready.add(machine.id)
        if not self.scenario.probed or machine.host is None:
            return
        heard = self.kubelets.heard(machine.host)
        if heard < seconds(machine.created) - _CLOCKS:
            text = f"{machine.id} is ready, and the kubelet of {machine.host} spoke at {heard:.0f}"
            self.wrong("probed", text, machine.id)

    def are_listed(self, since: float) -> bool:
        """Tell whether Nodes were listed lately, and to an engine that leads since then.

        Else one that leads may know of none.
        """
        return self._listed >= max(since, self.truth.now - _KNOWN)

    # ------------------------------------------------------------ what is switched

    def switched_off(self, box: HostId) -> None:
        """Judge a box that goes off by our hand at this moment.

        What runs on the box of a machine that was ready is waited for, or for as long as its bound.
        Of a box that was off when that machine's end was wanted, or since, that does not hold; it
        is off only after its machine has let go of it.
        """
        machine, now = self._last.get(box), self.truth.now
        if machine is None:
            return
        ends = self._ends.get(machine.id)
        at_once = machine.deletion is not None and machine.deletion.now
        if self._is_guarded(box, machine) and not at_once and self._is_up(box):
            text = f"{box} goes off, whose Node is never to be ended ({self.scenario.guard})"
            self.wrong("guarded", text, machine.id)
        if machine.health.was_ready is None or at_once or self._was_off(box, ends):
            return
        node = self.api.nodes().get(self.kubelets.name(box))
        if node is None or now - _made(node) < _JOINED:
            return
        running = sorted(name_of(pod) for pod in self._that_matter(name_of(node)))
        bound = self.scenario.drain.total_seconds()
        over = ends is not None and now - ends >= bound - _EARLY and not self.scenario.waits
        if running and not over:
            since = "never" if ends is None else f"for {now - ends:.0f} s"
            text = f"{box} goes off with {', '.join(running)}; its end was wanted {since}"
            self.wrong("drain", text, machine.id)

    def _is_guarded(self, box: HostId, machine: Machine) -> bool:
        """Tell whether a box has a Node that is never to be ended, and that was known.

        Cluster API's core may have removed it since, with the Machine that it was of.
        """
        known = box == self.kubelets.guarded and machine.id in self._guarded
        return known and self.kubelets.name(box) in self.api.nodes()

    def _is_up(self, box: HostId) -> bool:
        return self.truth.condition(box) is Condition.UP

    def _was_off(self, box: HostId, ends: float | None) -> bool:
        """Tell whether a box is off, or was when its machine's end was wanted, or since."""
        if self.truth.condition(box) is not Condition.UP:
            return True
        return ends is not None and self.truth.since(box) > ends - 2 * _EARLY

    def _that_matter(self, node: str) -> Iterator[Raw]:
        """Yield the Pods of a Node that its end waits for."""
        for pod in self.api.pods():
            app = pod["metadata"]["labels"]["app"]
            finished = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
            if pod["spec"].get("nodeName") == node and app != AGENT and not finished:
                yield pod

    # ------------------------------------------------------------ what is asked of the API

    def before(self, request: HttpRequest) -> None:
        """Note how all stands just before a call of ours has its effect."""
        kind, name = _subject(request)
        if request.method not in _WRITES or kind not in {"nodes", "pods"}:
            return
        self._healthy = self._counts()
        if kind == "nodes" and name in self.kubelets.strangers():
            self.wrong("foreign", f"{request.method} of the Node {name}, which is not ours", "")
        if kind == "nodes" and request.method == "DELETE":
            self._removed(name)
        if kind == "pods":
            self._pod(name, request)

    def after(self, request: HttpRequest, reply: Reply) -> None:
        """Judge what a call of ours did to budgets; note when Nodes were listed to an engine."""
        answered = isinstance(reply.answer, Response) and reply.answer.status == _FINE
        if request.method == "GET" and _subject(request) == ("nodes", "") and answered:
            self._listed = self.truth.now
        if request.method not in _WRITES or _subject(request)[0] not in {"nodes", "pods"}:
            return
        for name, (healthy, needed) in self._counts().items():
            had = self._healthy.get(name, (healthy, needed))[0]
            if healthy < min(had, needed):
                text = f"{request.method} {request.path}: {name} has {healthy} and needs {needed}"
                self.wrong("budget", text, "")

    def _pod(self, name: str, request: HttpRequest) -> None:
        pod = next((one for one in self.api.pods() if name_of(one) == name), None)
        node = "" if pod is None else pod["spec"].get("nodeName", "")
        if node in self.drained_by_core:
            self.wrong("doubled", f"{request.method} of {name} on {node}, drained by core", "")
        box = self.kubelets.box(node)
        if box is not None and (of := self._last.get(box)) and self._is_guarded(box, of):
            self.wrong("guarded", f"{request.method} of {name} on {node}, which is guarded", of.id)
        if node in self.kubelets.strangers():
            self.wrong("foreign", f"{request.method} of {name} on {node}, which is not ours", "")
        if not request.path.endswith("/eviction"):
            self.wrong("budget", f"{request.method} {request.path}: Pods go by eviction", "")

    def _removed(self, name: str) -> None:
        """A Node is removed when its kubelet is silent, and not while a living machine has it."""
        node = self.api.nodes().get(name)
        if node is None or name in self.kubelets.strangers():
            return
        if is_true(node):
            self.wrong("removed", f"the Node {name} is removed, and is ready", "")

    def _counts(self) -> dict[str, tuple[int, int]]:
        """Return how many Pods of each budget are well, and how many have to be."""
        found = dict[str, tuple[int, int]]()
        for budget in self.api.everything(BUDGETS):
            labels = budget["spec"]["selector"]["matchLabels"]
            pods = [pod for pod in self.api.pods() if pod["metadata"]["labels"] == labels]
            well = sum(is_true(pod) and not is_ending(pod) for pod in pods)
            missing = int(budget["spec"]["maxUnavailable"])
            found[name_of(budget)] = well, max(0, len(pods) - missing)
        return found

    # ------------------------------------------------------------ how Nodes stand

    def look(self, noticed: float, led: float) -> None:
        """Find what stands for so many seconds as it should not, since somebody led at the last."""
        wrong = {f"{law}: {text}": (law, text, machine) for law, text, machine in self.standing()}
        self._since = {key: self._since.get(key, self.truth.now) for key in wrong}
        for key, found in wrong.items():
            if self.truth.now - max(self._since[key], led) > noticed:
                self.wrong(*found)

    def standing(self) -> Iterator[tuple[str, str, str]]:
        """Yield what is not as it should be, if it stays: the law, what it is, and a machine."""
        machines = {m.host: m for shadow in self.shadows for m in shadow.living() if m.host}
        for name, node in self.api.nodes().items():
            box = self.kubelets.box(name)
            if box is None:
                continue
            machine = machines.get(box)
            if machine is None:
                yield from self._left(node)
            elif machine.phase is Phase.READY and not _is_to_end(machine):
                yield from _stays(node, machine)
                yield from self._is_protected(node, machine)
                yield from self._shelved(node, machine, self.shelf(box))

    def _shelved(self, node: Raw, machine: Machine, shelf: str) -> Iterator[tuple[str, str, str]]:
        """The Node of a single host is what that host's object says."""
        says = node["metadata"].get("labels", {}).get(_SHELF, "")
        taints = [one["value"] for one in node["spec"].get("taints") or () if one["key"] == _SHELF]
        if shelf and is_true(node) and (says, taints) != (shelf, [shelf]):
            text = f"the Node {name_of(node)} is on the shelf {says} {taints}, and is to be {shelf}"
            yield "labels", text, machine.id

    def _is_protected(self, node: Raw, machine: Machine) -> Iterator[tuple[str, str, str]]:
        """A machine whose Node is never to be ended is protected."""
        until = machine.protection.until if machine.protection is not None else None
        if machine.host == self.kubelets.guarded and (
            until is None or seconds(until) < self.truth.now
        ):
            yield (
                "guarded",
                f"{machine.id} of the Node {name_of(node)} is not protected",
                machine.id,
            )

    def _left(self, node: Raw) -> Iterator[tuple[str, str, str]]:
        """A Node whose last machine has ended, and whose kubelet is silent, is to go."""
        labels = node["metadata"].get("labels", {})
        if self.scenario.remove and MACHINE in labels and not is_true(node):
            yield "removed", f"the Node {name_of(node)} of {labels[MACHINE]} is still there", ""


def _stays(node: Raw, machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the Node of a machine that stays."""
    name, metadata = name_of(node), node["metadata"]
    if CORDONED_BY in metadata.get("annotations", {}):
        yield "cordon", f"the Node {name} is cordoned by us, and its machine stays", machine.id
    if is_true(node) and metadata.get("labels", {}).get(MACHINE) != machine.id:
        yield "labels", f"the Node {name} does not say that it is {machine.id}'s", machine.id


def _is_to_end(machine: Machine) -> bool:
    return (
        machine.phase in _ENDS or machine.deletion is not None or machine.goal is not Goal.PRESENT
    )


def _made(node: Raw) -> float:
    """Return when a Node came to be, in seconds since the run began."""
    return seconds(datetime.fromisoformat(node["metadata"]["creationTimestamp"]))


def seconds(at: datetime) -> float:
    """Return a time of the run in seconds since it began."""
    return (at - datetime(2026, 1, 1, tzinfo=UTC)).total_seconds()


def _subject(request: HttpRequest) -> tuple[str, str]:
    """Return the kind and the name that a path of the core group is about."""
    parts = request.path.removeprefix("/api/v1/").split("/")
    kind, *name = parts[2:] if parts[0] == "namespaces" and len(parts) > 2 else parts
    return kind, name[0] if name else ""
