"""The two failures of runners' groups, played again: a group that froze, and half-made machines.

The real group, engine, provider and client over the simulated world, and the model of the runner.
"""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.frontends.fleeting.contract import ConnectInfo, State
from hostler.lab.gitlab_runner.provisioner import Provisioner
from hostler.lab.gitlab_runner.taskscaler import Memory, Taskscaler
from hostler.lab.gitlab_runner.workload import Job, RunnerOptions
from hostler.lab.scenes.runner import EVERY_STATE, WITHOUT_STOPPED, Plugged, Plugin, fresh_store
from hostler.lab.scenes.servers import ALL_RESOURCES, PLAIN, SECRET, Rig, play
from hostler.ports.http import HttpRequest
from hostler.providers.scaleway.common.settings import Template
from hostler.simulators.scaleway.faults.rates import Rule

S = timedelta(seconds=1)
MIN = timedelta(minutes=1)
AT_ONCE = 20.0
"""In seconds: a call that just failed, and may have had its effect, is waited for so long."""
NINE = RunnerOptions(max_instances=9, idle_time=60.0)
SCHEMAS = pytest.mark.parametrize(
    "states", [EVERY_STATE, WITHOUT_STOPPED], ids=["stopped-offered", "stopped-not-offered"]
)
HOW = pytest.mark.parametrize("how", ["stopped", "stopped in place"])


async def opened(
    rig: Rig, states: frozenset[State] = EVERY_STATE, template: Template = PLAIN
) -> Plugged:
    plugged = Plugged(Plugin(rig, fresh_store(), template=template), states)
    await plugged.init()
    return plugged


# ---------------------------------------------------------------- the group that froze


class AnyNetwork:
    def dial(self, instance: str, info: ConnectInfo) -> bool:
        return bool(instance and info.external)


class Runner:
    """A modelled runner with more jobs than it can serve."""

    def __init__(self, plugged: Plugged, options: RunnerOptions) -> None:
        rig = plugged.plugin.rig
        self.loop, self.options = rig.loop, options
        self.provisioner = Provisioner(plugged.group, options, rig.loop.time)
        self.scaler = Taskscaler(
            self.provisioner,
            plugged.group,
            options,
            rig.loop.time,
            AnyNetwork(),
            rig.group.create_task,
            Memory(),
        )
        rig.group.create_task(self.provisioner.run())

    async def fills(self, within: timedelta) -> None:
        """Wait until every place is filled by an instance that jobs can use."""
        end = self.loop.time() + within.total_seconds()
        while len(self.scaler.ready) < self.options.max_instances:
            states = {t.id: str(t.state) for t in self.provisioner.tracked.values()}
            assert self.loop.time() < end, states
            while self.scaler.busy + len(self.scaler.waiting) < self.options.max_instances:
                self.scaler.arrive(Job(self.loop.time(), 1e6))
            self.scaler.scale()
            await asyncio.sleep(5.0)

    async def empties(self, within: timedelta) -> None:
        """Ask for nothing, and wait until nothing is tracked."""
        end = self.loop.time() + within.total_seconds()
        self.scaler.retire(replace(self.options, idle_time=0.0))
        while self.provisioner.count:
            assert self.loop.time() < end
            await asyncio.sleep(5.0)


@SCHEMAS
@pytest.mark.parametrize("removes", [True, False], ids=["removes-stopped", "leaves-stopped"])
def test_group_of_nine_with_seven_that_never_start_reaches_nine(
    states: frozenset[State], removes: bool
) -> None:
    """instance_count 9, pending 7, reserved 7, for ever: here they go, and nine come up."""

    async def scene(rig: Rig) -> None:
        falls = Rule(fault="start_falls_back", route="server.action.poweron", after=3, count=7)
        rig.world.script(falls)
        runner = Runner(await opened(rig, states), replace(NINE, removes_stopped=removes))
        await runner.fills(45 * MIN)
        assert rig.world.faults["start_falls_back"] == 7
        assert len(rig.servers()) == 9
        await runner.empties(15 * MIN)
        assert rig.world.leaks() == ()

    play(scene)


