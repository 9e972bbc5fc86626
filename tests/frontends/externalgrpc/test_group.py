"""A node group: what it says that it has, and what becomes of what is asked of it."""

import asyncio
from datetime import timedelta

import pytest
from group_kit import Cluster, node, offer
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from msgspec.structs import replace

from hostler.config.node_tables import NodeTable
from hostler.domain.errors import StoreError
from hostler.domain.model.fleet import Setback
from hostler.domain.model.machine import Deletion, Protection
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.frontends.externalgrpc.calls import State
from hostler.frontends.externalgrpc.members import ROOM, STALE, Gathering, own_id
from hostler.testing.scenes.builders import BEGIN, OFFER

MIN = timedelta(minutes=1)


async def refused(status: Status, work: object) -> str:
    with pytest.raises(GRPCError) as caught:
        await work  # pyright: ignore[reportGeneralTypeIssues] - an awaitable of the test
    assert caught.value.status is status
    return caught.value.message or ""


# ---------------------------------------------------------------- growing


async def test_an_increase_is_in_the_target_at_once_and_only_once() -> None:
    cluster = Cluster()
    await cluster.group.increase(3)
    assert (cluster.target, cluster.heard) == (3, 1)
    assert cluster.states() == ["CREATING"] * 3
    await cluster.take_requests()
    assert cluster.target == 3
    assert len(cluster.live.listed) == 3


async def test_an_increase_beyond_the_maximum_asks_for_nothing() -> None:
    cluster = Cluster(maximum=4)
    await cluster.group.increase(3)
    text = await refused(Status.INVALID_ARGUMENT, cluster.group.increase(2))
    assert text == "web has at most 4 nodes, and 3 by now"
    assert cluster.target == 3
    assert len(await cluster.store.requests()) == 1


@pytest.mark.parametrize(
    ("hosts", "minimum", "most"),
    [(None, 0, 10), (12, 0, 10), (10, 0, 10), (3, 0, 3), (0, 0, 0), (1, 2, 2)],
)
def test_a_group_has_no_more_nodes_than_its_hosts_can_bear(
    hosts: int | None, minimum: int, most: int
) -> None:
    cluster = Cluster(NodeTable(minimum=minimum))
    cluster.live.hosts = hosts
    assert cluster.group.maximum == most


async def test_an_increase_beyond_the_hosts_that_nobody_holds_says_so() -> None:
    cluster = Cluster()
    await cluster.group.increase(2)
    cluster.live.hosts = 2
    cluster.refresh()
    text = await refused(Status.INVALID_ARGUMENT, cluster.group.increase(1))
    assert text == "web has at most 2 nodes on the hosts that it may have now, and 2 by now"


async def test_an_increase_by_several_is_granted_once_the_offer_that_failed_may_be_tried() -> None:
    """Cluster Autoscaler asks for as many as the pods need, and never for one to try."""
    cluster = Cluster()
    setback = Setback(offer=OFFER, why="overdue", until=BEGIN + MIN)
    cluster.live.fleet_row = cluster.live.fleet_row.with_setback(setback)
    text = await refused(Status.RESOURCE_EXHAUSTED, cluster.group.increase(2))
    assert "every offer failed lately" in text
    cluster.clock.at = BEGIN + MIN
    await cluster.group.increase(2)
    assert cluster.target == 2


@pytest.mark.parametrize("delta", [0, -1, -(1 << 31)])
async def test_an_increase_by_nothing_is_refused(delta: int) -> None:
    cluster = Cluster()
    await refused(Status.INVALID_ARGUMENT, cluster.group.increase(delta))
    assert cluster.target == 0


