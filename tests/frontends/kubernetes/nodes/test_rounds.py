"""What is written on Nodes without being asked for: labels, taints, an end, a protection."""

import asyncio
from datetime import timedelta

import msgspec
import pytest
from engine_records import ONE, TABLE, History, Records, attached, node_id
from msgspec.structs import replace
from node_cluster import FakeCluster
from structlog.testing import capture_logs

from hostler.config.node_tables import HostNodeTable, ManagedTable, NodeTable, TaintTable
from hostler.domain.errors import StoreBusy
from hostler.domain.ids import AccountName, FleetName, HostId, ResourceId
from hostler.domain.machines.drain import DRAIN
from hostler.domain.model.machine import Deletion, Place, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.kubernetes.nodes.fleets import Attached
from hostler.frontends.kubernetes.nodes.rounds import Rounds
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY, Readiness
from hostler.frontends.kubernetes.nodes.upkeep import FLEET, INSTALLATION, MACHINE, REMOVE
from hostler.kubernetes.errors import ApiError
from hostler.testing.fakes.planner import SERVER
from hostler.testing.scenes.builders import BEGIN, HOME, ZONE, machine
from hostler.testing.scenes.builders import FLEET as WEB
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime

OURS = {"labels": {FLEET: "web", MACHINE: str(ONE.id)}, "annotations": {INSTALLATION: "home"}}
ENDED = replace(ONE, phase=Phase.DELETED)


class Scene:
    """One machine with its Node, and what goes over it."""

    def __init__(self, table: NodeTable = TABLE, own_node: str = "") -> None:
        clock = SimClock(asyncio.get_running_loop())
        self.cluster, self.records, self.store = FakeCluster(clock), Records(), History()
        self.cluster.node("n", providerID=node_id(ONE))
        self.rounds = Rounds(
            client=self.cluster.client,
            clock=clock,
            attached=attached(self.records, self.store, table),
            own_node=own_node,
        )

    async def go_over(self) -> None:
        await self.rounds.go_over()


async def test_a_node_gets_what_its_fleet_wants_and_is_then_left_alone() -> None:
    scene = Scene()
    scene.cluster.node(
        "n",
        providerID=node_id(ONE),
        labels={"other": "theirs"},
        taints=[{"key": "other", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}],
    )
    await scene.go_over()
    node = scene.cluster.nodes["n"]
    expected = {"other": "theirs", "pool": "web", FLEET: "web", MACHINE: ONE.id}
    assert node["metadata"]["labels"] == expected
    written = {"note": "ours", INSTALLATION: "home", REMOVE: "true"}
    assert node["metadata"]["annotations"] == written
    assert node["spec"]["taints"] == [
        {"key": "other", "effect": "NoExecute", "value": "", "timeAdded": "2026-01-01T00:00:00Z"},
        {"key": "web", "effect": "NoSchedule", "value": "yes"},
    ]
    await scene.go_over()
    assert len(scene.cluster.patches) == 1


async def test_of_two_taints_of_one_key_and_effect_the_later_one_is_written_and_once() -> None:
    """A Node has one of them: it was written anew each time, for it lacked the other one."""
    pair = [TaintTable(key="web", effect="NoSchedule", value=value) for value in ("no", "yes")]
    scene = Scene(msgspec.structs.replace(TABLE, taints=tuple(pair)))
    for _ in range(3):
        await scene.go_over()
    taints = scene.cluster.nodes["n"]["spec"]["taints"]
    assert [(one["key"], one["value"]) for one in taints] == [("web", "yes")]
    assert len(scene.cluster.patches) == 1


def of_two() -> Scene:
    """Return a scene with two machines and their Nodes, `a` before `b`."""
    scene, other = Scene(), machine(2)
    scene.records.living.append(other)
    scene.cluster.nodes.clear()
    scene.cluster.node("a", providerID=node_id(ONE))
    scene.cluster.node("b", providerID=node_id(other))
    return scene


@pytest.mark.parametrize("code", [403, 422, 429, 500, 503])
async def test_a_node_that_cannot_be_written_keeps_no_other_from_it(code: int) -> None:
    """A policy of the cluster may refuse what is written on one Node, or a webhook be broken."""
    scene = of_two()
    scene.cluster.broken["a"] = code
    with capture_logs() as logs:
        await scene.go_over()
        await scene.go_over()
    assert scene.cluster.nodes["b"]["metadata"]["labels"][FLEET] == "web"
    assert set(scene.rounds.observed) == {ONE.id, machine(2).id}
    assert [one["node"] for one in logs if one["event"] == "node not written"] == ["a"]
    scene.cluster.broken.clear()
    await scene.go_over()
    assert scene.cluster.nodes["a"]["metadata"]["labels"][FLEET] == "web"