@SCHEMAS
@HOW
def test_group_of_nine_of_which_seven_stop_at_once_reaches_nine_again(
    states: frozenset[State], how: str
) -> None:
    """Each is deleted by us, its place is free, and the runner asks anew."""

    async def scene(rig: Rig) -> None:
        runner = Runner(await opened(rig, states), replace(NINE, removes_stopped=False))
        await runner.fills(15 * MIN)
        victims = {server.id for server in rig.servers()[:7]}
        await asyncio.sleep(120.0)
        for victim in victims:
            stop(rig, victim, how)
        await asyncio.sleep(60.0)
        await runner.fills(60 * MIN)
        await asyncio.sleep(600.0)
        assert len(runner.scaler.ready) == len(runner.provisioner.tracked) == 9
        assert not {server.id for server in rig.servers()} & victims

    play(scene)


def stop(rig: Rig, server: str, how: str) -> None:
    """Stop a server as a guest does (in place), or as somebody in the console does."""
    if how == "stopped in place":
        assert rig.world.act("guest_poweroff", server)
        return
    body = b'{"action": "poweroff"}'
    path = f"/instance/v1/zones/fr-par-1/servers/{server}/action"
    token = (("X-Auth-Token", SECRET.reveal()), ("Content-Type", "application/json"))
    reply = rig.world.handle(HttpRequest(method="POST", path=path, headers=token, body=body))
    assert reply.response is not None
    assert reply.response.status == 202


# ---------------------------------------------------------------- what is told of what stopped


class Witness:
    """Writes down what is told of one instance, each time that it changes, and checks it."""

    def __init__(self, plugged: Plugged, instance: str) -> None:
        self.plugged, self.instance = plugged, instance
        self.states = list[State | None]()
        self.since = 0.0
        self.rig = plugged.plugin.rig

    def observe(self) -> State | None:
        state = self.plugged.states_now().get(self.instance)
        if not self.states or self.states[-1] is not state:
            self.states.append(state)
            self.since = self.rig.loop.time()
        if state is State.DELETING and self.rig.loop.time() - self.since > AT_ONCE:
            assert self.deletes() or not self.rig.world.leaks(), "nobody deletes it"
        return state

    def deletes(self) -> bool:
        return any(
            line.method == "DELETE" or line.key == "server.action.terminate"
            for line in self.rig.world.journal
        )

    async def until(self, state: State, within: timedelta = 15 * MIN) -> None:
        end = self.rig.loop.time() + within.total_seconds()
        while self.observe() is not state:
            assert self.rig.loop.time() < end, self.states
            await asyncio.sleep(0.2)


async def one(plugged: Plugged) -> Witness:
    assert await plugged.group.increase(1) == 1
    (name,) = plugged.states_now()
    return Witness(plugged, name)


def down(states: frozenset[State]) -> State:
    return State.STOPPED if State.STOPPED in states else State.CREATING


@SCHEMAS
def test_machine_is_creating_while_it_is_stopped_before_its_first_power_on(
    states: frozenset[State],
) -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig, states, ALL_RESOURCES)
        seen = await one(plugged)
        server_states = set[str]()
        while seen.observe() is not State.RUNNING:
            server_states |= {server.state for server in rig.world.cloud.servers}
            await asyncio.sleep(0.2)
        assert "stopped" in server_states
        assert seen.states == [State.CREATING, State.RUNNING]

    play(scene)


@SCHEMAS
def test_start_that_falls_back_is_made_again_under_the_same_id(states: frozenset[State]) -> None:
    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault="start_falls_back", route="server.action.poweron"))
        plugged = await opened(rig, states)
        seen = await one(plugged)
        await seen.until(State.RUNNING)
        between = [State.STOPPED, State.CREATING] if State.STOPPED in states else []
        assert seen.states == [State.CREATING, *between, State.RUNNING]
        assert list(plugged.states_now()) == [seen.instance]
        assert len(rig.servers()) == 1

    play(scene)


@SCHEMAS
@HOW
def test_machine_that_stopped_after_it_ran_is_down_then_deleting_then_deleted(
    states: frozenset[State], how: str
) -> None:
    async def scene(rig: Rig) -> None:
        seen = await one(await opened(rig, states))
        await seen.until(State.RUNNING)
        stop(rig, rig.servers()[0].id, how)
        assert not seen.deletes()
        await seen.until(State.DELETED)
        after = [State.RUNNING, down(states), State.DELETING, State.DELETED]
        assert seen.states == [State.CREATING, *after]
        await asyncio.sleep(600.0)
        assert rig.world.leaks() == ()
        assert list(seen.plugged.states_now()) in ([], [seen.instance])

    play(scene)


