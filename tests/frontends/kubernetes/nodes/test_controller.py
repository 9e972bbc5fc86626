"""What an engine is answered that asks whether the Node of a machine is free."""

import asyncio
from datetime import datetime, timedelta

import pytest
from engine_records import ONE, TABLE, History, Records, attached, node_id
from msgspec.structs import replace
from node_cluster import BUDGET, FakeCluster

from hostler.domain.machines.drain import DRAIN
from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.nodes.controller import BUSY, FREE, RECENT, NodeController
from hostler.frontends.kubernetes.nodes.rounds import EVERY
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY
from hostler.ports.command import Reply
from hostler.testing.scenes.builders import BEGIN, FLEET, machine
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

ENDING = replace(ONE, phase=Phase.DRAINING).with_fact(DRAIN, BEGIN)


class Scene:
    """One machine that is to end, and its Node."""

    def __init__(self, own_node: str = "") -> None:
        clock = SimClock(asyncio.get_running_loop())
        self.cluster, self.records = FakeCluster(clock), Records([ENDING])
        self.cluster.node("n", providerID=node_id(ONE))
        self.controller = NodeController(self.cluster.client, clock, own_node)
        self.controller.attach(attached(self.records, History(), TABLE))

    async def drain(self) -> Reply:
        return await self.controller.drain(ONE.id)


async def test_a_node_is_drained_by_being_asked_about() -> None:
    scene = Scene()
    scene.cluster.pod("a")
    assert (await scene.drain()).status == FREE
    assert scene.cluster.nodes["n"]["metadata"]["annotations"][CORDONED_BY] == ONE.id


async def test_what_is_in_the_way_is_told_to_the_engine() -> None:
    scene = Scene()
    scene.cluster.pod("a")
    scene.cluster.refusals["a"] = [BUDGET] * 100
    reply = await scene.drain()
    assert reply.status == BUSY
    assert "The disruption budget web needs 2" in reply.text


async def test_a_machine_without_a_node_is_free() -> None:
    scene = Scene()
    scene.cluster.nodes.clear()
    assert await scene.drain() == Reply(status=FREE, text="the cluster has no Node of it")


async def test_what_may_not_be_read_is_neither_busy_nor_free() -> None:
    scene = Scene()
    scene.cluster.forbidden = frozenset({("GET", "nodes")})
    reply = await scene.drain()
    assert reply.status is None
    assert 'resources: ["nodes"] verbs: ["list"]' in reply.text


async def test_the_node_on_which_we_run_is_never_drained() -> None:
    scene = Scene(own_node="n")
    scene.cluster.pod("a")
    assert await scene.drain() == Reply(text="hostler itself runs on this Node", barred=True)
    assert scene.cluster.patches == []


async def test_a_machine_of_no_fleet_that_is_known_here_is_not_touched() -> None:
    scene = Scene()
    assert (await scene.controller.drain(machine(7).id)).status is None
    assert scene.cluster.patches == []


async def test_before_an_engine_is_attached_nobody_knows() -> None:
    scene = Scene()
    scene.controller.rounds = None
    assert (await scene.drain()).status is None


@pytest.mark.parametrize("how", ["it came back", "another leads", "it is on record no more"])
async def test_a_drain_ends_in_its_midst_where(how: str) -> None:
    scene = Scene()
    scene.cluster.grace = None
    scene.cluster.pod("a")

    def change() -> None:
        scene.cluster.pod("b")
        match how:
            case "it came back":
                scene.records.living = [ONE]
            case "another leads":
                scene.records.leads = False
            case _:
                scene.records.living = []

    asyncio.get_running_loop().call_later(3, change)
    assert (await scene.drain()).status == BUSY
    assert [name for _, name in scene.cluster.evicted] == ["a"]
    assert asyncio.get_running_loop().time() < 5


async def test_by_itself_it_goes_over_all_nodes_and_over_refusals() -> None:
    scene = Scene()
    scene.cluster.forbidden = frozenset({("GET", "nodes")})
    async with asyncio.TaskGroup() as group:
        running = group.create_task(scene.controller.run())
        await asyncio.sleep(10)
        scene.cluster.forbidden = frozenset()
        await asyncio.sleep(EVERY.total_seconds())
        running.cancel()
    assert scene.cluster.nodes["n"]["metadata"]["labels"]["pool"] == "web"


def scene_of(status: str, heard: datetime) -> Scene:
    """Return a scene whose Node said this then."""
    scene = Scene()
    condition = scene.cluster.nodes["n"]["status"]["conditions"][0]
    condition |= {"status": status, "lastHeartbeatTime": heard.isoformat(), "reason": "Why"}
    return scene


@pytest.mark.parametrize(
    ("status", "heard", "verdict"),
    [
        ("True", BEGIN, (True, "Node n is ready")),
        ("True", BEGIN - timedelta(minutes=4), (True, "Node n is ready")),
        ("True", BEGIN - timedelta(minutes=6), (False, "Node n is ready (Why)")),
        ("False", BEGIN, (False, "Node n is not ready (Why)")),
        ("Unknown", BEGIN, (False, "Node n is silent (Why)")),
    ],
)
async def test_a_node_is_ready_by_what_its_kubelet_said_since_it_is_ours(
    status: str, heard: datetime, verdict: tuple[bool, str]
) -> None:
    scene = scene_of(status, heard)
    assert await scene.controller.ready(ONE.id) == verdict


async def test_a_machine_without_a_node_or_of_no_fleet_is_not_ready() -> None:
    scene = Scene()
    assert not (await scene.controller.ready(machine(7).id))[0]
    scene.cluster.nodes.clear()
    assert await scene.controller.ready(ONE.id) == (False, "the cluster has no Node of it")


async def test_what_may_not_be_read_is_not_ready_and_the_rule_is_named() -> None:
    scene = Scene()
    scene.cluster.forbidden = frozenset({("GET", "nodes")})
    passed, text = await scene.controller.ready(ONE.id)
    assert not passed
    assert 'verbs: ["list"]' in text


async def test_many_machines_that_start_read_the_nodes_once() -> None:
    scene = Scene()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(scene.controller.ready(ONE.id))
    assert scene.cluster.lists == 1
    await asyncio.sleep(RECENT.total_seconds())
    await scene.controller.ready(ONE.id)
    assert scene.cluster.lists == 2


async def test_what_is_known_of_nodes_stays_known_to_the_next_engine() -> None:
    """A reload begins with other engines, and takes no host for one of nobody meanwhile."""
    scene = Scene()
    assert scene.controller.guarded(FLEET.account, []) is None
    await scene.controller.look()
    scene.controller.attach(attached(scene.records, History(), TABLE))
    assert scene.controller.guarded(FLEET.account, []) == {}


async def test_what_is_read_of_nodes_for_one_machine_is_known_for_all() -> None:
    """A box was passed over for half a minute after the API server had told whose its Node is."""
    for asks in (NodeController.ready, NodeController.drain):
        scene = Scene()
        assert scene.controller.guarded(FLEET.account, []) is None
        await asks(scene.controller, ONE.id)
        assert scene.controller.guarded(FLEET.account, []) == {}
