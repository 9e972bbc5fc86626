"""A drain against Kubernetes' own API server: evictions, budgets, cordons, removal.

Its controllers run, and reckon the budgets; Nodes and their Pods are played, without a kubelet.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from hostler.app.clock import SystemClock
from hostler.config.node_tables import ManagedTable, NodeTable, TaintTable
from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.frontends.kubernetes.nodes.controller import NodeController
from hostler.frontends.kubernetes.nodes.drainer import Drainer, remove
from hostler.frontends.kubernetes.nodes.fleets import Attached, ManagedFleet
from hostler.frontends.kubernetes.nodes.objects import NODES, PODS, Node
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY, Readiness, standing
from hostler.frontends.kubernetes.nodes.workload import Rules
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Forbidden, NotFound
from hostler.kubernetes.objects import Key, Metadata, Object
from hostler.kubernetes.requests import json_patch, merge_patch
from hostler.kubernetes.resources import Resource
from hostler.lab.controlplane.api_server import ApiServer
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import FLEET, HOME, machine

Anything = Object[dict[str, object], dict[str, object]]
RAW_NODES = Resource(
    group="", version="v1", plural="nodes", kind="Node", model=Anything, namespaced=False
)
RAW_PODS = Resource(group="", version="v1", plural="pods", kind="Pod", model=Anything)
RAW_BUDGETS = Resource(
    group="policy",
    version="v1",
    plural="poddisruptionbudgets",
    kind="PodDisruptionBudget",
    model=Anything,
)
TABLE = NodeTable(
    labels={"pool": "web"},
    taints=(TaintTable(key="web", effect="NoSchedule"),),
    managed=ManagedTable(grace=timedelta(seconds=1)),
)
pytestmark = pytest.mark.timeout(1900)  # the first test may have to build the programs


@pytest.fixture(scope="session")
def api_server(cluster: ApiServer) -> ApiServer:
    """Here the server is that of a whole cluster."""
    return cluster


SHORT = timedelta(seconds=3)


@dataclass
class Records:
    """An engine's records of one fleet, all of whose machines have this Node."""

    provider: str
    living: list[Machine]
    leads: bool = True

    def machines(self) -> tuple[Machine, ...] | None:
        return tuple(self.living)

    def provider_id(self, machine: Machine) -> str | None:
        del machine
        return self.provider


class History(MemoryStore):
    """A store in whose history a machine is."""

    def __init__(self, ended: Machine) -> None:
        super().__init__(HOME)
        self.ended = replace(ended, phase=Phase.DELETED)

    async def machine(self, machine: MachineId) -> Machine | None:
        return self.ended if machine == self.ended.id else None


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.2)


async def node(client: Client) -> Node:
    """Make a Node, which is ready at once."""
    key = Key("", f"n-{secrets.token_hex(4)}")
    made = Anything(metadata=Metadata(name=key.name), spec={"providerID": f"hostler://test/{key}"})
    await client.create(RAW_NODES, made)

    async def is_ready() -> bool:
        return standing(await client.get(NODES, key)).readiness is Readiness.READY

    await until(is_ready)
    return await client.get(NODES, key)


async def pod(client: Client, on: Node, app: str) -> Key:
    """Make a Pod that runs on a Node."""
    key = Key("default", f"p-{secrets.token_hex(4)}")
    spec: dict[str, object] = {
        "nodeName": on.metadata.name,
        "containers": [{"name": "c", "image": "i"}],
        "automountServiceAccountToken": False,
    }
    metadata = Metadata(name=key.name, namespace=key.namespace, labels={"app": app})
    await client.create(RAW_PODS, Anything(metadata=metadata, spec=spec))

    async def runs() -> bool:
        status = (await client.get(PODS, key)).status
        return status is not None and status.phase == "Running"

    await until(runs)
    return key


async def budget(client: Client, app: str, *, allowed: int) -> None:
    """Make a budget that allows so many disruptions of one Pod, and wait until it is reckoned."""
    key = Key("default", f"b-{secrets.token_hex(4)}")
    spec: dict[str, object] = {
        "minAvailable": 1 - allowed,
        "selector": {"matchLabels": {"app": app}},
    }
    made = Anything(metadata=Metadata(name=key.name, namespace=key.namespace), spec=spec)
    await client.create(RAW_BUDGETS, made)

    async def is_reckoned() -> bool:
        status = (await client.get(RAW_BUDGETS, key)).status or {}
        known = status.get("currentHealthy"), status.get("disruptionsAllowed")
        return known == (1, allowed)

    await until(is_reckoned)


