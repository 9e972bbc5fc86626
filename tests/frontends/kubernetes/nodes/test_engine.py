"""Whole engines over boxes that are Nodes: no box goes off while a Pod that matters runs there."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from engine_records import TABLE
from msgspec.structs import replace
from node_cluster import BUDGET, FakeCluster

from hostler.app.nodes import Nodes
from hostler.controllers.account import AccountLoop
from hostler.controllers.plan import plan_hosts
from hostler.domain.ids import ResourceId
from hostler.domain.machines.drain import DRAIN
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Workload
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.frontends.kubernetes.nodes.prober import NodeProber
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY
from hostler.lab.scenes.metal import MetalScene
from hostler.queries.live import EngineRecords
from hostler.testing.scenes.builders import FLEET, HOME, MIN, ZONE, S

pytestmark = pytest.mark.looptime

NODES = replace(FLEET, size=1, workload=Workload())
LISTS = frozenset({("GET", "nodes")})
BRIEF = replace(NODES, timers=replace(FLEET.timers, drain=3 * MIN))


class Scene(MetalScene):
    """A rack of one box, and the cluster whose Node it is once it is ready."""

    cluster: FakeCluster
    controller: NodeController
    records: EngineRecords
    loops: Sequence[AccountLoop]

    @asynccontextmanager
    async def beside_a_box_that_is_on(self, own_node: str) -> AsyncGenerator[FakeCluster]:
        """Run an engine over a box that is on, and a Node that nobody asked for."""
        self.rack.switch_on(ResourceId("box-1"))
        self.cluster = FakeCluster(self.clock, forbidden=LISTS)
        self.cluster.node("box-1", providerID=f"hostler://power/{ZONE}/box-1")
        self.controller = NodeController(self.cluster.client, self.clock, own_node)
        self.workloads = self.controller
        async with self.running() as engine, asyncio.TaskGroup() as group:
            self.loops = engine.loops
            self.records = EngineRecords(engine.loops[0], self.fleet.name)
            self.attach(self.controller)
            rounds = group.create_task(self.controller.run())
            self.cluster.forbidden = frozenset()
            yield self.cluster
            rounds.cancel()

    def attach(self, controller: NodeController) -> None:
        """Have a controller work at the Nodes of the fleet."""
        fleet = ManagedFleet(fleet=self.fleet, table=TABLE, records=self.records)
        controller.attach(Attached(fleets=(fleet,), store=self.store, installation=HOME))

    @asynccontextmanager
    async def ready(self) -> AsyncGenerator[None]:
        """Run an engine with a ready machine whose Node runs a Pod under a budget."""
        self.cluster = FakeCluster(self.clock)
        self.controller = controller = NodeController(self.cluster.client, self.clock)
        self.workloads = controller
        async with self.running() as engine, asyncio.TaskGroup() as group:
            self.records = records = EngineRecords(engine.loops[0], self.fleet.name)
            self.attach(controller)
            rounds = group.create_task(controller.run())
            await self.until([Phase.READY], 10 * MIN)
            (machine,) = await self.machines()
            self.cluster.node("box-1", providerID=records.provider_id(machine))
            self.cluster.pod("web", node="box-1")
            self.cluster.refusals["web"] = [BUDGET] * 10_000
            await self.pass_by(MIN)
            yield
            rounds.cancel()

    async def end(self) -> None:
        await self.request(RequestKind.SCALE, size=0)
        await self.until([Phase.DRAINING], MIN)

    @property
    def spec(self) -> dict[str, object]:
        return self.cluster.nodes["box-1"]["spec"]


def scene(fleet: Fleet = NODES) -> Scene:
    return Scene(fleet, boxes=1)


async def test_a_box_stays_on_until_its_node_is_free_and_its_node_goes_after_it() -> None:
    one = scene()
    async with one.ready():
        assert "unschedulable" not in one.spec
        await one.end()
        await one.pass_by(10 * MIN)
        assert await one.phases() == [Phase.DRAINING]
        assert one.condition() is Condition.UP
        assert one.spec["unschedulable"] is True
        one.cluster.refusals.clear()
        await one.until([], 10 * MIN)
        assert one.cluster.pods == {}
        await one.pass_by(5 * MIN)
        assert one.condition() is Condition.OFF
        assert list(one.cluster.nodes) == ["box-1"], "its kubelet was not seen to be silent"
        one.cluster.nodes["box-1"]["status"]["conditions"][0]["status"] = "Unknown"
        await one.pass_by(MIN)
        assert one.cluster.nodes == {}
    (asked, *_) = await one.events("asked_whether_busy")
    assert "The disruption budget web" in asked.event.detail


async def test_an_empty_node_delays_nothing() -> None:
    one = scene()
    async with one.ready():
        one.cluster.pods.clear()
        await one.request(RequestKind.SCALE, size=0)
        assert await one.until([], 5 * MIN) < MIN


async def test_at_the_bound_a_box_is_ended_all_the_same() -> None:
    one = scene(BRIEF)
    async with one.ready():
        await one.end()
        await one.pass_by(2 * MIN)
        assert await one.phases() == [Phase.DRAINING]
        await one.until([], 3 * MIN)


async def test_at_the_bound_a_box_waits_where_its_fleet_says_so() -> None:
    one = scene(replace(BRIEF, workload=Workload(waits=True)))
    async with one.ready():
        await one.end()
        await one.pass_by(15 * MIN)
        assert await one.phases() == [Phase.DRAINING]
        times = [at for at, _ in one.cluster.evicted]
        assert len(times) < 15 * 60 / 5, "not more often than an eviction may be asked for"
        one.cluster.refusals.clear()
        await one.until([], 5 * MIN)


async def test_the_node_on_which_hostler_runs_is_not_ended_at_any_bound() -> None:
    """Its end was asked for before it was protected, or its protection ran out meanwhile."""
    one = scene(BRIEF)
    async with one.ready():
        one.controller.own_node = "box-1"
        await one.end()
        await one.pass_by(15 * MIN)
        one.cluster.forbidden = LISTS
        await one.pass_by(15 * MIN)
        assert await one.phases() == [Phase.DRAINING]
        assert one.condition() is Condition.UP
        assert "unschedulable" not in one.spec
        (asked,) = await one.events("asked_whether_busy")
        assert "hostler itself runs on this Node" in asked.event.detail
        (machine,) = await one.machines()
        at_once = replace(one.blank(RequestKind.DELETE), machine=machine.id, now=True)
        one.attach(one.controller)
        await one.store.request(at_once)
        await one.until([], 5 * MIN)
        await one.pass_by(15 * MIN)
        assert one.condition() is Condition.UP, "it is not cleaned by a power cycle either"


@pytest.mark.parametrize(
    ("own_node", "answers", "condition"),
    [
        ("box-1", True, Condition.UP),
        ("", True, Condition.OFF),
        ("", False, Condition.UP),
    ],
    ids=["own", "another", "not-known-yet"],
)
async def test_a_box_on_which_hostler_runs_stays_on_though_no_machine_has_it(
    own_node: str, answers: bool, condition: Condition
) -> None:
    one = scene(replace(NODES, size=0))
    async with one.beside_a_box_that_is_on(own_node) as cluster:
        cluster.forbidden = frozenset() if answers else LISTS
        await one.pass_by(15 * MIN)
        assert one.condition() is condition
        (account,) = (loop.state.account for loop in one.loops)
        waits = [
            planned.ready.waits for planned in await plan_hosts(one.ports(), account, one.settings)
        ]
        why = "hostler itself runs on this Node" if own_node else "is not known yet"
        assert [why in text for text in waits] == [True] * (condition is Condition.UP)


@pytest.mark.parametrize(("own_node", "answers"), [("box-1", True), ("", False)])
async def test_no_machine_gets_a_box_that_is_on_where_its_node_is_not_known_to_be_none_of_these(
    own_node: str, answers: bool
) -> None:
    """What a machine leaves behind is cleaned by a power cycle."""
    one = scene()
    async with one.beside_a_box_that_is_on(own_node) as cluster:
        cluster.forbidden = frozenset() if answers else LISTS
        await one.pass_by(15 * MIN)
        assert await one.phases() == []
        assert one.condition() is Condition.UP
        (row,) = await one.store.fleets()
        why = "hostler itself runs on this Node" if own_node else "is not known yet"
        assert "1 left on for its Node" in row.condition
        assert why in row.condition
        one.controller.own_node, cluster.forbidden = "elsewhere", frozenset()
        one.attach(one.controller)
        await one.until([Phase.READY], 10 * MIN)


async def test_a_node_takes_pods_again_when_its_end_is_wanted_no_more() -> None:
    one = scene()
    async with one.ready():
        await one.end()
        await one.pass_by(MIN)
        assert one.spec["unschedulable"] is True
        await one.request(RequestKind.SCALE, size=1)
        await one.until([Phase.READY], 5 * MIN)
        await one.pass_by(MIN)
        assert "unschedulable" not in one.spec
        assert CORDONED_BY not in one.cluster.nodes["box-1"]["metadata"]["annotations"]
        (machine,) = await one.machines()
        assert machine.fact(DRAIN) is None, "a later wait begins when it begins"
        tries = len(one.cluster.evicted)
        await one.pass_by(5 * MIN)
        assert len(one.cluster.evicted) == tries, "nothing is evicted any more"


async def test_a_cluster_that_does_not_answer_is_waited_for() -> None:
    one = scene(BRIEF)
    async with one.ready():
        one.cluster.forbidden = frozenset({("GET", "nodes")})
        await one.end()
        await one.pass_by(2 * MIN)
        assert await one.phases() == [Phase.DRAINING]
        await one.until([], 3 * MIN)


async def test_an_engine_that_starts_anew_goes_on_with_a_drain() -> None:
    one = scene()
    async with one.ready():
        await one.end()
        await one.pass_by(10 * S)
    (machine,) = await one.machines()
    assert machine.phase is Phase.DRAINING
    one.cluster.refusals.clear()
    controller = NodeController(one.cluster.client, one.clock)
    one.workloads = controller
    async with one.running(holder="b") as engine:
        records = EngineRecords(engine.loops[0], one.fleet.name)
        fleet = ManagedFleet(fleet=one.fleet, table=TABLE, records=records)
        controller.attach(Attached(fleets=(fleet,), store=one.store, installation=HOME))
        await one.until([], timedelta(minutes=10))
    assert one.cluster.pods == {}


async def test_a_machine_is_ready_when_its_node_is() -> None:
    """That a box is on, and answers, is not enough."""
    one = scene(replace(NODES, probe=Probe(kind=ProbeKind.NODE)))
    one.cluster = FakeCluster(one.clock)
    controller = NodeController(one.cluster.client, one.clock)
    nodes = Nodes({}, one.clock)
    nodes.controller = controller
    one.wrap_prober = lambda prober: NodeProber(prober, nodes)
    async with one.running() as engine:
        records = EngineRecords(engine.loops[0], one.fleet.name)
        fleet = ManagedFleet(fleet=one.fleet, table=TABLE, records=records)
        controller.attach(Attached(fleets=(fleet,), store=one.store, installation=HOME))
        await one.until([Phase.STARTING], MIN)
        await one.pass_by(3 * MIN)
        assert one.condition() is Condition.UP
        assert await one.phases() == [Phase.STARTING]
        one.cluster.node("box-1", ready="False")
        await one.pass_by(2 * MIN)
        assert await one.phases() == [Phase.STARTING]
        one.cluster.node("box-1")
        await one.until([Phase.READY], MIN)
