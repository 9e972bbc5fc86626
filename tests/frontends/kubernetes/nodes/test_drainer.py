"""One pass of a drain, in simulated time: cordon, evict, wait, say what is in the way."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest
from node_cluster import BUDGET, FakeCluster

from hostler.frontends.kubernetes.nodes.drainer import Drained, Drainer, remove
from hostler.frontends.kubernetes.nodes.objects import NODES, Node
from hostler.frontends.kubernetes.nodes.standing import CORDONED_BY
from hostler.frontends.kubernetes.nodes.workload import Choice, Rules
from hostler.kubernetes.errors import Forbidden
from hostler.kubernetes.objects import Key
from hostler.testing.time.clock import SimClock

pytestmark = pytest.mark.looptime


GRACE = timedelta(seconds=3)


def cluster(grace: timedelta | None = GRACE) -> FakeCluster:
    found = FakeCluster(SimClock(asyncio.get_running_loop()), grace)
    found.node("n")
    return found


async def node_of(fake: FakeCluster) -> Node:
    return await fake.client.get(NODES, Key("", "n"))


async def drain(fake: FakeCluster, rules: Rules | None = None) -> Drained:
    drainer = Drainer(fake.client, fake.clock)
    return await drainer.drain(await node_of(fake), "m-1", rules or Rules())


async def test_a_node_is_cordoned_before_anything_is_evicted_and_says_for_whom() -> None:
    fake = cluster()
    fake.pod("a")
    drained = await drain(fake)
    assert drained == Drained(free=True, text="no Pod that matters runs there")
    assert fake.nodes["n"]["spec"]["unschedulable"] is True
    assert fake.nodes["n"]["metadata"]["annotations"] == {CORDONED_BY: "m-1"}
    assert fake.evicted[0][1] == "a"
    assert asyncio.get_running_loop().time() < 6, "it goes on as soon as the Pod has ended"


async def test_a_node_that_somebody_cordoned_stays_theirs() -> None:
    fake = cluster()
    fake.node("n", unschedulable=True)
    await drain(fake)
    assert fake.patches == []


async def test_a_node_that_somebody_wrote_since_it_was_read_is_read_again() -> None:
    fake = cluster()
    node = await node_of(fake)
    fake.nodes["n"]["metadata"]["resourceVersion"] = "7"
    assert (await Drainer(fake.client, fake.clock).drain(node, "m-1", Rules())).free
    assert fake.nodes["n"]["metadata"]["annotations"] == {CORDONED_BY: "m-1"}


async def test_a_node_that_somebody_cordoned_since_it_was_read_stays_theirs() -> None:
    fake = cluster()
    node = await node_of(fake)
    fake.node("n", unschedulable=True)
    fake.nodes["n"]["metadata"]["resourceVersion"] = "7"
    assert (await Drainer(fake.client, fake.clock).drain(node, "m-1", Rules())).free
    assert fake.nodes["n"]["metadata"]["annotations"] == {}


async def test_a_pod_is_evicted_once_by_its_uid_and_with_the_grace_that_is_asked_for() -> None:
    fake = cluster(grace=timedelta(seconds=8))
    fake.pod("a")
    assert (await drain(fake, Rules(grace=timedelta(seconds=9)))).free
    assert fake.options == [{"preconditions": {"uid": "u-a"}, "gracePeriodSeconds": 9}]


async def test_what_is_in_nobody_s_way_is_not_evicted() -> None:
    fake = cluster()
    fake.pod("daemon", owner="DaemonSet")
    fake.pod("done", phase="Succeeded")
    fake.pod("elsewhere", node="other")
    assert (await drain(fake)).free
    assert fake.evicted == []


async def test_a_disruption_budget_is_waited_for_and_named() -> None:
    fake = cluster()
    fake.pod("a")
    fake.refusals["a"] = [BUDGET] * 100
    drained = await drain(fake)
    assert not drained.free
    assert drained.text.startswith("1 Pod is still there: ns/a (")
    assert "The disruption budget web needs 2 healthy pods and has 2 currently" in drained.text
    times = [at for at, _ in fake.evicted]
    assert 3 <= len(times) <= 5, "every five seconds, in a pass of twenty"
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 5


async def test_a_budget_that_gives_way_lets_the_node_go() -> None:
    fake = cluster()
    fake.pod("a")
    fake.refusals["a"] = [BUDGET] * 2
    assert (await drain(fake)).free


async def test_a_refused_eviction_is_not_repeated_at_once_by_the_next_pass() -> None:
    fake = cluster()
    fake.pod("a")
    fake.refusals["a"] = [(429, "TooManyRequests", "wait")] * 100
    drainer = Drainer(fake.client, fake.clock, lasts=timedelta(0))
    for _ in range(3):
        await drainer.drain(await node_of(fake), "m-1", Rules())
    assert len(fake.evicted) == 1


async def test_another_pod_of_the_same_name_is_not_evicted_for_the_one_before() -> None:
    fake = cluster()
    fake.pod("a")
    drainer = Drainer(fake.client, fake.clock)
    (one,) = await drainer.busy(await node_of(fake), Rules())
    fake.pods["a"]["metadata"]["uid"] = "u-new"
    await drainer._evicted(await node_of(fake), one.pod, Rules())
    assert "deletionTimestamp" not in fake.pods["a"]["metadata"]


async def test_a_pod_that_is_waited_for_is_never_evicted() -> None:
    fake = cluster()
    fake.pod("a", owner="")
    drained = await drain(fake, Rules(unmanaged=Choice.WAIT))
    assert drained.text == "1 Pod is still there: ns/a (nothing would start it anew)"
    assert fake.evicted == []


async def test_many_pods_are_evicted_a_few_at_a_time_and_the_first_ones_named() -> None:
    fake = cluster(grace=None)
    for number in range(30):
        fake.pod(f"p{number:02}")
    drained = await drain(fake)
    assert len(fake.evicted) == 30
    assert drained.text.startswith("30 Pods are still there: ns/p00 (it is ending), ")
    assert drained.text.endswith(" and 27 more")


async def test_a_pass_is_bounded() -> None:
    fake = cluster(grace=None)
    fake.pod("a")
    assert not (await drain(fake)).free
    assert 15 < asyncio.get_running_loop().time() <= 21


async def test_what_may_not_be_read_is_an_error_with_its_rule() -> None:
    fake = cluster()
    fake.forbidden = frozenset({("GET", "pods")})
    with pytest.raises(Forbidden, match=r'resources: \["pods"\]'):
        await drain(fake)


async def test_a_node_is_removed_by_its_uid_and_may_be_gone() -> None:
    fake = cluster()
    node = await node_of(fake)
    await remove(fake.client, node)
    await remove(fake.client, node)
    assert fake.nodes == {}
    assert fake.deletions[0]["preconditions"] == {"uid": "u-n", "resourceVersion": "1"}
