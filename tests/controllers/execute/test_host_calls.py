"""Keeping hosts and ordering them: what stops a call, and what its answer leads to."""

import asyncio
from datetime import timedelta

import pytest
from hosts_kit import OWNER_TAG, WIPE, Boxes, Site, ordered, unguarded
from msgspec.structs import replace

from hostler.controllers.runtime.rate_limit import Priority
from hostler.domain.ids import FleetName, HostId, machine_id
from hostler.domain.model.calls import Call, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import CallState
from hostler.domain.model.phases import Phase
from hostler.testing.scenes.builders import BEGIN, HOME, WEB
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    MINE,
    box,
    inventory,
    on_host,
    record,
)

pytestmark = pytest.mark.looptime

ONCE = replace(OWNER_TAG, effect=Effect.CHANGE, once=True)
WIPES = record(condition=HostCondition.DIRTY, goal=HostGoal.CLEAN, name=box("wiping").name)


async def test_calls_are_made_one_after_the_other_while_their_answers_are_definite() -> None:
    site = await Site.opened(WIPES)
    site.provider.calls = (OWNER_TAG, WIPE)
    assert await site.reconcile()
    assert site.made() == ["mark", "wipe"]
    assert not site.state.host_records.moving


@pytest.mark.parametrize(
    "answer", [Refused(why=Refusal.BUSY, text="not now"), Unknown(text="nothing came")]
)
async def test_nothing_more_is_asked_of_a_host_after_an_answer_that_is_none(
    answer: Outcome,
) -> None:
    site = await Site.opened(WIPES)
    site.provider.calls, site.provider.answer = (OWNER_TAG, WIPE), answer
    await site.reconcile()
    assert site.made() == ["mark"]
    assert site.host().error.startswith("mark: not")


async def test_answer_to_a_once_call_is_saved_before_the_next_call_is_sent() -> None:
    """The next call may hang: what is known by then must not be lost with it."""
    site = await Site.opened(WIPES)
    seen = list[CallState | None]()

    class Sees(Boxes):
        async def do(self, call: Call) -> Outcome:
            (host,) = await site.rig.store.hosts()
            asked = host.last_call(ONCE)
            seen.append(asked.call_state if asked else None)
            return await super().do(call)

    site.provider = Sees(site.rig.world, HOME, CAPABILITIES)
    site.provider.calls = (ONCE, replace(WIPE, effect=Effect.CHANGE))
    site.state.account = replace(site.state.account, provider=site.provider)
    site.state.keeps = site.provider
    await site.reconcile()
    assert site.made() == ["mark", "wipe"]
    assert seen == [CallState.OPEN, CallState.DONE]


async def test_records_are_read_again_where_a_host_could_not_be_saved() -> None:
    site = await Site.opened(WIPES)
    newer = site.host().with_health(strikes=1)
    await site.rig.store.save_host(newer, (), site.tenure().fence)
    await site.reconcile()
    assert not site.state.host_records.known
    assert site.made() == [], "its record says nothing of it yet"
    await site.reconcile()
    assert (site.state.host_records.known, site.host().health.strikes, site.made()) == (
        True,
        1,
        ["mark"],
    )


async def test_nothing_is_asked_of_a_host_that_a_machine_took_meanwhile() -> None:
    site = await Site.opened(WIPES)
    await site.reconcile(lambda: site.state.host_records.bindings.update({BOX: MINE}))
    assert site.made() == []


async def test_too_many_calls_for_the_provider_is_a_pause_for_all_others() -> None:
    site = await Site.opened(WIPES)
    long = timedelta(seconds=40)
    site.provider.answer = Refused(why=Refusal.RATE, text="slow down", after=long)
    await site.reconcile()
    begun = site.rig.clock.now()
    await site.budget.take(Priority.CLEAN)
    assert site.rig.clock.now() - begun >= long - timedelta(seconds=1)


