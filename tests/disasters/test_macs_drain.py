"""Machines on which something runs: asked before they end, waited for, and ended in the end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.mac_ssh import WorldPreparer
from hostler.lab.scenes.macs import FLEET, MINUTE, Crash, MacRig, changes, play_macs
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.state.mac_records import MacStatus

HOUR = timedelta(hours=1)
ONE, TWO = "echo one", "echo two"
ASKS = "pgrep -x Runner.Worker"
RELEASE = {"mac.update", "mac.reinstall"}


def fleet(*commands: str, size: int = 1, busy: str = ASKS, drain: timedelta = HOUR) -> Fleet:
    """Return a fleet whose hosts are asked whether they are busy."""
    probe = Probe(kind=ProbeKind.SSH, commands=commands, busy=busy)
    return replace(FLEET, probe=probe, size=size, timers=replace(FLEET.timers, drain=drain))


@dataclass(slots=True)
class Scene:
    """Macs, one engine over them, and what asks."""

    s: MacRig
    hostler: Hostler
    preparer: WorldPreparer

    @property
    def statuses(self) -> dict[MachineId, int]:
        """What `busy` exits with on the host of a machine."""
        return self.preparer.fake.statuses

    def now(self) -> datetime:
        """Return the time."""
        return self.s.rig.clock.now()

    async def ready(self, many: int = 1) -> list[Machine]:
        """Wait until so many machines are ready, and return them."""
        await self.s.ready(self.hostler, many)
        return list(await self.hostler.machines())

    async def end(self, machine: MachineId, *, now: bool = False) -> None:
        """Wish the end of a machine."""
        await self.request(RequestKind.DELETE, machine, now=now)

    async def request(self, kind: RequestKind, machine: MachineId, *, now: bool = False) -> None:
        """Wish something of a machine."""
        request = Request(
            number=0, kind=kind, fleet=FLEET.name, at=self.now(), actor="ann", machine=machine,
            now=now,
        )  # fmt: skip
        await self.hostler.store.request(request)

    async def restart(self, fleet: Fleet) -> None:
        """Let another engine go on with another fleet file."""
        await self.hostler.stop()
        self.s.truth.hostlers.remove(self.hostler)
        self.hostler = self.s.hostler(fleet, store=self.hostler.store)

    async def until_gone(self, machine: MachineId, within: timedelta = 3 * HOUR) -> timedelta:
        """Wait until a machine is gone; return how long that took."""
        begun = self.now()

        async def is_deleted() -> bool:
            return (await self.hostler.machine(machine)).phase is Phase.DELETED

        await self.s.until(is_deleted, within)
        return self.now() - begun

    async def phase(self, machine: MachineId) -> Phase:
        """Return where a machine stands."""
        return (await self.hostler.machine(machine)).phase

    async def sleep(self, time: timedelta) -> None:
        """Let time pass."""
        await self.s.rig.clock.sleep(time)

    async def describe(self, kind: str) -> list[tuple[str, str]]:
        """Return the reasons and details that the story tells of one kind of event."""
        events = await self.hostler.events()
        return [(one.event.reason, one.event.detail) for one in events if one.event.kind == kind]


def play(scene: Callable[[Scene], Awaitable[None]], asked: Fleet, count: int = 2) -> None:
    """Run a scene over a pool of so many hosts."""

    async def whole(s: MacRig) -> None:
        preparer = WorldPreparer(s.rig.world)
        s.rig.preparer = s.rig.asker = preparer
        await scene(Scene(s, s.hostler(asked), preparer))

    play_macs(whole, count)


def test_a_busy_machine_is_waited_for_and_goes_when_it_is_free() -> None:
    """A5: upstream wipes a host whatever runs on it."""

    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.hostler.scale(0)
        asked = changes(x.s.rig)
        await x.sleep(20 * MINUTE)
        assert await x.phase(machine.id) is Phase.DRAINING
        assert changes(x.s.rig) == asked
        assert 38 <= len(x.preparer.fake.questions) <= 42, "every half a minute"
        assert {one.command for one in x.preparer.fake.questions} == {ASKS}
        x.statuses[machine.id] = 1
        assert await x.until_gone(machine.id) < 25 * MINUTE
        answers = await x.describe("asked_whether_busy")
        assert [reason for reason, _ in answers] == ["busy", "free"]
        assert ("drained" in [reason for reason, _ in await x.describe("moved")]) is True

    play(scene, fleet())


def test_a_free_machine_is_asked_once_and_released_at_once() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        begun = x.now()
        asked = len(changes(x.s.rig))
        await x.end(machine.id)

        async def releases() -> bool:
            return len(changes(x.s.rig)) > asked

        await x.s.until(releases, MINUTE)
        assert x.now() - begun <= timedelta(seconds=45)
        await x.until_gone(machine.id)
        assert [q.machine for q in x.preparer.fake.questions] == [machine.id]

    play(scene, fleet())


def test_a_machine_that_stays_busy_is_ended_when_the_bound_of_drain_has_passed() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.end(machine.id)
        await x.sleep(28 * MINUTE)
        assert await x.phase(machine.id) is Phase.DRAINING
        await x.sleep(3 * MINUTE)
        assert await x.phase(machine.id) is not Phase.DRAINING
        await x.until_gone(machine.id)
        assert "drain_overdue" in [reason for reason, _ in await x.describe("moved")]

    play(scene, fleet(drain=30 * MINUTE))


@pytest.mark.parametrize("how", ["silent", "strange", "stranger"])
def test_a_host_that_gives_no_answer_is_waited_for_like_a_busy_one(how: str) -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        if how == "silent":
            x.preparer.fake.unwilling.add(machine.id)
        elif how == "strange":
            x.statuses[machine.id] = 127
        else:
            x.s.mac(machine.host).porch.wrong_keys = 10_000
        await x.end(machine.id)
        await x.sleep(28 * MINUTE)
        assert await x.phase(machine.id) is Phase.DRAINING
        ((reason, text),) = await x.describe("asked_whether_busy")
        assert reason == "unknown"
        word = {"silent": "no login", "strange": "exited with 127", "stranger": "another key"}[how]
        assert word in text
        await x.sleep(3 * MINUTE)
        await x.until_gone(machine.id)

    play(scene, fleet(drain=30 * MINUTE))


@pytest.mark.parametrize("kind", [RequestKind.DELETE, RequestKind.RETIRE])
def test_an_end_at_once_asks_nobody(kind: RequestKind) -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.request(kind, machine.id, now=True)
        await x.until_gone(machine.id, HOUR)
        assert x.preparer.fake.questions == []

    play(scene, fleet())


def test_an_end_that_waits_can_be_made_one_at_once() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.end(machine.id)
        await x.sleep(10 * MINUTE)
        assert await x.phase(machine.id) is Phase.DRAINING
        await x.end(machine.id, now=True)
        await x.sleep(MINUTE)
        assert await x.phase(machine.id) is not Phase.DRAINING
        moved = [text for _, text in await x.describe("moved") if "draining>stopping" in text]
        assert moved == ["draining>stopping: at once, whatever runs on it"]

    play(scene, fleet())


def test_a_retired_machine_is_waited_for_too() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        asked = changes(x.s.rig)
        await x.request(RequestKind.RETIRE, machine.id)
        await x.sleep(20 * MINUTE)
        assert changes(x.s.rig) == asked
        x.statuses[machine.id] = 1
        await x.until_gone(machine.id, HOUR)

    play(scene, fleet(), count=1)


def test_a_machine_that_is_to_rest_is_waited_for_and_called_back_where_it_is_wanted() -> None:
    """A rest wipes the host as well."""

    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        asked = changes(x.s.rig)

        async def to_rest() -> None:
            await x.hostler.request(RequestKind.STANDBY, machine=machine.id)
            await x.hostler.scale(0)

        await to_rest()
        await x.sleep(20 * MINUTE)
        assert (await x.phase(machine.id), changes(x.s.rig)) == (Phase.READY, asked)
        await x.hostler.scale(1)
        await x.sleep(HOUR)
        assert (await x.phase(machine.id), changes(x.s.rig)) == (Phase.READY, asked)
        await to_rest()
        await x.sleep(40 * MINUTE)
        assert (await x.phase(machine.id), changes(x.s.rig)) == (Phase.READY, asked)
        x.statuses[machine.id] = 1

        async def rests() -> bool:
            return await x.phase(machine.id) is Phase.STANDBY

        await x.s.until(rests, HOUR)
        assert (await x.hostler.machine(machine.id)).fact("drain") is None

    play(scene, fleet())


def test_demand_that_returns_calls_a_busy_machine_back() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        asked = changes(x.s.rig)
        await x.hostler.scale(0)
        await x.sleep(10 * MINUTE)
        await x.hostler.scale(1)
        await x.sleep(2 * HOUR)
        (back,) = await x.hostler.machines()
        assert (back.id, back.phase) == (machine.id, Phase.READY)
        assert changes(x.s.rig) == asked
        assert back.fact("drain") is None

    play(scene, fleet())


def test_what_was_never_ready_is_rolled_back_unasked() -> None:
    async def scene(x: Scene) -> None:
        await x.sleep(5 * MINUTE)
        (machine,) = await x.hostler.machines()
        assert machine.phase is Phase.STARTING
        x.statuses[machine.id] = 0
        await x.hostler.scale(0)
        await x.s.all_free(x.hostler)
        assert x.preparer.fake.questions == []

    play(scene, fleet())


def test_a_changed_list_waits_for_what_runs_on_a_machine_in_use() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.restart(fleet(ONE, TWO))
        await x.sleep(20 * MINUTE)
        disk = x.preparer.disk(str(machine.host))
        assert disk.ran == [ONE]
        x.statuses[machine.id] = 1
        await x.sleep(MINUTE)
        assert disk.ran == [ONE, ONE, TWO]
        assert await x.phase(machine.id) is Phase.READY

    play(scene, fleet(ONE))


def test_a_changed_list_comes_anyhow_when_the_bound_of_drain_has_passed() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.restart(fleet(ONE, TWO, drain=30 * MINUTE))
        await x.sleep(29 * MINUTE)
        disk = x.preparer.disk(str(machine.host))
        assert disk.ran == [ONE]
        await x.sleep(2 * MINUTE)
        assert disk.ran == [ONE, ONE, TWO]

    play(scene, fleet(ONE))


def test_the_wait_goes_on_over_a_restart_and_is_not_begun_anew() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.end(machine.id)
        await x.sleep(20 * MINUTE)
        await x.restart(fleet(drain=30 * MINUTE))
        await x.sleep(8 * MINUTE)
        assert await x.phase(machine.id) is Phase.DRAINING
        await x.sleep(4 * MINUTE)
        assert await x.phase(machine.id) is not Phase.DRAINING

    play(scene, fleet(drain=30 * MINUTE))


@pytest.mark.parametrize("effect", [False, True])
@pytest.mark.parametrize("nth", [1, 2])
def test_after_a_crash_in_the_release_nothing_is_wiped_that_is_busy_again(
    nth: int, *, effect: bool
) -> None:
    """A job began just before the host was renamed: it ends before the wipe."""

    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        installs = x.s.mac(machine.host).installs
        crash = Crash(x.hostler, nth, effect=effect)
        await x.end(machine.id)
        await crash.happened.wait()
        wiped = nth == 2 and effect
        x.statuses[machine.id] = 0
        x.s.truth.hostlers.remove(x.hostler)
        x.hostler = x.s.hostler(fleet(), store=x.hostler.store)
        await x.sleep(20 * MINUTE)
        assert (x.s.mac(machine.host).installs > installs) is wiped
        x.statuses[machine.id] = 1
        await x.until_gone(machine.id)

    play(scene, fleet())


@pytest.mark.parametrize("answers", [True, False])
def test_a_machine_that_broke_is_asked_before_it_is_cleaned_away(*, answers: bool) -> None:
    """The provider says that its host is in error, and a job runs on it all the same."""

    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        if answers:
            x.statuses[machine.id] = 0
        else:
            x.preparer.fake.unwilling.add(machine.id)
        mac = x.s.mac(machine.host)
        mac.status = MacStatus.ERROR
        installs = mac.installs
        await x.sleep(25 * MINUTE)
        assert (await x.phase(machine.id), mac.installs) == (Phase.FAILED, installs)
        await x.sleep(6 * MINUTE)
        await x.until_gone(machine.id)

    play(scene, fleet(drain=30 * MINUTE))


def test_a_fleet_without_the_setting_asks_nobody() -> None:
    async def scene(x: Scene) -> None:
        (machine,) = await x.ready()
        x.statuses[machine.id] = 0
        await x.end(machine.id)
        await x.until_gone(machine.id, HOUR)
        assert x.preparer.fake.questions == []

    play(scene, fleet(busy=""))