@SCHEMAS
def test_machine_that_the_provider_locked_is_down_then_deleting_then_deleted(
    states: frozenset[State],
) -> None:
    async def scene(rig: Rig) -> None:
        seen = await one(await opened(rig, states))
        await seen.until(State.RUNNING)
        assert rig.world.act("server_locked", rig.servers()[0].id, spell=300.0)
        await seen.until(State.DELETED)
        after = [State.RUNNING, down(states), State.DELETING, State.DELETED]
        assert seen.states == [State.CREATING, *after]
        assert rig.world.leaks() == ()

    play(scene)


@SCHEMAS
@HOW
def test_decrease_of_a_machine_that_is_down_is_honoured_at_once(
    states: frozenset[State], how: str
) -> None:
    async def scene(rig: Rig) -> None:
        seen = await one(await opened(rig, states))
        await seen.until(State.RUNNING)
        stop(rig, rig.servers()[0].id, how)
        await seen.until(down(states))
        assert await seen.plugged.group.decrease([seen.instance]) == [seen.instance]
        begun = rig.loop.time()
        await seen.until(State.DELETING)
        assert rig.loop.time() - begun < 10.0
        await seen.until(State.DELETED)
        assert rig.world.leaks() == ()

    play(scene)


@SCHEMAS
@HOW
def test_machine_that_stopped_while_no_plugin_ran_is_found_down_and_deleted(
    states: frozenset[State], how: str
) -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig, states)
        seen = await one(plugged)
        await seen.until(State.RUNNING)
        await plugged.group.shutdown()
        stop(rig, rig.servers()[0].id, how)
        await asyncio.sleep(300.0)
        again = Plugged(Plugin(rig, plugged.plugin.store), states)
        await again.init()
        found = Witness(again, seen.instance)
        await found.until(State.DELETED)
        assert found.states == [State.RUNNING, down(states), State.DELETING, State.DELETED]
        assert rig.world.leaks() == ()

    play(scene)


# ---------------------------------------------------------------- a fault at each call

CREATION = (
    ("ip.create", 1),
    ("ip.create", 2),
    ("server.create", 1),
    ("volume.update", 1),
    ("volume.update", 2),
    ("user_data.set", 1),
    ("nic.create", 1),
    ("server.action.poweron", 1),
)
ONCE = ("html_5xx", "request_lost", "reply_lost", "hung", "effect_delayed", "rate_limited_429")
FOR_EVER = (
    *((route, "request_lost") for route in sorted({route for route, _ in CREATION})),
    *((route, "quota_exceeded") for route in ("ip.create", "server.create")),
    ("server.create", "out_of_stock_create"),
    ("server.action.poweron", "out_of_stock_start"),
    ("server.action.poweron", "start_falls_back"),
    ("server.action.poweron", "stuck_starting"),
)


@pytest.mark.parametrize("harm", ONCE)
@pytest.mark.parametrize(("route", "nth"), CREATION)
def test_one_fault_at_any_call_of_a_creation_costs_no_instance(
    route: str, nth: int, harm: str
) -> None:
    """The instance that was told runs in the end, once, and goes without a rest."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=harm, route=route, after=nth))
        plugged = await opened(rig, template=ALL_RESOURCES)
        seen = await one(plugged)
        await seen.until(State.RUNNING)
        assert rig.world.faults[harm] == 1
        assert len(rig.world.leaks()) == 5
        await plugged.group.decrease([seen.instance])
        await seen.until(State.DELETED)
        assert rig.world.leaks() == ()

    play(scene)


@pytest.mark.parametrize(("route", "harm"), FOR_EVER)
def test_creation_that_never_succeeds_leaves_nothing_and_frees_its_place(
    route: str, harm: str
) -> None:
    """It is told all the while, is given up at its deadline, and others may be asked for."""

    async def scene(rig: Rig) -> None:
        rig.world.script(Rule(fault=harm, route=route, count=10_000, spell=7200.0))
        plugged = await opened(rig, template=ALL_RESOURCES)
        seen = await one(plugged)
        given_up = State.TIMEOUT if harm == "stuck_starting" else State.DELETED
        await seen.until(given_up, 30 * MIN)
        assert None not in seen.states
        assert State.RUNNING not in seen.states
        assert rig.world.faults[harm] > 0
        rig.world.clear_fault_rates()
        await asyncio.sleep(600.0)
        assert rig.world.leaks() == ()
        await Runner(plugged, replace(NINE, max_instances=10)).fills(30 * MIN)
        assert len(rig.servers()) == 10

    play(scene)