async def test_pods_are_evicted_and_the_node_is_free_and_removed(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    assert standing(one).readiness is Readiness.READY
    await pod(client, one, app)
    await budget(client, app, allowed=1)
    drainer = Drainer(client, SystemClock(), lasts=timedelta(seconds=20))
    drained = await drainer.drain(one, "m-1", Rules(grace=timedelta(seconds=1)))
    assert drained.free, drained.text
    found = await client.get(NODES, Key("", one.metadata.name))
    assert found.spec is not None
    assert found.spec.unschedulable
    assert (found.metadata.annotations or {})[CORDONED_BY] == "m-1"
    await remove(client, found)
    with pytest.raises(NotFound):
        await client.get(NODES, Key("", one.metadata.name))


async def test_a_budget_that_allows_nothing_is_named_with_its_counts(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    key = await pod(client, one, app)
    await budget(client, app, allowed=0)
    drained = await Drainer(client, SystemClock(), lasts=SHORT).drain(one, "m-1", Rules())
    assert not drained.free
    assert "needs 1 healthy pods and has 1 currently" in drained.text
    assert (await client.get(PODS, key)).metadata.deletion_timestamp is None


async def test_a_pod_under_two_budgets_needs_a_person(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    await pod(client, one, app)
    for _ in range(2):
        await budget(client, app, allowed=1)
    drained = await Drainer(client, SystemClock(), lasts=SHORT).drain(one, "m-1", Rules())
    assert "more than one PodDisruptionBudget" in drained.text


async def test_a_pod_of_the_same_name_that_came_later_is_not_evicted(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    key = await pod(client, one, app)
    drainer = Drainer(client, SystemClock(), lasts=SHORT)
    (judged,) = await drainer.busy(one, Rules())
    other = msgspec.structs.replace(judged.pod.metadata, uid="00000000-0000-0000-0000-000000000000")
    await drainer._evicted(one, msgspec.structs.replace(judged.pod, metadata=other), Rules())
    assert (await client.get(PODS, key)).metadata.deletion_timestamp is None


async def test_a_label_that_waits_is_seen_on_a_real_pod(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    key = await pod(client, one, app)
    label = {"op": "add", "path": "/metadata/labels/cluster.x-k8s.io~1drain", "value": "skip"}
    await client.patch(RAW_PODS, key, json_patch([label]))
    drained = await Drainer(client, SystemClock(), lasts=SHORT).drain(one, "m-1", Rules())
    assert drained.free


async def test_a_stranger_is_given_the_rule_that_is_missing(
    client: Client, stranger: Client
) -> None:
    one = await node(client)
    with pytest.raises(Forbidden, match=r'resources: \["nodes"\]'):
        await Drainer(stranger, SystemClock(), lasts=SHORT).drain(one, "m-1", Rules())


async def test_a_controller_labels_drains_and_removes_the_node_of_a_machine(
    client: Client,
) -> None:
    one, app = await node(client), secrets.token_hex(4)
    role = {"op": "add", "path": "/spec/taints", "value": [{"key": "k", "effect": "NoSchedule"}]}
    await client.patch(RAW_NODES, Key("", one.metadata.name), json_patch([role]))
    ours = machine(secrets.randbelow(2**40))
    records, store = Records(one.spec.provider_id if one.spec else "", [ours]), History(ours)
    controller = NodeController(client, SystemClock(), lasts=timedelta(seconds=20))
    fleet = ManagedFleet(fleet=FLEET, table=TABLE, records=records)
    controller.attach(Attached(fleets=(fleet,), store=store, installation=HOME))
    assert controller.rounds is not None
    for _ in range(2):
        await controller.rounds.go_over()
    found = await client.get(NODES, Key("", one.metadata.name))
    assert (found.metadata.labels or {})["pool"] == "web"
    assert found.spec is not None
    assert [taint.key for taint in found.spec.taints or ()] == ["k", "web"]
    version = found.metadata.resource_version
    await controller.rounds.go_over()
    assert (
        await client.get(NODES, Key("", one.metadata.name))
    ).metadata.resource_version == version
    key = await pod(client, one, app)
    records.living = [replace(ours, phase=Phase.DRAINING)]
    reply = await controller.drain(ours.id)
    with pytest.raises(NotFound):
        await client.get(PODS, key)
    assert reply.status == 1, reply.text
    records.living = []
    await controller.rounds.go_over()
    await client.get(NODES, Key("", one.metadata.name))  # it is ready, and stays
    unplayed = {"op": "add", "path": "/metadata/labels/test~1unmanaged", "value": ""}
    await client.patch(RAW_NODES, Key("", one.metadata.name), json_patch([unplayed]))
    silent = {"type": "Ready", "status": "Unknown"}
    await client.patch(
        RAW_NODES,
        Key("", one.metadata.name),
        merge_patch({"status": {"conditions": [silent]}}),
        "status",
    )
    with pytest.raises(NotFound):  # noqa: PT012 - others write on it too: then the next round does it
        for _ in range(20):
            await controller.rounds.go_over()
            await client.get(NODES, Key("", one.metadata.name))
            await asyncio.sleep(0.5)
