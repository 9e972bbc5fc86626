"""What Cluster Autoscaler leaves on a Node stays while its box is off or boots, and then goes.

An older autoscaler took the taint away as soon as a box was to boot: Cluster Autoscaler then saw a
node that was not ready, took its start for finished, and bought another.
"""

import asyncio
from datetime import timedelta

import msgspec
import pytest
from engine_records import ONE, TABLE, History, Records, node_id
from msgspec.structs import replace
from node_cluster import Body, FakeCluster

from hostler.config.node_tables import ManagedTable, NodeTable
from hostler.domain.model.machine import Deletion, Machine, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.frontends.kubernetes.nodes.autoscaler import TO_BE_DELETED, UNWANTED, UNWANTED_BY
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.frontends.kubernetes.nodes.rounds import Rounds
from hostler.frontends.kubernetes.nodes.upkeep import INSTALLATION, MACHINE
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

BEFORE = str(int((BEGIN - timedelta(minutes=20)).timestamp()))
LATER = str(int((BEGIN + timedelta(minutes=20)).timestamp()))
KEPT = msgspec.structs.replace(TABLE, taints=(), managed=ManagedTable(remove=False))
OTHER = {"key": "other", "effect": "NoExecute", "value": "", "timeAdded": "2026-01-01T00:00:00Z"}
COMING = replace(ONE, phase=Phase.STARTING, health=replace(ONE.health, was_ready=None))
ENDED = replace(ONE, phase=Phase.DELETED)


class Scene:
    """A box whose Node Cluster Autoscaler tainted and cordoned, at a time of its own clock."""

    def __init__(self, one: Machine, tainted: str, ready: str = "True") -> None:
        clock = SimClock(asyncio.get_running_loop())
        self.cluster, self.records, self.store = FakeCluster(clock), Records([one]), History()
        taints = [OTHER, _taint(tainted)] if tainted else [OTHER]
        spec = {"providerID": node_id(ONE), "unschedulable": bool(tainted), "taints": taints}
        self.cluster.node("n", ready=ready, **spec, **_owned(one))
        self.clock = clock

    async def go_over(self, table: NodeTable = KEPT, *, autoscaled: bool = True) -> Body:
        """Go over it twice, and return what the Node is then."""
        asks = replace(FLEET, renews=False)
        managed = ManagedFleet(fleet=asks, table=table, records=self.records, autoscaled=autoscaled)
        attached = Attached(fleets=(managed,), store=self.store, installation=HOME)
        rounds = Rounds(client=self.cluster.client, clock=self.clock, attached=attached)
        await rounds.go_over()
        await rounds.go_over()
        spec: Body = self.cluster.nodes["n"]["spec"]
        return spec


def _taint(value: str) -> dict[str, str]:
    return {"key": TO_BE_DELETED, "effect": "NoSchedule", "value": value}


def _owned(one: Machine) -> Body:
    return {"labels": {MACHINE: str(one.id)}, "annotations": {INSTALLATION: str(HOME)}}


async def test_15_a_node_takes_pods_again_when_its_next_machine_is_up() -> None:
    spec = await Scene(ONE, BEFORE).go_over()
    assert spec["taints"] == [OTHER]
    assert "unschedulable" not in spec


async def test_15_the_taint_of_a_node_stays_while_its_box_boots() -> None:
    spec = await Scene(COMING, BEFORE).go_over()
    assert _taint(BEFORE) in spec["taints"]
    assert spec["unschedulable"] is True


@pytest.mark.parametrize(
    ("one", "tainted"),
    [
        (ONE, LATER),
        (ONE, "soon"),
        (replace(ONE, phase=Phase.DRAINING), BEFORE),
        (replace(ONE, deletion=Deletion(at=BEGIN, actor="a", why="")), BEFORE),
        (replace(ONE, goal=Goal.STANDBY), BEFORE),
    ],
    ids=["meant for this one", "of somebody else", "draining", "to end", "to rest"],
)
async def test_a_node_that_is_to_go_stays_tainted(one: Machine, tainted: str) -> None:
    spec = await Scene(one, tainted).go_over()
    assert _taint(tainted) in spec["taints"]
    assert spec["unschedulable"] is True


async def test_a_node_that_stays_counts_as_deleted_while_its_box_is_off() -> None:
    """A person ended its machine; nobody tainted it, and it would be one that is not ready."""
    scene = Scene(ONE, "", ready="Unknown")
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    spec = await scene.go_over()
    assert [taint["key"] for taint in spec["taints"]] == ["other", TO_BE_DELETED]
    assert len(scene.cluster.patches) == 1


@pytest.mark.parametrize("why", ["its kubelet speaks", "nobody else asks for machines"])
async def test_a_node_is_not_tainted_by_us_where(why: str) -> None:
    speaks = why == "its kubelet speaks"
    scene = Scene(ONE, "", ready="True" if speaks else "Unknown")
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    spec = await scene.go_over(autoscaled=speaks)
    assert spec["taints"] == [OTHER]


PROTECTED = replace(ONE, protection=Protection(until=BEGIN + timedelta(days=1), actor="a", why=""))


async def test_a_protected_machine_is_neither_drained_nor_asked_for_by_cluster_autoscaler() -> None:
    """Its end was refused, after its Node had been drained, and a minute later again."""
    scene = Scene(PROTECTED, "")
    await scene.go_over()
    annotations = scene.cluster.nodes["n"]["metadata"]["annotations"]
    assert (annotations[UNWANTED], annotations[UNWANTED_BY]) == ("true", ONE.id)
    assert len(scene.cluster.patches) == 1
    scene.records.living = [ONE]
    await scene.go_over()
    assert not {UNWANTED, UNWANTED_BY} & scene.cluster.nodes["n"]["metadata"]["annotations"].keys()


@pytest.mark.parametrize("one", [ONE, PROTECTED], ids=["free", "protected"])
async def test_what_somebody_else_keeps_from_cluster_autoscaler_stays_so(one: Machine) -> None:
    scene = Scene(one, "")
    scene.cluster.nodes["n"]["metadata"]["annotations"][UNWANTED] = "true"
    await scene.go_over()
    annotations = scene.cluster.nodes["n"]["metadata"]["annotations"]
    assert annotations[UNWANTED] == "true"
    assert UNWANTED_BY not in annotations


async def test_a_fleet_that_is_no_node_group_is_none_of_cluster_autoscaler_s() -> None:
    """Nor is one whose machines Cluster API asks for: it does not keep a size by itself either."""
    scene = Scene(PROTECTED, "")
    await scene.go_over(autoscaled=False)
    assert UNWANTED not in scene.cluster.nodes["n"]["metadata"]["annotations"]


async def test_what_we_kept_from_cluster_autoscaler_is_taken_off_where_it_asks_no_more() -> None:
    scene = Scene(PROTECTED, "")
    await scene.go_over()
    annotations = scene.cluster.nodes["n"]["metadata"]["annotations"]
    assert annotations[UNWANTED] == "true"
    await scene.go_over(autoscaled=False)
    annotations = scene.cluster.nodes["n"]["metadata"]["annotations"]
    assert not {UNWANTED, UNWANTED_BY} & annotations.keys()
