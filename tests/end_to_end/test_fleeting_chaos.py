"""Hosts and plugins, killed at random moments under bad weather, lose, double and block nothing."""

import os
import random
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fleeting_kit import PLUGIN, Cloud, all_running, plugin_config, present, simulated
from waiting import wait_until

from hostler.testing.peers.go_hosts import GoHosts
from hostler.testing.peers.plugin_host import GoHost, HostError, HostGone, Launch

MOST = 6
STUCK = 3
"""How many machines that cannot be removed may be there beside the others (`caps.stuck`)."""
LOST = {"Unavailable", "Canceled"}
"""What a host is told of calls to a plugin that has just been killed."""
LIVES = 10
WORLDS = {"alder": 11, "elder": 12}
"""Seed of each schema's world."""


@pytest.fixture(params=WORLDS)
def schema(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def cloud(schema: str) -> Generator[Cloud]:
    with simulated(speed=20, fault_rates="lively", seed=WORLDS[schema]) as cloud:
        yield cloud


@dataclass(slots=True)
class Chaos:
    """One group, lived by one host after the other; what all of them saw."""

    program: Path
    launch: Launch
    config: dict[str, object]
    folder: Path
    dice: random.Random
    asked: int = 0
    lives: int = 0
    inits: int = 0
    ids: set[str] = field(default_factory=set[str])
    plugins: set[int] = field(default_factory=set[int])

    def host(self) -> GoHost:
        self.lives += 1
        return GoHost(self.program, self.folder / f"host-{self.lives}.log")

    def begin(self, host: GoHost) -> int:
        """Launch and Init, which bad weather may refuse; return the plugin's process."""
        plugin = host.launch(self.launch).pid
        self.plugins.add(plugin)
        with suppress_refusals():
            host.init(self.config)
            self.inits += 1
        return plugin

    def short_life(self) -> None:
        """Work until somebody is killed: the host, its plugin, or both, in the midst of a call."""
        with self.host() as host:
            victim = self.dice.choice(["host", "plugin", "both"])
            try:
                plugin = self.begin(host)
                pids = [host.pid] * (victim != "plugin") + [plugin] * (victim != "host")
                timer = threading.Timer(self.dice.uniform(0.1, 1.2), murder, (pids,))
                timer.start()
                try:
                    while timer.is_alive() or not host.exited():
                        with suppress_refusals():
                            self.work(host, present(host))
                finally:
                    timer.join()
            except HostGone:
                assert victim != "plugin"
            except HostError as error:
                assert error.code in LOST, (error, host.logs()[-5:])  # noqa: PT017 - only one of the ways to end

    def work(self, host: GoHost, states: dict[str, str]) -> None:
        """Ask for something, as a runner may at any moment.

        Beyond the maximum may be what is being deleted: a deleted one whose server turned up late.
        """
        self.ids |= set(states)
        assert sum(state != "deleting" for state in states.values()) <= MOST, states
        some = self.dice.sample(sorted(states), self.dice.randint(0, len(states)))
        match self.dice.randrange(6):
            case 0 | 1:
                self.asked += (count := self.dice.randint(1, 3))
                assert 0 < host.increase(count) <= count
            case 2:
                assert set(host.decrease(some)) == set(some)
            case 3 if some:
                host.heartbeat(some[0])
            case 4 if some:
                host.connect_info(some[0])
            case _:
                threading.Event().wait(self.dice.uniform(0, 0.2))


@contextmanager
def suppress_refusals() -> Generator[None]:
    """Let pass what the plugin refused with a reason; not that it is gone."""
    try:
        yield
    except HostError as error:
        if error.code != "Unknown":
            raise


def murder(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def living(pids: set[int]) -> set[int]:
    """Return those that still run: a child that nobody waited for does not."""
    return {pid for pid in pids if is_running(pid)}


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.timeout(400)
def test_kills_in_bad_weather_lose_double_and_block_nothing(
    schema: str, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """After them the group can be emptied and filled to its last place, and nothing is left."""
    chaos = Chaos(
        program=go_hosts.program(schema),
        launch=Launch(plugin=PLUGIN, auto_mtls=schema == "alder"),
        config=plugin_config(cloud, tmp_path, max_size=MOST, consistency_delay="2s"),
        folder=tmp_path,
        dice=random.Random(WORLDS[schema]),
    )
    for _ in range(LIVES):
        chaos.short_life()
        assert cloud.count()["server"] <= MOST + STUCK
    assert chaos.inits > LIVES / 2, "most lives are to be lived"
    assert len(chaos.ids) <= chaos.asked
    assert cloud.state()["faults"]
    cloud.set_fault_rates(clear=True)
    with chaos.host() as host:
        chaos.begin(host)
        empties(host, cloud)
        assert host.increase(MOST + 1) == MOST
        wait_until(
            lambda: all_running(present(host), MOST), 60, lambda: (host.states(), cloud.leaks())
        )
        assert cloud.count()["server"] == MOST
        reached = {host.connect_info(one).external for one in present(host)}
        assert len(reached) == MOST
        empties(host, cloud)
        host.shutdown()
        assert host.kill()[0].exit == 0
    wait_until(lambda: not living(chaos.plugins), 10, lambda: living(chaos.plugins))


def empties(host: GoHost, cloud: Cloud) -> None:
    """Give every instance back, and see that nothing stays: not in the group, not on the bill."""

    def emptied() -> bool:
        host.decrease(sorted(present(host)))
        return not present(host)

    wait_until(emptied, 60, lambda: (host.states(), cloud.leaks()))
    wait_until(lambda: not cloud.leaks(), 30, cloud.leaks)