async def test_a_node_that_cannot_be_removed_keeps_no_other_from_it() -> None:
    scene = Scene()
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    scene.cluster.nodes.clear()
    for name in ("a", "b"):
        scene.cluster.node(name, ready="Unknown", **OURS)
    scene.cluster.broken["a"] = 403
    await scene.go_over()
    assert list(scene.cluster.nodes) == ["a"]


async def test_a_server_that_does_not_answer_is_asked_again_in_the_next_round() -> None:
    scene = of_two()
    scene.cluster.broken["a"] = 0
    with pytest.raises(ApiError):
        await scene.go_over()
    assert scene.cluster.patches == []


async def test_a_node_of_nobody_is_not_touched() -> None:
    scene = Scene()
    scene.cluster.nodes.clear()
    scene.cluster.node("foreign", providerID="aws:///i-1")
    scene.cluster.node("nameless")
    await scene.go_over()
    assert scene.cluster.patches == []
    assert scene.cluster.deletions == []


async def test_who_does_not_lead_only_looks() -> None:
    scene = Scene()
    scene.records.leads = False
    await scene.go_over()
    assert scene.cluster.patches == []
    assert scene.rounds.observed[ONE.id].readiness is Readiness.READY


async def test_what_was_seen_of_nodes_has_an_age() -> None:
    scene = Scene()
    scene.cluster.node("n", providerID=node_id(ONE), ready="Unknown")
    await scene.go_over()
    standing = scene.rounds.observed[ONE.id]
    assert standing.readiness is Readiness.SILENT
    assert standing.age(scene.rounds.clock.now()) is not None


@pytest.mark.parametrize(
    ("one", "uncordoned"),
    [
        (ONE, True),
        (ONE.with_fact(DRAIN, BEGIN), True),
        (replace(ONE, deletion=Deletion(at=BEGIN, actor="a", why="")), False),
        (replace(ONE, goal=Goal.STANDBY), False),
        (replace(ONE, phase=Phase.DRAINING), False),
        (replace(ONE, phase=Phase.STARTING), False),
        (replace(ONE, phase=Phase.STANDBY), False),
    ],
    ids=["stays", "waited", "to end", "to rest", "draining", "starting", "rests"],
)
async def test_a_cordon_of_ours_ends_with_its_reason(one: object, *, uncordoned: bool) -> None:
    scene = Scene()
    scene.records.living = [one]  # pyright: ignore[reportAttributeAccessIssue] - a machine
    annotations = {CORDONED_BY: str(ONE.id)}
    scene.cluster.node("n", providerID=node_id(ONE), unschedulable=True, annotations=annotations)
    await scene.go_over()
    assert ("unschedulable" not in scene.cluster.nodes["n"]["spec"]) is uncordoned


async def test_a_cordon_of_somebody_else_stays() -> None:
    scene = Scene()
    scene.cluster.node("n", providerID=node_id(ONE), unschedulable=True)
    await scene.go_over()
    assert scene.cluster.nodes["n"]["spec"]["unschedulable"] is True


async def test_the_node_of_a_machine_that_has_ended_is_removed() -> None:
    scene = Scene()
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    scene.cluster.node("n", ready="Unknown", **OURS)
    await scene.go_over()
    assert scene.cluster.nodes == {}
    assert scene.cluster.deletions[0]["preconditions"]["uid"] == "u-n"


async def test_a_node_stays_whose_kubelet_is_heard_again_since_it_was_read() -> None:
    """It registers once in each boot: what is removed then would stay away until the next one."""
    scene = Scene()
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    scene.cluster.node("n", ready="Unknown", **OURS)
    scene.cluster.returning = ("n",)
    await scene.go_over()
    assert list(scene.cluster.nodes) == ["n"]


@pytest.mark.parametrize(
    "why",
    [
        "its kubelet speaks",
        "unknown to us",
        "it lives",
        "another installation",
        "not to",
        "follows",
    ],
)
async def test_a_node_is_not_removed_where(why: str) -> None:
    managed = ManagedTable(remove=why != "not to")
    scene = Scene(msgspec.structs.replace(TABLE, managed=managed))
    scene.records.living, scene.store.ended[ONE.id] = [], ENDED
    owned = dict(OURS)
    match why:
        case "unknown to us":
            scene.store.ended.clear()
        case "it lives":
            scene.store.ended[ONE.id] = ONE
        case "another installation":
            owned["annotations"] = {INSTALLATION: "abroad"}
        case "follows":
            scene.records.leads = False
        case _:
            pass
    ready = "True" if why == "its kubelet speaks" else "Unknown"
    scene.cluster.node("n", ready=ready, **owned)
    await scene.go_over()
    assert list(scene.cluster.nodes) == ["n"]


