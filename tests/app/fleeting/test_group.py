"""A runner's group put together by the real adapters, against a simulated Scaleway on a socket."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hostler.app.fleeting.group import GroupOpener
from hostler.frontends.fleeting.config.holder import host_lives, write_holder
from hostler.frontends.fleeting.contract import Connector, Refused
from hostler.frontends.fleeting.group.context import GroupContext
from hostler.ports.clock import Clock
from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.http import Settings, SimulatorServer, serve, world_of
from hostler.testing.time.clock import BEGINNING

SECRET = "11111111-2222-4333-8444-555555555555"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"


@pytest.fixture
async def cloud() -> AsyncGenerator[SimulatorServer]:
    async with serve(world_of(Settings(speed=100)), "127.0.0.1", 0, 100) as server:
        yield server


def host_exited(folder: Path) -> bool:
    """Say that the host of whatever plugin has a folder is gone."""
    del folder
    return False


@dataclass(slots=True)
class HandClock:
    """A clock that stands still but while somebody sleeps; `then` is done after so long.

    `living` is what a group is told of the host of the plugin that has its folder.
    """

    slept: timedelta = timedelta(0)
    after: timedelta = timedelta(days=1)
    then: Callable[[], Awaitable[None]] | None = None
    living: Callable[[Path], bool] = host_exited

    def now(self) -> datetime:
        return BEGINNING + self.slept

    def boot(self) -> float:
        return self.slept.total_seconds()

    async def sleep(self, time: timedelta) -> None:
        self.slept += time
        if self.then is not None and self.slept >= self.after:
            then, self.then = self.then, None
            await then()


async def opened(
    cloud: SimulatorServer, folder: Path, clock: Clock | None = None, **message: object
) -> GroupContext:
    config: dict[str, object] = {
        "name": "ci",
        "server_type": "DEV1-S",
        "endpoint": cloud.url,
        "secret_key": SECRET,
        "project": PROJECT,
        "state_dir": str(folder),
        **message,
    }
    living = clock.living if isinstance(clock, HandClock) else host_lives
    opener = GroupOpener({}, folder, clock, living)
    return await opener.open(json.dumps(config).encode(), Connector())


def keys(cloud: SimulatorServer) -> list[tuple[str, str]]:
    return [(key.name, key.public_key) for key in cloud.world.cloud.keys]


async def test_the_groups_key_is_at_the_provider_while_the_group_has_machines(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    group = await opened(cloud, tmp_path)
    identity = await group.store.identity()
    ((name, public),) = keys(cloud)
    assert name == f"hostler-{identity.own}-ci"
    assert public.startswith("ssh-ed25519 ")
    assert group.key.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    assert group.notes == ()
    await group.close(1)
    assert len(keys(cloud)) == 1
    again = await opened(cloud, tmp_path)
    assert keys(cloud) == [(name, public)]
    await again.close(0)
    assert keys(cloud) == []


async def test_a_key_that_cannot_be_registered_is_noted_and_stops_nothing(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    first = await opened(cloud, tmp_path)
    for key in cloud.world.cloud.keys:
        key.disabled = True
    await first.close(1)
    group = await opened(cloud, tmp_path)
    assert len(group.notes) == 1
    assert "instances get it by cloud-init" in group.notes[0]
    await group.close(1)


async def test_what_no_waiting_heals_refuses_the_group_and_lets_go_of_its_store(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="is not sold there"):
        await opened(cloud, tmp_path, server_type="NONE-1")
    await (await opened(cloud, tmp_path)).close(0)


async def test_store_that_another_plugin_is_about_to_let_go_of_is_waited_for(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    """A runner that was killed leaves a plugin that ends a little after the next one starts."""
    before = await opened(cloud, tmp_path)
    clock = HandClock(after=timedelta(seconds=14), then=lambda: before.close(1))
    group = await opened(cloud, tmp_path, clock)
    assert timedelta(seconds=14) <= clock.slept < timedelta(seconds=15)
    await group.close(0)


async def test_store_that_nobody_lets_go_of_is_waited_for_fifteen_seconds(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    before = await opened(cloud, tmp_path)
    clock = HandClock()
    with pytest.raises(Refused, match="another plugin runs on"):
        await opened(cloud, tmp_path, clock)
    assert clock.slept == timedelta(seconds=15)
    await before.close(0)


async def test_store_that_a_plugin_has_whose_host_lives_is_refused_within_two_seconds(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    before = await opened(cloud, tmp_path)
    clock = HandClock(living=host_lives)
    with pytest.raises(Refused, match="a state_dir, of its own"):
        await opened(cloud, tmp_path, clock)
    assert timedelta(seconds=1) <= clock.slept <= timedelta(seconds=2)
    await before.close(0)


def test_host_is_known_to_live_only_while_the_plugin_is_its_child(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "12").mkdir(parents=True)
    assert not host_lives(tmp_path, proc)
    write_holder(tmp_path, 12, 7)
    for stat, lives in (("12 (a b) S 7 1", True), ("12 (a) 7) S 1 1", False), ("", False)):
        (proc / "12" / "stat").write_text(stat)
        assert host_lives(tmp_path, proc) is lives
    (proc / "12" / "stat").unlink()
    assert not host_lives(tmp_path, proc)


async def test_provider_that_does_not_answer_in_time_is_noted_and_stops_nothing(
    cloud: SimulatorServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostler.app.fleeting.group._ASKING", timedelta(seconds=0.3))
    cloud.world.script(Rule(fault="hung", route="server.list", count=100))
    group = await opened(cloud, tmp_path)
    assert [note for note in group.notes if "did not answer in time" in note]
    await group.close(0)


async def test_every_fault_of_the_config_is_in_the_refusal(
    cloud: SimulatorServer, tmp_path: Path
) -> None:
    with pytest.raises(Refused) as caught:
        await opened(cloud, tmp_path, zone="paris", imagee="x")
    assert "plugin_config: 2 errors" in str(caught.value)
