"""A drain against Kubernetes' own API server: evictions, budgets, cordons, removal.

Nothing schedules or runs Pods here: they stand where a test puts them, and an evicted Pod that has
no kubelet is ended by the test.
"""

import asyncio
import secrets
from datetime import timedelta

import msgspec
import pytest

from hostler.app.clock import SystemClock
from hostler.frontends.kubernetes.nodes.drainer import Drainer, remove
from hostler.frontends.kubernetes.nodes.objects import NODES, PODS, Node
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY, Readiness, standing
from hostler.frontends.kubernetes.nodes.workload import Rules
from hostler.kubernetes.client import Client
from hostler.kubernetes.errors import Forbidden, NotFound
from hostler.kubernetes.objects import Key, Metadata, Object
from hostler.kubernetes.requests import Deletion, json_patch, merge_patch
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.session import Call

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
ACCOUNTS = Resource(
    group="", version="v1", plural="serviceaccounts", kind="ServiceAccount", model=Anything
)
SHORT = timedelta(seconds=3)


async def node(client: Client) -> Node:
    """Make a Node that is ready."""
    name = f"n-{secrets.token_hex(4)}"
    made = Anything(metadata=Metadata(name=name), spec={"providerID": f"hostler://test/{name}"})
    await client.create(RAW_NODES, made)
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    await client.patch(
        RAW_NODES, Key("", name), merge_patch({"status": {"conditions": [ready]}}), "status"
    )
    return await client.get(NODES, Key("", name))


async def pod(client: Client, on: Node, app: str) -> Key:
    """Make a Pod that runs, and is ready, on a Node."""
    await _account(client)
    key = Key("default", f"p-{secrets.token_hex(4)}")
    made = Anything(
        metadata=Metadata(name=key.name, namespace=key.namespace, labels={"app": app}),
        spec={
            "nodeName": on.metadata.name,
            "containers": [{"name": "c", "image": "i"}],
            "automountServiceAccountToken": False,
        },
    )
    await client.create(RAW_PODS, made)
    conditions = [{"type": "Ready", "status": "True"}]
    running = merge_patch({"status": {"phase": "Running", "conditions": conditions}})
    await client.patch(RAW_PODS, key, running, "status")
    return key


async def _account(client: Client) -> None:
    """Make the service account that every Pod has, and that a controller would make."""
    key = Key("default", "default")
    try:
        await client.get(ACCOUNTS, key)
    except NotFound:
        await client.create(
            ACCOUNTS, Anything(metadata=Metadata(name="default", namespace="default"))
        )


async def budget(client: Client, app: str, *, allowed: int) -> None:
    """Make a budget that allows so many disruptions now, as its controller would say."""
    key = Key("default", f"b-{secrets.token_hex(4)}")
    spec: dict[str, object] = {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}
    made = Anything(metadata=Metadata(name=key.name, namespace=key.namespace), spec=spec)
    found = await client.create(RAW_BUDGETS, made)
    status = {
        "observedGeneration": found.metadata.generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 1 + allowed,
    }
    await client.patch(RAW_BUDGETS, key, merge_patch({"status": status}), "status")


async def ends(client: Client, key: Key) -> None:
    """End a Pod once it was evicted, as its kubelet does."""
    while (await client.get(PODS, key)).metadata.deletion_timestamp is None:
        await asyncio.sleep(0.1)
    body = msgspec.json.encode({**Deletion().body(), "gracePeriodSeconds": 0})
    call = Call(method="DELETE", path=PODS.path(key), body=body)
    answer = await client.session.send(call, timedelta(seconds=10))
    assert answer.status == 200


async def test_pods_are_evicted_and_the_node_is_free_and_removed(client: Client) -> None:
    one, app = await node(client), secrets.token_hex(4)
    assert standing(one).readiness is Readiness.READY
    key = await pod(client, one, app)
    await budget(client, app, allowed=1)
    drainer = Drainer(client, SystemClock(), lasts=timedelta(seconds=20))
    async with asyncio.TaskGroup() as group:
        group.create_task(ends(client, key))
        drained = await drainer.drain(one, "m-1", Rules(grace=timedelta(seconds=1)))
    assert drained.free, drained.text
    found = await client.get(NODES, Key("", one.metadata.name))
    assert found.spec is not None
    assert found.spec.unschedulable
    assert (found.metadata.annotations or {})[CORDONED_BY] == "m-1"
    await drainer.uncordon(found)
    found = await client.get(NODES, Key("", one.metadata.name))
    assert found.spec is not None
    assert not found.spec.unschedulable
    assert CORDONED_BY not in (found.metadata.annotations or {})
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