@pytest.mark.parametrize(
    ("remove", "phase", "stays"),
    [(True, Phase.DELETED, False), (False, Phase.DELETED, True), (True, Phase.READY, True)],
    ids=["ended", "not to", "it lives"],
)
async def test_the_node_of_the_last_machine_of_a_fleet_goes_though_the_fleet_is_gone_by_then(
    phase: Phase, *, remove: bool, stays: bool
) -> None:
    """Kubernetes 296: its kubelet falls silent minutes later, and nobody runs that fleet any more.

    Its process may have been started again since: the Node itself says that it is to go.
    """
    managed = ManagedTable(remove=remove)
    scene = Scene(msgspec.structs.replace(TABLE, managed=managed))
    await scene.go_over()
    scene.records.living, scene.store.ended[ONE.id] = [], replace(ONE, phase=phase)
    scene.cluster.nodes["n"]["status"]["conditions"][0]["status"] = "Unknown"
    scene.rounds.attached = Attached(store=scene.store, installation=HOME)
    await scene.go_over()
    assert ("n" in scene.cluster.nodes) is stays


async def test_a_node_that_is_to_stay_by_now_says_so_no_longer() -> None:
    scene = Scene(msgspec.structs.replace(TABLE, managed=ManagedTable(remove=False)))
    scene.cluster.node("n", providerID=node_id(ONE), annotations={REMOVE: "true"})
    await scene.go_over()
    assert REMOVE not in scene.cluster.nodes["n"]["metadata"]["annotations"]


async def test_the_node_of_a_host_that_another_machine_has_now_is_labelled_anew() -> None:
    """The host outlives its machines, and so does its Node."""
    scene, later = Scene(), machine(2)
    scene.records.living, scene.store.ended[ONE.id] = [later], ENDED
    scene.cluster.node("n", providerID=node_id(later), ready="Unknown", **OURS)
    await scene.go_over()
    assert scene.cluster.nodes["n"]["metadata"]["labels"][MACHINE] == later.id


@pytest.mark.parametrize("first", ["old", "new"])
@pytest.mark.parametrize(
    ("leads", "remove", "ready", "removed"),
    [
        (True, True, "Unknown", True),
        (True, True, "True", False),
        (True, False, "Unknown", False),
        (False, True, "Unknown", False),
    ],
    ids=["silent", "its kubelet speaks", "not to", "follows"],
)
async def test_the_node_that_a_host_had_under_another_name_goes(
    first: str, *, leads: bool, remove: bool, ready: str, removed: bool
) -> None:
    """Origin 001: of a Machine removed by force the Node stays, and core takes neither of two."""
    scene = Scene(msgspec.structs.replace(TABLE, managed=ManagedTable(remove=remove)))
    scene.records.leads = leads
    scene.cluster.nodes.clear()
    for name in (first, *{"old", "new"} - {first}):
        heard = ready if name == "old" else "Unknown"
        scene.cluster.node(name, providerID=node_id(ONE), ready=heard, **OURS)
        hour = 0 if name == "old" else 1
        created = f"2026-01-01T0{hour}:00:00Z"
        scene.cluster.nodes[name]["metadata"]["creationTimestamp"] = created
    await scene.go_over()
    assert set(scene.cluster.nodes) == ({"new"} if removed else {"old", "new"})
    assert scene.rounds.observed[ONE.id].name == "new"


@pytest.mark.parametrize(
    ("heard", "joined", "removed"),
    [("Unknown", True, True), ("True", True, False), ("Unknown", False, False)],
)
async def test_the_node_that_a_living_machine_left_for_another_host_is_removed(
    heard: str, *, joined: bool, removed: bool
) -> None:
    """Kubernetes seed 69: its start was tried again elsewhere, and its old Node stayed for good.

    Until it has joined there, the Node may be its own, and not known to be.
    """
    scene = Scene()
    scene.store.ended[ONE.id] = ONE
    scene.cluster.nodes.clear()
    scene.cluster.node("left", providerID="hostler://power/z/box-4", ready=heard, **OURS)
    if joined:
        scene.cluster.node("n", providerID=node_id(ONE))
    await scene.go_over()
    assert ("left" not in scene.cluster.nodes) is removed
    assert ("n" in scene.cluster.nodes) is joined