async def test_two_increases_at_the_same_time_share_the_room() -> None:
    cluster = Cluster(maximum=4)
    answers = await asyncio.gather(
        cluster.group.increase(3), cluster.group.increase(3), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [type(None), GRPCError]
    assert cluster.target == 3


async def test_an_increase_that_cannot_be_made_whole_is_made_not_at_all() -> None:
    cluster = Cluster()
    cluster.live.blocker = "another installation has this fleet's name"
    text = await refused(Status.RESOURCE_EXHAUSTED, cluster.group.increase(2))
    assert "another installation has this fleet's name" in text
    assert cluster.target == 0
    assert await cluster.store.requests() == ()


async def test_an_increase_that_is_not_recorded_counts_for_nothing() -> None:
    cluster = Cluster()
    break_store(cluster)
    await refused(Status.UNAVAILABLE, cluster.group.increase(2))
    assert cluster.target == 0


async def test_an_increase_whose_caller_goes_away_does_not_count_for_ever() -> None:
    cluster = Cluster()

    async def waits(requests: tuple[Request, ...]) -> tuple[Request, ...]:
        await asyncio.sleep(3600)
        return requests

    cluster.store.request_all = waits
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(cluster.group.increase(2))
        await asyncio.sleep(0)
        assert cluster.target == 2
        asking.cancel()
    assert cluster.target == 0


def break_store(cluster: Cluster) -> None:
    async def fails(requests: tuple[Request, ...]) -> tuple[Request, ...]:
        del requests
        raise StoreError("the disk is full")

    cluster.store.request_all = fails


# ---------------------------------------------------------------- shrinking


async def test_a_deletion_is_out_of_the_target_at_once() -> None:
    cluster = Cluster()
    one, two, _ = await cluster.with_ready(3)
    await cluster.group.delete([cluster.node(one), cluster.node(two)])
    assert cluster.target == 1
    assert cluster.states() == ["DELETING", "DELETING", "RUNNING"]
    await cluster.take_requests()
    assert cluster.target == 1
    cluster.go(one)
    assert cluster.states() == ["DELETING", "RUNNING"]


async def test_one_node_that_is_not_ours_keeps_all_of_them() -> None:
    cluster = Cluster()
    (one, _) = await cluster.with_ready(2)
    nodes = [cluster.node(one), node("test://stranger")]
    text = await refused(Status.NOT_FOUND, cluster.group.delete(nodes))
    assert "no node of web: 'test://stranger'" in text
    assert cluster.target == 2
    assert len(await cluster.store.requests()) == 1, "the increase alone"


async def test_a_deletion_twice_is_one() -> None:
    cluster = Cluster()
    (one,) = await cluster.with_ready(1)
    real, fake = cluster.node(one), node(own_id("web", one), fake=True)
    await cluster.group.delete([real, real])
    await cluster.group.delete([real])
    await cluster.take_requests()
    await cluster.group.delete([real])
    cluster.go(one)
    await cluster.group.delete([fake])
    assert cluster.target == 0
    assert cluster.done == 2


@pytest.mark.parametrize("minimum", [0, 2])
async def test_a_node_whose_machine_failed_is_deleted_though_it_is_out_of_the_target(
    minimum: int,
) -> None:
    """Seed 236000348 of Cluster Autoscaler: it recovered, and ran on as if nobody had asked."""
    cluster = Cluster(NodeTable(minimum=minimum))
    one, _ = await cluster.with_ready(2)
    cluster.change(one, phase=Phase.FAILED)
    assert cluster.target == 1
    await cluster.group.delete([cluster.node(one)])
    await cluster.group.delete([cluster.node(one)])
    wanted = [r for r in await cluster.store.requests() if r.kind is RequestKind.DELETE]
    assert [request.machine for request in wanted] == [one]
    assert cluster.target == 1


async def test_the_minimum_is_left() -> None:
    cluster = Cluster(NodeTable(minimum=2))
    one, two, three = await cluster.with_ready(3)
    nodes = [cluster.node(one), cluster.node(two)]
    text = await refused(Status.FAILED_PRECONDITION, cluster.group.delete(nodes))
    assert text == "web keeps 2 nodes at least, and would have 1"
    await cluster.group.delete([cluster.node(three)])
    assert cluster.target == 2


async def test_what_somebody_protects_is_not_deleted_nor_is_anything_beside_it() -> None:
    cluster = Cluster()
    one, two = await cluster.with_ready(2)
    held = Protection(until=BEGIN + MIN, why="I look at it", actor="eve")
    cluster.change(one, protection=held)
    nodes = [cluster.node(two), cluster.node(one)]
    text = await refused(Status.FAILED_PRECONDITION, cluster.group.delete(nodes))
    assert f"somebody protects {one}" in text
    assert cluster.target == 2


async def test_what_is_protected_beside_the_nodes_of_a_call_is_in_nobodys_way() -> None:
    cluster = Cluster()
    one, two = await cluster.with_ready(2)
    cluster.change(one, protection=Protection(until=BEGIN + MIN, why="mine", actor="eve"))
    await cluster.group.delete([cluster.node(two)])
    assert cluster.target == 1


async def test_a_deletion_that_somebody_else_asked_for_is_out_of_the_target() -> None:
    cluster = Cluster()
    one, _ = await cluster.with_ready(2)
    assert cluster.target == 2
    cluster.change(one, deletion=Deletion(at=BEGIN, actor="eve", why="broken"))
    assert cluster.target == 1
    assert cluster.states() == ["DELETING", "RUNNING"]


async def test_a_deletion_that_no_engine_took_before_a_restart_stays_out_of_the_target() -> None:
    """It was in the target again, and its node in the group, until the next engine had decided."""
    cluster = Cluster()
    one, two = await cluster.with_ready(2)
    await cluster.group.delete([cluster.node(one)])
    cluster.group = await cluster.reopened()
    assert cluster.target == 1
    assert cluster.states() == ["DELETING", "RUNNING"]
    assert not cluster.group.has(cluster.node(one))
    assert cluster.group.has(cluster.node(two))


async def test_what_was_given_up_before_it_was_on_record_stays_so_over_a_restart() -> None:
    cluster = Cluster()
    await cluster.group.increase(2)
    await cluster.group.decrease(-1)
    cluster.group = await cluster.reopened()
    assert cluster.target == 1


async def test_a_deletion_that_is_not_recorded_leaves_the_target() -> None:
    cluster = Cluster()
    (one,) = await cluster.with_ready(1)
    break_store(cluster)
    await refused(Status.UNAVAILABLE, cluster.group.delete([cluster.node(one)]))
    assert cluster.target == 1


async def test_a_decrease_gives_up_the_newest_that_have_not_come() -> None:
    cluster = Cluster()
    ready = await cluster.with_ready(2)
    await cluster.group.increase(2)
    await cluster.take_requests()
    older, newer = [*cluster.live.listed][-2:]
    cluster.begin(older)
    await cluster.group.decrease(-1)
    assert {m.machine for m in cluster.group.members().all if m.counts} == {*ready, older}
    await cluster.take_requests()
    assert cluster.live.listed[newer].deletion is not None


async def test_what_is_only_requested_is_newer_than_all_that_is_recorded() -> None:
    cluster = Cluster()
    await cluster.group.increase(2)
    await cluster.take_requests()
    recorded = {*cluster.live.listed}
    await cluster.group.increase(1)
    await cluster.group.decrease(-1)
    assert {one.machine for one in cluster.group.members().all if one.counts} == recorded


async def test_a_decrease_never_gives_up_what_has_come() -> None:
    cluster = Cluster()
    (was_up, *_) = await cluster.with_ready(2)
    cluster.change(was_up, phase=Phase.STARTING)
    await cluster.group.increase(1)
    await cluster.group.decrease(-3)
    assert cluster.target == 2
    assert cluster.states() == ["CREATING", "DELETING", "RUNNING"]


async def test_a_decrease_leaves_what_somebody_protects() -> None:
    """It would be told as one that is being deleted, and stay for as long as it is protected."""
    cluster = Cluster()
    await cluster.group.increase(2)
    await cluster.take_requests()
    older, newer = cluster.live.listed
    held = Protection(until=BEGIN + MIN, why="I look at it", actor="eve")
    cluster.change(newer, protection=held)
    await cluster.group.decrease(-1)
    await cluster.take_requests()
    assert cluster.live.listed[older].deletion is not None
    assert cluster.live.listed[newer].deletion is None
    await cluster.group.decrease(-1)
    assert cluster.target == 1


@pytest.mark.parametrize("delta", [0, 1])
async def test_a_decrease_by_nothing_is_refused(delta: int) -> None:
    await refused(Status.INVALID_ARGUMENT, Cluster().group.decrease(delta))


# ---------------------------------------------------------------- whose node


async def test_a_node_is_found_by_its_provider_id_and_by_its_name_without_one() -> None:
    cluster = Cluster()
    (one,) = await cluster.with_ready(1)
    assert cluster.group.has(node("test://box-1"))
    assert cluster.group.has(node(name="box-1"))
    assert not cluster.group.has(node("test://stranger", name="box-1")), "it is another's"
    assert not cluster.group.has(node())
    assert cluster.group.has(node(own_id("web", one)))


async def test_the_node_of_a_machine_that_boots_is_not_counted_until_it_is_up() -> None:
    cluster = Cluster()
    await cluster.group.increase(1)
    await cluster.take_requests()
    (one,) = cluster.live.listed
    cluster.begin(one)
    assert not cluster.group.has(cluster.node(one)), "it was left by the machine before"
    assert cluster.group.has(replace(cluster.node(one), fake=True))
    cluster.come(one)
    assert cluster.group.has(cluster.node(one))
    cluster.change(one, phase=Phase.STARTING)
    assert not cluster.group.has(cluster.node(one)), "it came back from standby"


async def test_the_node_of_a_machine_that_is_lost_or_ends_is_not_counted_any_more() -> None:
    """It is in no target: counted, it would stand in for one that is on its way."""
    cluster = Cluster()
    one, two, three = await cluster.with_ready(3)
    cluster.change(one, phase=Phase.FAILED)
    cluster.change(two, deletion=Deletion(at=BEGIN, actor="eve", why="broken"))
    counted = [cluster.group.has(cluster.node(name)) for name in (one, two, three)]
    assert counted == [False, False, True]
    assert cluster.target == 1
    assert cluster.group.has(replace(cluster.node(one), fake=True))


async def test_a_made_up_node_has_its_group_even_where_the_machine_is_gone() -> None:
    cluster = Cluster()
    (one,) = await cluster.with_ready(1)
    cluster.go(one)
    made_up = node(own_id("web", one), fake=True)
    assert cluster.group.has(made_up)
    assert not cluster.group.has(replace(made_up, fake=False))
    assert not cluster.group.has(node(own_id("other", one), fake=True))
    assert not cluster.group.has(node("hostler:///web/rm -rf", fake=True))


async def test_a_provider_id_of_the_file_takes_the_place_of_the_providers() -> None:
    cluster = Cluster(NodeTable(provider_id="k3s://{host}"))
    (one,) = await cluster.with_ready(1)
    assert [instance.id for instance in cluster.group.instances()] == ["k3s://box-1"]
    assert cluster.group.has(node("k3s://box-1"))
    cluster.change(one, host=None)
    assert [instance.id for instance in cluster.group.instances()] == [own_id("web", one)]


# ---------------------------------------------------------------- what instances there are


async def test_instances_stand_as_their_machines_do() -> None:
    cluster = Cluster()
    one, two, three, four, _ = await cluster.with_ready(5)
    cluster.change(one, phase=Phase.DRAINING)
    cluster.change(two, phase=Phase.STANDBY)
    cluster.change(three, phase=Phase.FAILED)
    cluster.change(four, phase=Phase.STARTING)
    states = {i.id: i.state for i in cluster.group.instances()}
    assert states == {
        "test://box-1": State.DELETING,
        "test://box-3": State.DELETING,
        "test://box-4": State.CREATING,
        "test://box-5": State.RUNNING,
    }
    assert cluster.target == 2


async def test_a_start_that_is_tried_again_still_counts() -> None:
    cluster = Cluster()
    await cluster.group.increase(1)
    await cluster.take_requests()
    (one,) = cluster.live.listed
    cluster.begin(one)
    cluster.change(one, phase=Phase.STOPPING)
    assert (cluster.target, cluster.states()) == (1, ["CREATING"])


@pytest.mark.parametrize(("stock", "kind"), [(True, 1), (False, 99)])
async def test_where_no_machine_can_begin_its_instance_says_why(stock: bool, kind: int) -> None:
    cluster = Cluster()
    await cluster.group.increase(1)
    await cluster.take_requests()
    cluster.live.set_back(Setback(offer=OFFER, why="sold out", until=BEGIN + MIN, stock=stock))
    cluster.refresh()
    (instance,) = cluster.group.instances()
    assert instance.trouble is not None
    assert (instance.trouble.kind, "sold out" in instance.trouble.text) == (kind, True)
    assert instance.trouble.code == ("OUT_OF_STOCK" if stock else "CANNOT_START")
    (one,) = cluster.live.listed
    cluster.begin(one)
    assert [instance.trouble for instance in cluster.group.instances()] == [None], "it began"
    cluster.change(one, phase=Phase.PENDING)
    cluster.clock.at = BEGIN + MIN
    cluster.refresh()
    (instance,) = cluster.group.instances()
    assert instance.trouble is None


async def test_one_offer_that_may_be_tried_is_no_trouble_and_one_without_stock_is_not_all() -> None:
    cluster = Cluster()
    cluster.fleet = replace(cluster.fleet, offers=(OFFER, offer("large")))
    cluster.group.machines.fleet = cluster.fleet
    await cluster.group.increase(1)
    await cluster.take_requests()
    sold_out = Setback(offer=OFFER, why="sold out", until=BEGIN + MIN, stock=True)
    cluster.live.set_back(sold_out)
    assert [instance.trouble for instance in cluster.group.instances()] == [None]
    cluster.live.set_back(Setback(offer=offer("large"), why="failed", until=BEGIN + MIN))
    cluster.refresh()
    (instance,) = cluster.group.instances()
    assert instance.trouble is not None
    assert instance.trouble.kind == 99


async def test_members_are_gathered_again_after_a_moment() -> None:
    cluster, now = Cluster(), [0.0]
    gathering = Gathering(cluster.group.machines, cluster.live, NodeTable(), lambda: now[0])
    assert gathering.members().target == 0
    await cluster.group.increase(1)
    now[0] = STALE - 0.01
    assert gathering.members().target == 0
    now[0] = STALE
    assert gathering.members().target == 1


async def test_how_many_hosts_there_are_is_counted_again_after_a_while() -> None:
    cluster, now = Cluster(), [0.0]
    gathering = Gathering(cluster.group.machines, cluster.live, NodeTable(), lambda: now[0])
    cluster.live.hosts = 3
    assert gathering.room() == 3
    cluster.live.hosts, now[0] = 2, ROOM - 0.01
    assert gathering.room() == 3
    now[0] = ROOM
    assert gathering.room() == 2


async def test_a_price_is_the_files_or_the_dearest_that_is_known() -> None:
    cluster = Cluster()
    assert cluster.group.price() is None
    for name, price in zip(await cluster.with_ready(2), (0.25, 0.125), strict=True):
        cluster.live.listed[name] = cluster.live.listed[name].with_billing(price=price)
    cluster.refresh()
    assert cluster.group.price() == 0.25
    cluster.group.node = NodeTable(price=0.0)
    assert cluster.group.price() == 0.0
