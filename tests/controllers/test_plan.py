"""Plan: the very calls that apply makes, by the code that acts; looking changes nothing."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.expected_calls import SEE, MachineSteps, expected_calls
from hostler.controllers.plan import (
    Plan,
    observe_fleet,
    plan,
    planned_hosts,
    planned_later,
    planned_machines,
)
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.decide import decide, verdict_of
from hostler.domain.ids import AccountName, HostId, MachineId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.commands import Advance, Decision, Next, SaveFleet, Verdict
from hostler.domain.model.host import HOST, Free, Host, HostCondition, HostGoal, HostPower
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.ready import Ready
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.store import Fence
from hostler.testing.fakes.metal import metal
from hostler.testing.fakes.metal_planner import MetalPlanner
from hostler.testing.fakes.planner import (
    MAKE_ADDRESS,
    MAKE_SERVER,
    POWER_ON,
    REMOVE_ADDRESS,
    TERMINATE,
)
from hostler.testing.scenes.builders import BEGIN, FLEET, MIN, OFFER, S
from hostler.testing.scenes.hosts import (
    BOX,
    MINE,
    box,
    fleet_snapshot,
    hosts_snapshot,
    on_host,
    record,
    tenant,
)

pytestmark = pytest.mark.looptime


def context(rig: FakeScene) -> tuple[Ports, Account]:
    ports = Ports(
        store=rig.store,
        clock=rig.clock,
        prober=rig.prober,
        metrics=rig.metrics,
        fresh=rig.fresh,
    )
    return ports, Account(name=AccountName("main"), provider=rig.provider, fleets=(rig.fleet,))


async def planned(rig: FakeScene) -> Plan:
    ports, account = context(rig)
    return await plan(ports, account, rig.fleet, Settings())


def kinds(found: Plan) -> list[str]:
    return [call.kind for machine in found.machines for call in machine.calls]


async def test_plan_of_a_new_fleet_names_the_calls_that_are_made() -> None:
    rig = FakeScene(replace(FLEET, size=2))
    found = await planned(rig)
    assert kinds(found) == [MAKE_ADDRESS, MAKE_SERVER, POWER_ON] * 2
    assert [machine.subject for machine in found.machines] == [None, None]
    created = found.machines[0].calls[1]
    assert created.arg("addresses") == ("<address 0>",)
    assert found.machines[0].calls[2].target == "<server>"
    assert rig.calls() == []
    assert await rig.machines() == ()
    async with rig.running():
        await rig.until([Phase.READY] * 2, 60 * S)
    assert sorted(rig.calls()) == sorted(kinds(found))


async def test_plan_at_rest_is_empty() -> None:
    rig = FakeScene(replace(FLEET, size=2))
    async with rig.running():
        await rig.until([Phase.READY] * 2, 60 * S)
        await rig.pass_by(1 * MIN)
    found = await planned(rig)
    assert found.machines == ()
    assert found.decision.commands == ()


async def test_plan_of_an_end_names_the_removal_and_writes_nothing() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    async with rig.running():
        await rig.until([Phase.READY], 60 * S)
    entry = (await rig.machines())[0]
    await rig.request(RequestKind.DELETE, machine=entry.id)
    events = len(await rig.store.events())
    found = await planned(rig)
    assert kinds(found) == [MAKE_ADDRESS, MAKE_SERVER, POWER_ON], "its replacement"
    (drains,) = (m for m in found.machines if m.stands == "draining")
    assert drains.calls == (), "the next turn makes them, once nothing runs on it"
    start, _, then = drains.ready.waits.partition("; then ")
    assert start == "nothing to run on it any more"
    assert [words.split()[0] for words in then.split(", ")] == [TERMINATE, REMOVE_ADDRESS]
    assert len(await rig.store.events()) == events
    assert len(await rig.store.requests()) == 1


async def test_plan_of_a_stopping_machine_goes_to_its_end() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    rig.world.pace = replace(rig.world.pace, removal=5 * MIN)
    async with rig.running():
        await rig.until([Phase.READY], 60 * S)
        await rig.pass_by(2 * MIN)
    stored = (await rig.machines())[0]
    lease = next(lease for lease in await rig.store.leases() if lease.name == "fleet/web")
    await rig.store.save_machine(
        replace(stored.with_health(was_ready=None), phase=Phase.STOPPING),
        (),
        Fence(lease=lease.name, epoch=lease.epoch),
    )
    for resource in list(rig.world.resources.values()):
        rig.world.resources[resource.id] = replace(resource, owner=None)
    found = await planned(rig)
    mine = next(machine for machine in found.machines if machine.subject == stored.id)
    assert [call.kind for call in mine.calls] == [REMOVE_ADDRESS, TERMINATE]


async def test_explanation_says_what_happens_next_and_it_does() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    async with rig.running():
        await rig.until([Phase.READY], 60 * S)
        await rig.pass_by(2 * MIN)
    rig.world.become(rig.world.servers()[0].id, Condition.OFF)
    ports, account = context(rig)
    snapshot = await observe_fleet(ports, account, rig.fleet, Settings())
    explained = verdict_of(snapshot.machines[0], snapshot, rig.provider)
    assert explained is not None
    assert explained.verdict.next.kind == "observe"
    assert "stopped" in explained.verdict.next.detail
    assert explained.verdict.next.at is not None
    async with rig.running():
        observations = len(rig.provider.observations)
        await rig.pass_by(30 * S)
        assert len(rig.provider.observations) > observations
        events = await rig.store.events(machine=snapshot.machines[0].id)
    reasons = [entry.event.reason for entry in events if entry.event.kind == "moved"]
    assert "stopped" in reasons


class Naming:
    """Ways of a host that is marked first, and wiped as soon as it is ready."""

    def next_calls(
        self,
        goal: Goal,
        machine: Machine,
        resources: tuple[Resource, ...],
        now: datetime,  # noqa: ARG002 - nothing here waits for a time
    ) -> tuple[Call, ...]:
        assert goal is Goal.ABSENT
        if not resources:
            return ()
        resource = resources[0]
        owner_tag = Call(
            kind="mark",
            slot=resource.slot,
            zone=resource.zone,
            effect=Effect.DESTROY,
            target=resource.id,
            once=True,
            shows=Shows.OWNER_TAG,
            aim=Stage.RELEASING,
            args=(("machine", machine.id),),
        )
        if resource.host.stage != Stage.RELEASING:
            return (owner_tag,)
        wipe = replace(owner_tag, kind="wipe", shows=Shows.WIPE)
        return (wipe,) if resource.status == "up" else ()


@pytest.mark.parametrize(
    ("condition", "kinds", "waits"),
    [
        (Condition.UP, ["mark", "wipe"], ""),
        (Condition.BUSY, ["mark"], SEE),
        (Condition.UNKNOWN, ["mark"], SEE),
    ],
)
def test_plan_of_a_host_whose_status_may_change_waits_for_the_answer(
    condition: Condition, kinds: list[str], waits: str
) -> None:
    """The answer to its mark may show it ready: then it is wiped in the same step."""
    machine, resource = on_host(Phase.STOPPING), tenant("claimed", condition)
    snapshot = fleet_snapshot((machine,), (resource, box("claimed", condition)))
    steps = MachineSteps(Goal.ABSENT, snapshot, Naming())
    ready = expected_calls(machine, (resource,), steps)
    assert ([call.kind for call in ready.calls], ready.waits) == (kinds, waits)


def test_plan_of_a_host_in_quarantine_says_until_when_and_why() -> None:
    until = BEGIN + timedelta(days=1)
    why = "its wipe ended in error: strike 4"
    host = record(goal=HostGoal.CLEAN, quarantined_until=until, strikes=4, reason=why)
    host = replace(host, condition=HostCondition.QUARANTINED)
    (found,) = planned_hosts(hosts_snapshot(host, box("quarantined")), Still())
    waits = f"the end of its quarantine ({why}), to be wiped again"
    assert found.next == Next(kind="wait", detail=waits, at=until)


def test_plan_of_a_host_that_is_tried_again_says_when() -> None:
    retry_at = BEGIN + timedelta(minutes=4)
    tried = {"retry_since": BEGIN, "retry_at": retry_at}
    host = record(goal=HostGoal.CLEAN, condition=HostCondition.DIRTY, **tried)
    (found,) = planned_hosts(hosts_snapshot(host, box("wiping")), Still())
    assert found.next == Next(kind="wait", detail="another try", at=retry_at)


class Claiming:
    """Ways of a machine that claims the host which it was given."""

    def next_calls(
        self,
        goal: Goal,
        machine: Machine,
        resources: tuple[Resource, ...],
        now: datetime,  # noqa: ARG002 - nothing here waits for a time
    ) -> tuple[Call, ...]:
        assert goal is Goal.PRESENT
        return (_CLAIM,) if machine.host is not None and not resources else ()


_CLAIM = Call(kind="claim", slot=HOST, zone=OFFER.zone, effect=Effect.MAKE, once=True)


@pytest.mark.parametrize(("hosts", "claims"), [(1, 0), (2, 1)])
def test_a_new_machine_is_not_planned_on_a_host_that_another_one_takes(
    hosts: int, claims: int
) -> None:
    """Kubernetes 79000004: one was asked for by name when a host came free that another waited for.

    The other takes it by the same decision.
    """
    boxes = [box(host=HostId(f"host-{number}")) for number in range(1, hosts + 1)]
    free = [Free(resource=one, offer=OFFER) for one in boxes]
    waiting = on_host(Phase.PENDING, host=None, places=(), was_ready=None)
    snapshot = fleet_snapshot((waiting,), boxes, free=free)
    takes = Advance(
        machine=replace(waiting, host=HostId(boxes[0].id), phase=Phase.STARTING),
        changed=True,
        events=(),
        verdict=Verdict(machine=waiting.id, reason=""),
    )
    makes = SaveFleet(row=snapshot.row, inserts=(OFFER,), named=(MachineId("m-new"),))
    decision = Decision(commands=(takes, makes))
    new = [one for one in planned_machines(decision, snapshot, Claiming()) if one.subject is None]
    assert [len(one.calls) for one in new] == [claims]


def test_plan_names_what_the_engine_clears_away_when_the_cap_has_room() -> None:
    """After a brown-out it said that there is nothing to do, while six machines were to go."""
    failed = on_host(Phase.FAILED, was_ready=BEGIN - 60 * MIN)
    failed = replace(failed, since=BEGIN - 50 * MIN)
    snapshot = fleet_snapshot((failed,), [box("claimed", Condition.OFF)], bindings={MINE: BOX})
    row = replace(snapshot.row, destructions=(BEGIN - 20 * S,))
    snapshot = replace(snapshot, row=row)
    decision = decide(snapshot, Claiming())
    (later,) = planned_later(decision, snapshot, ())
    at = BEGIN + 40 * S
    assert later.next == Next(kind="wait", detail="stopping: when the cap has room", at=at)
    assert (later.subject, later.stands, later.calls) == (failed.id, Phase.FAILED, ())
    assert not list(planned_later(decision, snapshot, {failed.id}))


class Still:
    """Ways of a host that needs nothing."""

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        assert (goal, host.id, resource.id) == (HostGoal.CLEAN, BOX, BOX)
        return () if host.quarantined(now) else (_WIPE,)


_WIPE = Call(kind="wipe", slot=HOST, zone=OFFER.zone, effect=Effect.DESTROY)


def test_plan_of_a_host_names_each_call_once() -> None:
    """What its answer changes nobody knows before: the same call again is no plan."""
    host = record(goal=HostGoal.CLEAN, condition=HostCondition.DIRTY)
    (found,) = planned_hosts(hosts_snapshot(host, box("wiping")), Still())
    assert found.ready == Ready(calls=(_WIPE,), waits=SEE)
    assert found.next == Next(kind="call", detail=str(_WIPE))


def test_plan_names_the_goal_of_a_free_host_that_is_switched_off() -> None:
    """No record has that goal: it comes of the pool's limits in each cycle."""
    on = HostPower(on=True, since=BEGIN - 60 * MIN)
    host = record(condition=HostCondition.FREE, power=on)
    snapshot = replace(
        hosts_snapshot(host, box("pool")), capabilities=metal(power=PowerLimits(least_on=10 * MIN))
    )
    (found,) = planned_hosts(snapshot, MetalPlanner(Cleaning.POWER_CYCLE, 10 * S))
    assert found.calls, "it is switched off"
    assert found.stands == HostGoal.OFF


def test_plan_tells_of_a_binding_that_is_to_be_unbound() -> None:
    """Its machine is gone, and a person took the host: nothing else is done with it."""
    snapshot = hosts_snapshot(
        record(), box("other"), bindings={BOX: MINE}, past=(on_host(Phase.DELETED),)
    )
    (found,) = planned_hosts(snapshot, Still())
    assert (found.subject, found.calls) == (BOX, ())
    assert found.ready.waits == f"its binding to {MINE}, which is deleted, to be removed"


async def test_a_plan_records_nothing_not_even_that_a_fleet_exists() -> None:
    rig = FakeScene(replace(FLEET, size=2))
    made = await planned(rig)
    assert len(made.machines) == 2
    assert await rig.store.fleets() == ()