async def test_a_call_that_the_gate_refuses_is_not_sent_and_told() -> None:
    site = await Site.opened(WIPES, box("foreign"))
    site.state.inventory = inventory([box("wiping")], site.rig.clock.now() - timedelta(hours=1))
    async with asyncio.TaskGroup() as group:
        await site.reconciler().reconcile(await site.occasion(), group, unguarded)
    assert site.made() == []
    assert "gate: G2" in site.host().error


@pytest.mark.parametrize(
    ("stage", "host", "sent"),
    [
        ("other", replace(WIPES, goal=HostGoal.POOLED), True),
        ("foreign", replace(WIPES, goal=HostGoal.POOLED), False),
        ("foreign", WIPES.with_ownership(adopted=True), True),
        ("wiping", WIPES, True),
    ],
)
async def test_only_hosts_of_ours_and_those_that_somebody_named_are_changed(
    stage: str, host: Host, *, sent: bool
) -> None:
    site = await Site.opened(host, box(stage))
    await site.reconcile()
    assert (site.made() == ["mark"]) is sent


async def test_a_host_whose_call_is_in_flight_is_left_to_it() -> None:
    site = await Site.opened(WIPES)
    site.state.host_records.moving.add(BOX)
    assert await site.reconcile(), "it is on its way"
    assert site.made() == []


@pytest.mark.parametrize(
    ("stage", "host", "busy"),
    [
        ("wiping", WIPES, True),
        ("ordered", record(condition=HostCondition.COMING), True),
        ("other", record(condition=HostCondition.FREE), True),  # it is dirty from now on
        ("other", record(condition=HostCondition.DIRTY), False),
    ],
)
async def test_hosts_on_their_way_ask_for_quick_observations(
    stage: str, host: Host, *, busy: bool
) -> None:
    site = await Site.opened(host, box(stage))
    site.provider.calls = ()
    assert await site.reconcile() is busy


# ---------------------------------------------------------------- orders


async def test_an_order_that_is_sent_stays_on_the_row() -> None:
    site = await Site.opened()
    row = await ordered(site)
    assert site.made() == ["order"]
    assert (len(row.orders), row.setbacks) == (2, ())


async def test_an_order_that_the_gate_refuses_is_not_sent_and_taken_off_the_row_alone() -> None:
    site = await Site.opened()
    row = await ordered(site, "the account shows none of our hosts")
    assert site.made() == []
    assert [order.id for order in row.orders] == [machine_id(8)]
    assert [setback.why for setback in row.setbacks] == ["the account shows none of our hosts"]


@pytest.mark.parametrize(
    ("why", "reason"), [(Refusal.QUOTA, "quota"), (Refusal.STOCK, "out_of_stock")]
)
async def test_an_order_that_was_refused_says_why_and_is_left_alone_for_a_while(
    why: Refusal, reason: str
) -> None:
    site = await Site.opened()
    site.provider.answer = Refused(why=why, text="no")
    row = await ordered(site)
    assert [order.id for order in row.orders] == [machine_id(8)]
    assert [setback.why for setback in row.setbacks] == ["no"]
    (event,) = [k.event for k in await site.rig.store.events() if k.event.kind == "order_refused"]
    assert event.reason == reason


@pytest.mark.parametrize("fleet", [WEB, FleetName("rack")])
async def test_binding_of_a_deleted_machine_is_removed_only_where_its_fleet_is(
    fleet: FleetName,
) -> None:
    """Another account's host was unbound before that account had noted what becomes of it.

    What its machine asked for went with it: that the host is retired, or set aside.
    """
    site, away = await Site.opened(), HostId("host-9")
    store, fence = site.rig.store, site.tenure().fence
    machine = on_host(fleet=fleet, host=away)
    row = await store.add_fleet(FleetRow(name=fleet, created=BEGIN))
    await store.save_fleet(row, (machine,), (), fence)
    await store.bind(away, machine.id, fence)
    await store.save_machine(replace(machine, phase=Phase.DELETED), (), fence)
    site.state.host_records.distrust()
    await site.reconcile()
    left = () if fleet == WEB else ((away, machine.id),)
    assert await store.bindings() == left
