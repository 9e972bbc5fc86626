"""ThreadedGroup: calls reach the group in its thread, answers and refusals come back."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    ProviderInfo,
    Refused,
    State,
)
from hostler.frontends.fleeting.group.threaded import Spawn, ThreadedGroup


class Slow:
    """A group that writes down in which thread it was asked, and works in the background."""

    def __init__(self, spawn: Spawn) -> None:
        self.spawn = spawn
        self.threads = set[str]()
        self.cancelled = threading.Event()

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        del config, connector, states
        self.spawn(self._work())
        self.threads.add(threading.current_thread().name)
        return ProviderInfo(id="slow", max_size=1, version="0")

    async def _work(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    def report(self) -> Sequence[Instance]:
        return (Instance(id="i", state=State.RUNNING),)

    async def update(self) -> Sequence[Instance]:
        return self.report()

    async def increase(self, count: int) -> int:
        raise Refused(f"not {count}")

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        return ids

    async def connect_info(self, instance: str) -> ConnectInfo:
        return ConnectInfo(id=instance, connector=Connector())

    async def heartbeat(self, instance: str) -> None:
        raise KeyError(instance)

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, "suspended"]

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, "resumed"]

    async def shutdown(self) -> None:
        self.threads.add(threading.current_thread().name)


async def begun() -> tuple[ThreadedGroup, Slow]:
    made = list[Slow]()

    def make(spawn: Spawn) -> Slow:
        made.append(Slow(spawn))
        return made[0]

    group = ThreadedGroup(make)
    await group.init(b"", Connector(), frozenset())
    return group, made[0]


async def test_calls_run_in_the_groups_own_thread() -> None:
    group, slow = await begun()
    assert await group.decrease(["a"]) == ["a"]
    await group.shutdown()
    assert slow.threads == {"engine"}


async def test_refusals_and_errors_come_back_as_they_are() -> None:
    group, _ = await begun()
    with pytest.raises(Refused, match="not 3"):
        await group.increase(3)
    with pytest.raises(KeyError):
        await group.heartbeat("x")
    await group.shutdown()


async def test_update_does_not_wait_for_the_groups_thread() -> None:
    group, slow = await begun()
    free, held = threading.Event(), threading.Event()

    async def block() -> None:
        held.set()
        free.wait(10)

    slow.shutdown = block
    async with asyncio.TaskGroup() as tasks:
        deletion = tasks.create_task(group.shutdown())
        await asyncio.get_running_loop().run_in_executor(None, held.wait)
        assert [i.id for i in await group.update()] == ["i"]
        free.set()
        await deletion


async def test_end_cancels_what_was_spawned_and_calls_are_refused_after_it() -> None:
    group, slow = await begun()
    await group.shutdown()
    assert slow.cancelled.wait(5)
    await group.shutdown()
    with pytest.raises(Refused, match="not open"):
        await group.update()
    with pytest.raises(Refused, match="not open"):
        await group.increase(1)


async def test_every_call_reaches_the_group() -> None:
    group, _ = await begun()
    assert [instance.id for instance in await group.update()] == ["i"]
    assert (await group.connect_info("a")).id == "a"
    assert await group.suspend(["a"]) == ["a", "suspended"]
    assert await group.resume(["a"]) == ["a", "resumed"]
    await group.shutdown()


async def test_it_is_made_once_in_its_own_thread_while_the_loop_goes_on() -> None:
    made, go = list[str](), threading.Event()

    def make(spawn: Spawn) -> Slow:
        assert go.wait(10)
        made.append(threading.current_thread().name)
        return Slow(spawn)

    group = ThreadedGroup(make)
    group.warm()
    group.warm()
    async with asyncio.TaskGroup() as tasks:
        begin = [tasks.create_task(group.init(b"", Connector(), frozenset())) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert not made, "nothing waits for it but the calls"
        go.set()
    assert {info.result().id for info in begin} == {"slow"}
    assert made == ["engine"]
    await group.shutdown()


def test_group_that_was_never_needed_needs_no_end() -> None:
    def make(spawn: Spawn) -> Slow:
        raise AssertionError(spawn)

    ThreadedGroup(make).close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_group_that_cannot_be_made_is_refused_and_made_at_the_next_init() -> None:
    faults = [ImportError("no such module")]

    def make(spawn: Spawn) -> Slow:
        if faults:
            raise faults.pop()
        return Slow(spawn)

    group = ThreadedGroup(make)
    with pytest.raises(Refused, match="it failed"):
        await group.init(b"", Connector(), frozenset())
    for thread in threading.enumerate():
        if thread.name == "engine":
            thread.join(10)  # else its exception may be told in the middle of the next test
    assert (await group.init(b"", Connector(), frozenset())).id == "slow"
    await group.shutdown()


async def test_calls_before_init_are_refused() -> None:
    with pytest.raises(Refused, match="Init was not called"):
        await ThreadedGroup(Slow).update()
