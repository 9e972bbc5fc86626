"""EngineGroup: a runner's calls over the real engine, provider and client, in simulated time."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.frontends.fleeting.contract import Connector, Refused, State
from hostler.lab.scenes.runner import EVERY_STATE, GROUP, Plugged, Plugin, fresh_store
from hostler.lab.scenes.servers import PLAIN, Rig, play

S = timedelta(seconds=1)
MIN = timedelta(minutes=1)


async def opened(rig: Rig) -> Plugged:
    plugged = Plugged(Plugin(rig, fresh_store()))
    await plugged.init()
    return plugged


def test_instances_are_reported_at_once_and_run_in_the_end() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        assert await plugged.group.increase(3) == 3
        assert list(plugged.states_now().values()) == [State.CREATING] * 3
        first = set(plugged.states_now())
        output = await plugged.until({State.RUNNING: 3}, 5 * MIN)
        assert set(output) == first

    play(scene)


def test_what_is_decreased_is_deleted_and_then_left_out() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(2)
        one, other = await plugged.until({State.RUNNING: 2}, 5 * MIN)
        assert await plugged.group.decrease([one]) == [one]
        await plugged.until({State.RUNNING: 1, State.DELETING: 1}, 1 * MIN)
        assert plugged.states_now()[other] is State.RUNNING
        await plugged.until({State.RUNNING: 1, State.DELETED: 1}, 5 * MIN)
        assert len(rig.servers()) == 1
        assert await plugged.group.decrease([one, other]) == [one, other]
        await plugged.until({State.DELETED: 1}, 5 * MIN)
        assert rig.world.leaks() == ()

    play(scene)


def test_info_is_stable_and_tells_the_maximum() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        info = await Plugged(Plugin(rig, fresh_store("i-9"))).init()
        assert (info.id, info.max_size) == (f"hostler/{GROUP.name}", 10)
        with pytest.raises(Refused, match="before"):
            await plugged.init()

    play(scene)


def test_restart_tells_every_instance_from_the_first_update_on() -> None:
    """Between Init and the first reading of the engine, the records of before are told."""

    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(2)
        before = await plugged.until({State.RUNNING: 2}, 5 * MIN)
        await plugged.group.shutdown()
        assert plugged.plugin.closed == 2
        again = Plugged(Plugin(rig, plugged.plugin.store))
        await again.init()
        assert again.states_now() == before
        info = await again.group.connect_info(next(iter(before)))
        assert (info.external, info.connector.username) != ("", "")
        assert info.connector.key == b"the key"

    play(scene)


def test_increase_that_was_recorded_is_not_forgotten_by_a_restart() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(2)
        named = set(plugged.states_now())
        await plugged.group.shutdown()
        again = Plugged(Plugin(rig, plugged.plugin.store))
        await again.init()
        assert set(again.states_now()) == named
        assert set(await again.until({State.RUNNING: 2}, 5 * MIN)) == named

    play(scene)


def test_no_more_are_accepted_than_the_maximum_and_a_refusal_says_why() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        assert await plugged.group.increase(8) == 8
        assert await plugged.group.increase(8) == 2
        with pytest.raises(Refused, match="at most 10 machines"):
            await plugged.group.increase(1)
        await plugged.until({State.RUNNING: 10}, 5 * MIN)
        assert len(rig.servers()) == 10

    play(scene)


def test_instance_that_is_decreased_before_it_was_begun_costs_nothing() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(1)
        (one,) = plugged.states_now()
        assert await plugged.group.decrease([one]) == [one]
        await plugged.until({State.DELETED: 1}, 1 * MIN)
        assert rig.world.leaks() == ()

    play(scene)


def test_unknown_instances_are_deleted_already() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        assert await plugged.group.decrease(["m-aaaaaaaaaa", "?"]) == ["m-aaaaaaaaaa", "?"]
        assert await plugged.plugin.store.requests() == ()

    play(scene)


def test_connect_info_fills_in_what_the_runner_does_not_say() -> None:
    async def scene(rig: Rig) -> None:
        plugged = Plugged(Plugin(rig, fresh_store()))
        connector = Connector(protocol_port=2222, username="ci", opaque=(("keepalive", 30),))
        await plugged.group.init(b"{}", connector, plugged.states)
        await plugged.group.increase(1)
        with pytest.raises(Refused, match="not begun yet"):
            await plugged.group.connect_info(next(iter(plugged.states_now())))
        (one,) = await plugged.until({State.RUNNING: 1}, 5 * MIN)
        info = await plugged.group.connect_info(one)
        assert info.id == one
        assert info.external.count(".") == 3
        output = info.connector
        assert (output.protocol, output.protocol_port, output.username) == ("ssh", 2222, "ci")
        assert (output.os, output.opaque) == ("linux", (("keepalive", 30),))

    play(scene)


def test_machine_in_a_private_network_alone_has_no_external_address() -> None:
    async def scene(rig: Rig) -> None:
        network = "5d1b4b2e-3c19-4f6a-9c86-0d94d7f2a111"
        template = replace(PLAIN, ipv4=False, networks=(network,))
        plugged = Plugged(Plugin(rig, fresh_store(), template=template))
        await plugged.init()
        await plugged.group.increase(1)
        (one,) = await plugged.until({State.RUNNING: 1}, 5 * MIN)
        info = await plugged.group.connect_info(one)
        assert (info.external, info.internal.count(".")) == ("", 3)

    play(scene)


def test_static_credentials_are_left_as_the_runner_gave_them() -> None:
    async def scene(rig: Rig) -> None:
        plugged = Plugged(Plugin(rig, fresh_store()))
        connector = Connector(use_static_credentials=True, password="known")
        await plugged.group.init(b"{}", connector, plugged.states)
        await plugged.group.increase(1)
        (one,) = await plugged.until({State.RUNNING: 1}, 5 * MIN)
        output = (await plugged.group.connect_info(one)).connector
        assert (output.username, output.password, output.key) == ("", "known", b"")

    play(scene)


def test_calls_before_init_and_about_strangers_are_refused_with_a_reason() -> None:
    async def scene(rig: Rig) -> None:
        plugged = Plugged(Plugin(rig, fresh_store()))
        with pytest.raises(Refused, match="not open"):
            await plugged.group.update()
        await plugged.init()
        with pytest.raises(Refused, match="there is no instance 'm-x'"):
            await plugged.group.heartbeat("m-x")
        with pytest.raises(Refused, match="there is no instance"):
            await plugged.group.connect_info("m-x")

    play(scene)


# ---------------------------------------------------------------- standby


def test_what_is_suspended_stands_by_and_comes_back_under_its_name() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(2)
        one, other = await plugged.until({State.RUNNING: 2}, 5 * MIN)
        assert await plugged.group.suspend([one]) == [one]
        await plugged.until({State.RUNNING: 1, State.SUSPENDING: 1}, 1 * MIN)
        output = await plugged.until({State.RUNNING: 1, State.SUSPENDED: 1}, 5 * MIN)
        assert output[one] is State.SUSPENDED
        assert (len(rig.servers()), len(rig.world.guests)) == (2, 1)
        assert await plugged.group.suspend([one, "m-none"]) == [one]
        assert await plugged.group.resume([one, other]) == [one, other]
        await plugged.until({State.RUNNING: 1, State.RESUMING: 1}, 1 * MIN)
        await plugged.until({State.RUNNING: 2}, 5 * MIN)
        assert len(rig.servers()) == 2

    play(scene)


def test_what_stands_by_can_be_decreased() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(1)
        (one,) = await plugged.until({State.RUNNING: 1}, 5 * MIN)
        await plugged.group.suspend([one])
        await plugged.until({State.SUSPENDED: 1}, 5 * MIN)
        assert await plugged.group.decrease([one]) == [one]
        await plugged.until({State.DELETED: 1}, 5 * MIN)
        assert rig.world.leaks() == ()

    play(scene)


def test_what_stands_by_is_kept_over_a_restart() -> None:
    async def scene(rig: Rig) -> None:
        plugged = await opened(rig)
        await plugged.group.increase(1)
        (one,) = await plugged.until({State.RUNNING: 1}, 5 * MIN)
        await plugged.group.suspend([one])
        await plugged.until({State.SUSPENDED: 1}, 5 * MIN)
        await plugged.group.shutdown()
        again = Plugged(Plugin(rig, plugged.plugin.store))
        await again.init()
        await asyncio.sleep(600)
        assert again.states_now() == {one: State.SUSPENDED}
        await again.group.resume([one])
        await again.until({State.RUNNING: 1}, 5 * MIN)

    play(scene)


def test_standby_is_offered_only_where_the_schema_can_say_it() -> None:
    async def scene(rig: Rig) -> None:
        able = await Plugged(Plugin(rig, fresh_store("i-8"))).init()
        unable = Plugged(Plugin(rig, fresh_store("i-9")), EVERY_STATE - {State.SUSPENDED})
        assert able.capabilities == ("suspend_resume",)
        assert (await unable.init()).capabilities == ()

    play(scene)
