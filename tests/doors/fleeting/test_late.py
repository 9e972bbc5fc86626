"""LateGroup: made once, when it is first needed, while the loop goes on."""

import asyncio
import threading
from collections.abc import Sequence

from hostler.doors.fleeting.late import LateGroup
from hostler.doors.fleeting.logical import (
    ConnectInfo,
    Connector,
    Instance,
    ProviderInfo,
    State,
)


class Told:
    """A group that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked = list[object]()

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        self.asked.append(("init", config, connector, states))
        return ProviderInfo(id="told", max_size=1, version="0")

    async def update(self) -> Sequence[Instance]:
        return (Instance(id="i", state=State.RUNNING),)

    async def increase(self, count: int) -> int:
        return count - 1

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, "decreased"]

    async def connect_info(self, instance: str) -> ConnectInfo:
        return ConnectInfo(id=instance, connector=Connector())

    async def heartbeat(self, instance: str) -> None:
        self.asked.append(("heartbeat", instance))

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, "suspended"]

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, "resumed"]

    async def shutdown(self) -> None:
        self.asked.append("shutdown")

    def close(self) -> None:
        self.asked.append("close")


async def test_every_call_reaches_the_group() -> None:
    told = Told()
    late = LateGroup(lambda: told)
    states = frozenset({State.RUNNING})
    assert (await late.init(b"{}", Connector(os="linux"), states)).id == "told"
    assert [instance.id for instance in await late.update()] == ["i"]
    assert await late.increase(3) == 2
    assert await late.decrease(["a"]) == ["a", "decreased"]
    assert (await late.connect_info("a")).id == "a"
    await late.heartbeat("a")
    assert await late.suspend(["a"]) == ["a", "suspended"]
    assert await late.resume(["a"]) == ["a", "resumed"]
    await late.shutdown()
    late.close()
    asked = ("init", b"{}", Connector(os="linux"), states)
    assert told.asked == [asked, ("heartbeat", "a"), "shutdown", "close"]


async def test_it_is_made_once_and_the_loop_goes_on_meanwhile() -> None:
    made, go = list[Told](), threading.Event()

    def make() -> Told:
        assert go.wait(10)
        made.append(Told())
        return made[-1]

    late = LateGroup(make)
    warming = threading.Thread(target=late.warm)
    warming.start()
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(late.update()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not made, "nothing waits for it but the calls"
        go.set()
    warming.join()
    assert len(made) == 1
    assert all(call.result() for call in calls)


def test_a_group_that_was_never_needed_needs_no_end() -> None:
    def make() -> Told:
        raise AssertionError("it was made")

    LateGroup(make).close()
