"""The gate on the path of hosts: each check stands alone between a decided call and harm."""

import asyncio

import pytest
from gate_host_scenes import A_DAY, SCENES, STAGES, long_wait
from gate_kit import without
from hosts_kit import Site, ordered, unguarded

from hostler.domain.policy.gate import Act
from hostler.testing.time.clock import BEGINNING

pytestmark = pytest.mark.looptime

CASES = [(name, stage) for name, scene in SCENES.items() for stage in scene.stages]


async def spoiled(name: str, stage: str) -> Site:
    """Decide on a call, let the scene's one thing go wrong, and see the call through."""
    scene = SCENES[name]
    paid_until = BEGINNING + A_DAY if scene.paid else None
    site = await STAGES[stage].opened(paid_until)
    await site.reconcile(lambda: scene.spoil(site))
    return site


@pytest.mark.parametrize("stage", STAGES)
async def test_a_wipe_and_an_end_are_sent_where_nothing_is_wrong(stage: str) -> None:
    site = await STAGES[stage].opened()
    await site.reconcile()
    assert site.made() == [stage]
    assert not site.rig.metrics.refusals


@pytest.mark.parametrize(("name", "stage"), CASES)
async def test_check_alone_refuses_what_was_decided_for_a_host(name: str, stage: str) -> None:
    site, check = await spoiled(name, stage), SCENES[name].check
    assert site.made() == []
    assert set(site.rig.metrics.refusals) == {check}
    assert [entry.event.reason for entry in await site.rig.events("barred")] == [check]


@pytest.mark.parametrize(("name", "stage"), CASES)
async def test_it_is_sent_where_that_one_check_is_missing(
    name: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without((SCENES[name].check, Act.DELETE), monkeypatch)
    site = await spoiled(name, stage)
    assert site.made() == [stage]
    assert not site.rig.metrics.refusals


@pytest.mark.parametrize("stage", STAGES)
async def test_nothing_is_sent_by_the_right_of_a_lease_that_was_lost_and_taken_again(
    stage: str,
) -> None:
    """A call that waits for the rate may wait longer than that; another engine acted meanwhile."""
    site = await STAGES[stage].opened()
    async with asyncio.TaskGroup() as group:
        await site.reconciler().reconcile(await site.occasion(), group, unguarded)
        await site.leases.give_back("account/main")
        await site.leases.keep(("account/main",))
    assert site.tenure().epoch == 2
    assert site.made() == []
    assert set(site.rig.metrics.refusals) == {"G6"}


# ---------------------------------------------------------------- orders of hosts


async def order_spoiled(check: str) -> Site:
    """Send an order for which the lease ends too soon, or that the world forbids by now."""
    site = await Site.opened()
    if check == "G6":
        long_wait(site)
    await ordered(site, "the account shows none of our hosts" if check == "G8" else "")
    return site


@pytest.mark.parametrize("check", ["G6", "G8"])
async def test_check_alone_refuses_an_order(check: str) -> None:
    site = await order_spoiled(check)
    assert site.made() == []
    assert set(site.rig.metrics.refusals) == {check}


@pytest.mark.parametrize("check", ["G6", "G8"])
async def test_an_order_is_sent_where_that_one_check_is_missing(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without((check, Act.CREATE), monkeypatch)
    site = await order_spoiled(check)
    assert site.made() == ["order"]
    assert not site.rig.metrics.refusals