@pytest.mark.parametrize("phase", [Phase.PENDING, Phase.STARTING])
@pytest.mark.parametrize(
    ("host", "bound", "heard", "removed"),
    [
        (None, None, "Unknown", True),
        (None, None, "True", False),
        (HostId("box-1"), None, "Unknown", True),
        (HostId("box-1"), None, "True", False),
        (HostId("box-4"), None, "Unknown", False),
        (None, ResourceId("server"), "Unknown", False),
    ],
)
async def test_the_node_of_a_machine_that_waits_for_another_host_is_removed(
    phase: Phase, host: HostId | None, bound: ResourceId | None, heard: str, *, removed: bool
) -> None:
    """For as long as no other host was free, or that one did not come up, its old Node stayed.

    Kubernetes seeds 237000287 and 238019354.
    """
    places = (Place(slot=SERVER, bound=bound),)
    waits = replace(ONE, phase=phase, host=host, places=places)
    scene = Scene()
    scene.store.ended[ONE.id] = scene.records.living[0] = waits
    scene.cluster.nodes.clear()
    box = f"hostler://power/{ONE.offer.zone}/box-4"
    scene.cluster.node("left", providerID=box, ready=heard, **OURS)
    await scene.go_over()
    assert ("left" not in scene.cluster.nodes) is removed


@pytest.mark.parametrize("phase", [Phase.READY, Phase.DRAINING, Phase.STOPPING])
async def test_a_node_that_names_a_machine_which_was_up_stays_though_its_host_is_another(
    phase: Phase,
) -> None:
    """It may be that machine's own, under an ID that is not known to be: Pods may run there."""
    scene = Scene()
    stays = replace(ONE, phase=phase, host=HostId("box-1"))
    scene.store.ended[ONE.id] = scene.records.living[0] = stays
    scene.cluster.nodes.clear()
    scene.cluster.node("left", providerID="hostler://power/z/box-4", ready="Unknown", **OURS)
    await scene.go_over()
    assert "left" in scene.cluster.nodes


async def test_the_machine_on_whose_node_we_run_is_protected() -> None:
    scene = Scene(own_node="n")
    await scene.go_over()
    (request,) = scene.store.written
    assert (request.kind, request.machine) == (RequestKind.PROTECT, ONE.id)
    assert request.why == "hostler itself runs on this Node"
    await scene.go_over()
    assert len(scene.store.written) == 1, "it may take a moment to be on record"
    until = request.until
    assert until is not None
    scene.records.living = [
        replace(ONE, protection=Protection(until=until, why=request.why, actor="hostler"))
    ]
    await asyncio.sleep(600)
    await scene.go_over()
    assert len(scene.store.written) == 1
    await asyncio.sleep((until - scene.rounds.clock.now() - timedelta(minutes=59)).total_seconds())
    await scene.go_over()
    assert len(scene.store.written) == 2, "it is asked for anew before it ends"


async def test_a_protection_that_could_not_be_recorded_is_asked_for_in_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene(own_node="n")

    async def request_all(requests: object) -> tuple[()]:
        del requests
        raise StoreBusy("the disk is slow")

    with monkeypatch.context() as broken:
        broken.setattr(scene.store, "request_all", request_all)
        with pytest.raises(StoreBusy):
            await scene.go_over()
    await scene.go_over()
    assert [one.kind for one in scene.store.written] == [RequestKind.PROTECT]


@pytest.mark.parametrize("may", [True, False])
async def test_a_node_of_the_control_plane_is_protected_unless_its_fleet_says_otherwise(
    *, may: bool
) -> None:
    managed = ManagedTable(control_plane=may)
    scene = Scene(msgspec.structs.replace(TABLE, managed=managed))
    role = {"node-role.kubernetes.io/control-plane": ""}
    scene.cluster.node("n", providerID=node_id(ONE), labels=role)
    await scene.go_over()
    assert bool(scene.store.written) is not may


ON_NODE = {"cpu": "4", "memory": "16Gi", "pods": "110"}


async def test_what_pods_get_on_nodes_is_learnt_and_the_least_of_each() -> None:
    scene = Scene()
    sizes = scene.rounds.sizes
    assert sizes.of(FleetName("web")) == {}
    scene.cluster.node("n", providerID=node_id(ONE), allocatable=ON_NODE)
    await scene.go_over()
    assert sizes.of(FleetName("web")) == ON_NODE
    other = {"cpu": "3500m", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "1"}
    scene.cluster.node("n", providerID=node_id(ONE), allocatable=other)
    await scene.go_over()
    assert sizes.of(FleetName("web")) == ON_NODE | {"cpu": "3500m"}
    assert sizes.of(FleetName("other")) == {}


