"""Nodes in simulations: kubelets that join and fall silent, Pods that come back, their judge."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId, ResourceId
from hostler.domain.model.machine import Deletion, Machine, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore, shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.kubernetes.faults import draw_cluster
from hostler.lab.kubernetes.fleets.checker import FleetsChecker
from hostler.lab.kubernetes.fleets.objects import Objects
from hostler.lab.kubernetes.nodes.api import ClusterApi, is_true
from hostler.lab.kubernetes.nodes.kubelets import SILENT
from hostler.lab.kubernetes.nodes.scenario import Guard, Naming, NodesScenario
from hostler.lab.kubernetes.nodes.world import NodesWorld
from hostler.lab.kubernetes.simulated_cluster import Raw, SimulatedCluster
from hostler.lab.metal.environment import ZONE
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.scenario.faults import Size
from hostler.ports.http import HttpRequest
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, machine
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

CALM = NodesScenario(protected=2, missing=1, others=1, tasks=False, drain=timedelta(minutes=5))
_STEP = 5


@dataclass
class Here:
    """Two boxes that are on, a cluster, and a judge that notes the laws that do not hold."""

    scenario: NodesScenario = CALM
    laws: list[str] = field(default_factory=list[str])
    shadow: ShadowStore = field(default_factory=lambda: shadow_for(HOME, (FLEET,), 60.0))

    def __post_init__(self) -> None:
        self.loop = SimLoop()
        clock = self.clock = SimClock(self.loop)
        rack = MetalWorld(FakeWorld(clock))
        for name in ("box-1", "box-2"):
            rack.add(name, ZONE, condition=Condition.UP)
        self.truth = MetalTruth(rack, self.loop)
        self.cluster = SimulatedCluster(clock, Random(1))
        self.world = NodesWorld(self.cluster, self.truth, self.scenario, 1)
        self.faults = Counter[str]()
        self.world.judged(
            [self.shadow], lambda law, _text, _machine: self.laws.append(law), self.faults
        )

    def last(self, seconds: float) -> None:
        """Let time go by, in steps."""
        for _ in range(int(seconds) // _STEP):
            self.world.step()
            self.loop.run_until_complete(asyncio.sleep(_STEP))

    def nodes(self) -> dict[str, Raw]:
        found = self.cluster.server.cluster.storage.everything("nodes")
        return {str(one["metadata"]["name"]): one for one in found}

    def pods(self, app: str) -> list[Raw]:
        found = self.cluster.server.cluster.storage.everything("pods")
        return [one for one in found if one["metadata"]["labels"]["app"] == app]

    def where(self, app: str) -> set[str]:
        return {str(one["spec"].get("nodeName")) for one in self.pods(app)}

    def call(self, method: str, path: str, body: Raw | None = None) -> None:
        """Call the API as we do, with the witness at it."""
        request = HttpRequest(
            method=method,
            path=path,
            headers=(("Content-Type", "application/merge-patch+json"),),
            body=json.dumps(body or {}).encode(),
        )
        self.cluster.gateway.handle(request)

    def save(self, one: Machine) -> None:
        self.shadow.machines[one.id] = one
        self.world.saved(one)


@pytest.fixture
def here() -> Iterator[Here]:
    found = Here()
    found.last(120)
    yield found
    found.loop.close()


ON_BOX = replace(machine(1), phase=Phase.READY, host=HostId("box-1")).with_health(was_ready=BEGIN)
ENDING = replace(ON_BOX, phase=Phase.DRAINING, deletion=Deletion(at=BEGIN, actor="a", why="b"))


def test_a_node_joins_once_its_box_is_up(here: Here) -> None:
    assert is_true(here.nodes()["box-1"])
    assert here.nodes()["box-1"]["spec"]["providerID"] == "hostler://power/rack-1/box-1"
    assert here.where("agent") == {"box-1", "box-2"}


def test_a_node_is_unknown_some_time_after_its_box_went_off(here: Here) -> None:
    here.truth.rack.cut(ResourceId("box-1"))
    here.last(SILENT[0] - _STEP)
    assert is_true(here.nodes()["box-1"])
    here.last(SILENT[1])
    assert not is_true(here.nodes()["box-1"])


def test_a_kubelet_does_not_register_a_node_twice_in_one_boot(here: Here) -> None:
    here.call("DELETE", "/api/v1/nodes/box-1")
    here.last(300)
    assert "box-1" not in here.nodes()
    here.truth.rack.cut(ResourceId("box-1"))
    here.truth.rack.switch_on(ResourceId("box-1"))
    here.last(120)
    assert is_true(here.nodes()["box-1"])


def test_an_evicted_pod_is_made_anew_elsewhere(here: Here) -> None:
    here.call("PATCH", "/api/v1/nodes/box-1", {"spec": {"unschedulable": True}})
    for _ in range(10):
        for pod in here.pods("protected"):
            path = f"/api/v1/namespaces/apps/pods/{pod['metadata']['name']}/eviction"
            if pod["spec"].get("nodeName") == "box-1":
                here.call("POST", path)
        here.last(120)
    assert here.where("protected") == {"box-2"}
    assert here.laws == []


def test_a_box_goes_off_with_its_pods_only_after_the_bound(here: Here) -> None:
    here.call("PATCH", "/api/v1/nodes/box-2", {"spec": {"unschedulable": True}})
    here.last(600)
    assert "box-1" in here.where("protected") | here.where("others")
    here.save(ON_BOX)
    here.world.switched_off(HostId("box-1"))
    assert here.laws == ["drain"]
    here.save(ENDING)
    here.world.switched_off(HostId("box-1"))
    assert here.laws == ["drain", "drain"]
    here.last(300)
    here.world.switched_off(HostId("box-1"))
    assert here.laws == ["drain", "drain"]


def test_since_when_a_box_is_guarded_no_more_is_known() -> None:
    """Kubernetes 238045424: half a second later no engine had heard of it."""
    here = Here(replace(CALM, guard=Guard.CONTROL))
    here.last(120)
    assert here.world.guards(HostId("box-1"))
    assert here.world.freed(HostId("box-1")) is None
    here.world.let_go()
    at = here.truth.now
    here.last(60)
    assert not here.world.guards(HostId("box-1"))
    assert here.world.freed(HostId("box-1")) == at
    assert here.world.freed(HostId("box-2")) is None
    here.loop.close()


@pytest.mark.parametrize("stands", [True, False])
def test_a_box_is_left_on_for_a_control_plane_as_long_as_its_node_stands(*, stands: bool) -> None:
    here = Here(replace(CALM, guard=Guard.CONTROL))
    here.last(120)
    protection = Protection(until=BEGIN + timedelta(days=1), actor="hostler", why="")
    here.save(replace(ON_BOX, protection=protection).with_health(was_ready=None))
    if not stands:
        ClusterApi(here.cluster).delete("/api/v1/nodes/box-1")
    here.world.switched_off(HostId("box-1"))
    assert here.laws == (["guarded"] if stands else [])
    here.loop.close()


@pytest.mark.parametrize(
    ("fault", "stood", "over"),
    [
        ("suspended", 0, 225),
        ("suspended", 200, 25),
        ("paused", 310, 15),
        ("paused", 900, 15),
        ("crash", 200, 225),
    ],
)
def test_a_bound_counts_from_a_decision_that_a_process_saves_later(
    fault: str, stood: int, over: int
) -> None:
    """Kubernetes 99000094: it stood still meanwhile, but never for longer than it can."""
    here = Here(replace(CALM, drain=timedelta(seconds=400 if stood > 200 else 300)))
    here.faults[fault] += 1
    here.call("PATCH", "/api/v1/nodes/box-2", {"spec": {"unschedulable": True}})
    here.last(1200)
    here.save(replace(ENDING, since=here.clock.now() - timedelta(seconds=stood)))
    here.last(over - 10)
    here.world.switched_off(HostId("box-1"))
    assert here.laws == ["drain"]
    here.last(10)
    here.world.switched_off(HostId("box-1"))
    here.loop.close()
    assert here.laws == ["drain"]


def test_a_box_whose_pods_are_gone_may_go_off(here: Here) -> None:
    here.save(ENDING)
    here.world.tidy_up()
    here.last(180)
    here.world.switched_off(HostId("box-1"))
    assert here.laws == []


def test_who_waits_for_ever_never_goes_off_with_pods() -> None:
    here = Here(replace(CALM, waits=True, others=5))
    here.last(300)
    here.save(ENDING)
    here.last(3600)
    here.world.switched_off(HostId("box-1"))
    here.loop.close()
    assert here.laws == ["drain"]


@pytest.mark.parametrize("name", ["control-1", "other-1"])
def test_no_node_of_somebody_else_is_written(here: Here, name: str) -> None:
    here.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {"a": "b"}}})
    assert here.laws == ["foreign"]


def test_a_node_with_the_name_of_a_box_may_be_somebody_elses() -> None:
    here = Here(replace(CALM, naming=Naming.CROSSED))
    here.last(120)
    here.call("PATCH", "/api/v1/nodes/node-of-box-1", {"metadata": {"labels": {"a": "b"}}})
    assert here.laws == []
    here.call("PATCH", "/api/v1/nodes/box-1", {"metadata": {"labels": {"a": "b"}}})
    here.loop.close()
    assert here.laws == ["foreign"]


def test_pods_go_by_eviction(here: Here) -> None:
    (first, *_) = here.pods("others")
    here.call("DELETE", f"/api/v1/namespaces/apps/pods/{first['metadata']['name']}")
    assert here.laws == ["budget"]


def test_a_node_is_not_removed_while_its_kubelet_speaks(here: Here) -> None:
    here.call("DELETE", "/api/v1/nodes/box-1")
    assert here.laws == ["removed"]


def test_a_cordon_of_ours_does_not_stay_for_long(here: Here) -> None:
    here.save(ON_BOX)
    labels = {"hostler.dev/machine": str(ON_BOX.id)}
    cordon: Raw = {"labels": labels, "annotations": {"hostler.dev/cordoned-by": "m-before"}}
    here.call("PATCH", "/api/v1/nodes/box-1", {"metadata": cordon})
    assert list(here.world.standing()) != []
    here.world.look(900.0, led=0.0)
    here.last(890)
    here.world.look(900.0, led=0.0)
    here.last(30)
    here.world.look(900.0, led=here.loop.time() - 800)
    assert here.laws == [], "who leads has its time"
    here.world.look(900.0, led=0.0)
    assert here.laws == ["cordon"]


def test_the_node_of_a_machine_that_has_ended_goes(here: Here) -> None:
    labels = {"hostler.dev/machine": str(MachineId("m-ended"))}
    here.call("PATCH", "/api/v1/nodes/box-1", {"metadata": {"labels": labels}})
    assert list(here.world.standing()) == []
    here.truth.rack.cut(ResourceId("box-1"))
    here.last(SILENT[1] + 2 * _STEP)
    (text,) = here.world.standing()
    assert text == "removed: the Node box-1 of m-ended is still there"


def test_what_the_clusters_own_parts_write_does_not_count(here: Here) -> None:
    before = here.cluster.written
    here.last(600)
    assert here.cluster.written == before
    here.call("PATCH", "/api/v1/nodes/box-1", {"metadata": {"labels": {"a": "b"}}})
    assert here.cluster.written != before


@pytest.mark.parametrize("in_force", [True, False])
def test_nobody_cares_for_nodes_before_boxes_are_in_force(here: Here, *, in_force: bool) -> None:
    """Seed 238031440 of kubernetes: a Host was wrong for most of an hour."""
    checker = FleetsChecker(here.truth, Trace(here.loop.time), 60.0, draw_cluster(1, Size()))
    checker.objects, checker.nodes = Objects(here.clock, Random(1), (), {}), here.world
    here.save(ON_BOX)
    checker.takes("a", {"main": ["box-1"]} if in_force else {}, {}, ())
    for _ in range(int(2 * checker.noticed) // 60):
        checker.look_at_nodes()
        here.last(60)
    assert ("labels" in here.laws) is in_force
