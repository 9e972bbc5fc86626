"""The model of the runner does what reference/fleeting.md 3.2 to 3.4 says of the real one."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Group,
    Instance,
    ProviderInfo,
    Refused,
    State,
)
from hostler.lab.gitlab_runner.provisioner import Cause, Provisioner
from hostler.lab.gitlab_runner.taskscaler import Memory, Taskscaler
from hostler.lab.gitlab_runner.workload import Job, RunnerOptions, draw_jobs
from hostler.testing.time.loop import SimLoop


class ScriptedGroup:
    """A group that says what it is told to say, and writes down what it is asked."""

    def __init__(self, **states: State) -> None:
        self.states = dict(states)
        self.broken = False
        self.accepts = 100
        self.decreased = list[tuple[float, tuple[str, ...]]]()
        self.increased = list[int]()
        self.updates = list[float]()

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        del config, connector, states
        return ProviderInfo(id="told", max_size=100, version="0")

    async def update(self) -> Sequence[Instance]:
        self.updates.append(asyncio.get_running_loop().time())
        if self.broken:
            raise Refused("nothing can be listed")
        return [Instance(id=name, state=state) for name, state in self.states.items()]

    async def increase(self, count: int) -> int:
        self.increased.append(count)
        if not self.accepts:
            raise Refused("nothing can be made")
        return min(count, self.accepts)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        self.decreased.append((asyncio.get_running_loop().time(), tuple(ids)))
        return ids

    async def connect_info(self, instance: str) -> ConnectInfo:
        return ConnectInfo(id=instance, connector=Connector(), external="198.51.100.1")

    async def heartbeat(self, instance: str) -> None: ...

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        return ids

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        return ids

    async def shutdown(self) -> None: ...


class Reachable:
    """A network in which everything answers."""

    def dial(self, instance: str, info: ConnectInfo) -> bool:
        del instance, info
        return True


Scene = Callable[[ScriptedGroup, Provisioner], Coroutine[None, None, None]]


def play(scene: Scene, options: RunnerOptions | None = None, **states: State) -> None:
    async def whole() -> None:
        group = ScriptedGroup(**states)
        time = asyncio.get_running_loop().time
        await scene(group, Provisioner(group, options or RunnerOptions(), time))

    loop = SimLoop()
    try:
        loop.run_until_complete(whole())
    finally:
        loop.close()


def test_told_is_a_group() -> None:
    group: Group = ScriptedGroup()
    assert group


def test_instance_that_is_not_told_is_pruned_after_five_updates_and_never_decreased() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        group.states.clear()
        for _ in range(4):
            await provisioner.cycle()
        assert provisioner.count == 1
        await provisioner.cycle()
        assert provisioner.count == 0
        assert group.decreased == []

    play(scene, a=State.RUNNING)


def test_timeout_and_deleted_are_dropped_without_a_decrease() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        group.states = {"a": State.TIMEOUT, "b": State.DELETED}
        await provisioner.cycle()
        assert provisioner.count == 0
        assert group.decreased == []

    play(scene, a=State.RUNNING, b=State.DELETING)


def test_what_is_told_to_be_deleting_is_never_decreased_and_keeps_its_place() -> None:
    """The trap of the group of nine with seven pending."""

    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        provisioner.remove("a")
        provisioner.request(1)
        for _ in range(10):
            await provisioner.cycle()
            await asyncio.sleep(60.0)
        assert group.decreased == []
        assert group.increased == []
        assert provisioner.count == 1

    play(scene, RunnerOptions(max_instances=1), a=State.DELETING)


def test_removal_is_asked_again_each_minute() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        provisioner.remove("a")
        for _ in range(70):
            await provisioner.cycle()
            await asyncio.sleep(2.0)
        assert [at for at, _ in group.decreased] == [0.0, 60.0, 120.0]

    play(scene, a=State.RUNNING)


def test_update_that_fails_skips_the_whole_cycle() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        provisioner.remove("a")
        provisioner.request(1)
        group.broken = True
        for _ in range(9):
            await provisioner.cycle()
        assert (group.decreased, group.increased, provisioner.count) == ([], [], 1)
        group.broken = False
        await provisioner.cycle()
        assert (len(group.decreased), group.increased) == (1, [1])

    play(scene, a=State.RUNNING)


def test_everything_tracked_counts_in_max_instances_in_any_state() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        provisioner.request(5)
        await provisioner.cycle()
        assert group.increased == [1]

    play(
        scene,
        RunnerOptions(max_instances=5, removes_stopped=False),
        a=State.CREATING,
        b=State.DELETING,
        c=State.STOPPED,
        d=State.SUSPENDED,
    )


def test_increase_that_fails_is_tried_by_later_cycles() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        group.accepts = 0
        provisioner.request(3)
        await provisioner.cycle()
        await provisioner.cycle()
        group.accepts = 2
        await provisioner.cycle()
        await provisioner.cycle()
        assert group.increased == [3, 3, 3, 1]

    play(scene)


def test_instances_are_preexisting_requested_or_unexpected() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        await provisioner.cycle()
        provisioner.request(1)
        await provisioner.cycle()
        group.states |= {"b": State.CREATING, "c": State.CREATING}
        await provisioner.cycle()
        causes = {name: tracked.cause for name, tracked in provisioner.tracked.items()}
        assert causes == {"a": Cause.PREEXISTED, "b": Cause.REQUESTED, "c": Cause.UNEXPECTED}

    play(scene, a=State.RUNNING)


def test_updates_come_each_minute_and_every_two_seconds_while_something_changes() -> None:
    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        task = asyncio.get_running_loop().create_task(provisioner.run())
        await asyncio.sleep(119.0)
        assert group.updates == [0.0, 60.0]
        group.states["a"] = State.DELETING
        await asyncio.sleep(6.0)
        assert group.updates[2:] == [120.0, 122.0, 124.0]
        task.cancel()

    play(scene, a=State.RUNNING)


def scaler(
    group: ScriptedGroup,
    provisioner: Provisioner,
    options: RunnerOptions,
    memory: Memory | None = None,
) -> Taskscaler:
    loop = asyncio.get_running_loop()
    return Taskscaler(
        provisioner, group, options, loop.time, Reachable(), loop.create_task, memory or Memory()
    )


def test_preexisting_instance_is_removed_for_safety_unless_it_is_restored() -> None:
    options = RunnerOptions(state_storage=True)

    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        taskscaler = scaler(group, provisioner, options, Memory(uses={"b": 2}))
        await provisioner.cycle()
        assert group.decreased == [(0.0, ("a",))]
        assert taskscaler.ready["b"].uses == 2

    play(scene, options, a=State.RUNNING, b=State.RUNNING)


def test_jobs_ask_for_instances_use_them_up_and_idle_ones_go() -> None:
    options = RunnerOptions(max_instances=2, max_use_count=2, idle_time=100.0)

    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        taskscaler = scaler(group, provisioner, options)
        await provisioner.cycle()
        for _ in range(3):
            taskscaler.arrive(Job(0.0, 10.0))
        await provisioner.cycle()
        assert group.increased == [2]
        group.states = {"a": State.RUNNING, "b": State.RUNNING}
        await provisioner.cycle()
        for _ in range(3):
            taskscaler.scale()
            await asyncio.sleep(11.0)
        assert taskscaler.served.done == 3
        await provisioner.cycle()
        worn = [names for _, names in group.decreased]
        assert len(worn) == 1
        await asyncio.sleep(101.0)
        taskscaler.scale()
        await provisioner.cycle()
        assert {name for _, names in group.decreased for name in names} == {"a", "b"}

    play(scene, options)


def test_running_is_believed_with_no_further_observation() -> None:
    """Why *running* must be true: a job goes there at once."""

    async def scene(group: ScriptedGroup, provisioner: Provisioner) -> None:
        taskscaler = scaler(group, provisioner, RunnerOptions())
        await provisioner.cycle()
        taskscaler.arrive(Job(0.0, 10.0))
        await provisioner.cycle()
        group.states["a"] = State.RUNNING
        await provisioner.cycle()
        taskscaler.scale()
        assert taskscaler.busy == 1
        await asyncio.sleep(20.0)

    play(scene)


def test_jobs_come_in_waves_and_lie_within_the_run() -> None:
    jobs = draw_jobs(Random(1), 3600.0, 4)
    assert len(jobs) > 4
    assert all(0 <= job.at <= 3605.0 and job.length >= 5.0 for job in jobs)
    assert [job.at for job in jobs] == sorted(job.at for job in jobs)