@pytest.mark.parametrize("allocatable", [{}, {"cpu": "4"}, {"cpu": "lots", "memory": "1Gi"}])
async def test_a_node_whose_kubelet_said_nothing_yet_teaches_nothing(
    allocatable: dict[str, str],
) -> None:
    scene = Scene()
    scene.cluster.node("n", providerID=node_id(ONE), allocatable=allocatable)
    await scene.go_over()
    assert scene.rounds.sizes.of(FleetName("web")) == {}


async def test_the_node_of_a_machine_that_has_ended_still_teaches() -> None:
    """A fleet of none can grow after a restart, while the Nodes of its boxes are still there."""
    scene = Scene()
    scene.cluster.node("n", **OURS, ready="False", allocatable=ON_NODE)
    scene.records.living = []
    scene.store.ended = {ENDED.id: ENDED}
    await scene.go_over()
    assert scene.rounds.sizes.of(FleetName("web")) == ON_NODE


# ---------------------------------------------------------------- what a host says of its Node


async def test_a_node_gets_what_its_host_wants_before_what_its_fleet_does() -> None:
    scene = Scene()
    on_tower = replace(ONE, host=HostId("tower"))
    scene.records.living = [on_tower]
    own = HostNodeTable(
        labels={"pool": "tower", "rack": "b"},
        taints=(TaintTable(key="gpu", effect="NoSchedule", value="yes"),),
    )

    def of_host(account: AccountName, host: HostId) -> HostNodeTable | None:
        return own if (account, host) == (WEB.account, "tower") else None

    (fleet,) = scene.rounds.attached.fleets
    scene.rounds.attached = replace(scene.rounds.attached, fleets=(replace(fleet, hosts=of_host),))
    await scene.go_over()
    node = scene.cluster.nodes["n"]
    labels = node["metadata"]["labels"]
    assert (labels["pool"], labels["rack"], labels[FLEET]) == ("tower", "b", "web")
    taints = {one["key"]: one.get("value") for one in node["spec"]["taints"]}
    assert taints == {**{one.key: one.value for one in TABLE.taints}, "gpu": "yes"}
    assert scene.rounds.observed[ONE.id].name == "n"


BOXES = ((ZONE, HostId("box-4")), (ZONE, HostId("box-5")))
OWN = "hostler itself runs on this Node"


async def test_a_host_is_known_by_the_end_of_its_nodes_provider_id_or_by_name_alone() -> None:
    scene = Scene(own_node="n")
    scene.cluster.nodes.clear()
    assert scene.rounds.guarded(WEB.account, BOXES) is None, "nobody has looked yet"
    scene.cluster.node("n", providerID=f"hostler://power/{ZONE}/box-4")
    scene.cluster.node("box-5", providerID="cloud://else/box-5")
    await scene.go_over()
    assert scene.rounds.guarded(WEB.account, BOXES) == {HostId("box-4"): OWN}
    assert scene.rounds.guarded(AccountName("other"), BOXES) == {}
    scene.rounds.own_node = "box-5"
    await scene.go_over()
    assert scene.rounds.guarded(WEB.account, BOXES) == {}, "it has another provider ID"
    scene.cluster.nodes.clear()
    scene.cluster.node("box-5")
    await scene.go_over()
    assert scene.rounds.guarded(WEB.account, BOXES) == {HostId("box-5"): OWN}


@pytest.mark.parametrize("may", [True, False])
async def test_the_hosts_of_a_control_plane_are_left_on_unless_a_fleet_says_otherwise(
    *, may: bool
) -> None:
    """Whoever founds a cluster with a fleet waits for no answer of that cluster."""
    scene = Scene(msgspec.structs.replace(TABLE, managed=ManagedTable(control_plane=may)))
    assert scene.rounds.guarded(WEB.account, BOXES) == ({} if may else None)
    scene.cluster.nodes.clear()
    role = {"node-role.kubernetes.io/control-plane": ""}
    scene.cluster.node("n", providerID=f"hostler://power/{ZONE}/box-4", labels=role)
    await scene.go_over()
    guarded = scene.rounds.guarded(WEB.account, BOXES)
    assert guarded == ({} if may else {HostId("box-4"): "this Node carries the control plane"})
