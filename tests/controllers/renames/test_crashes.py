"""A crash at any write of a move, and a second engine: the machines are there, each once."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from msgspec.structs import replace
from rename_kit import NEW, OLD, READY, adopt, grown, has_moved, ids, rename, rows

from hostler.lab.scenes.fake import FakeScene
from hostler.ports.store import Store
from hostler.testing.fakes.planner import MAKE_SERVER, TERMINATE
from hostler.testing.scenes.builders import MIN, WEB

pytestmark = pytest.mark.looptime


@dataclass(slots=True)
class Dies:
    """A store of a process that dies at one of its writes, before its effect or after it."""

    store: Store
    at: int
    effect: bool
    writes: int = 0
    kinds: list[str] = field(default_factory=list[str])
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def __getattr__(self, name: str) -> object:
        found = getattr(self.store, name)
        if not name.startswith(("save_", "remove_", "take_requests")):
            return found

        async def write(*args: Any) -> object:
            self.writes += 1
            self.kinds.append(name)
            if self.writes < self.at:
                return await found(*args)
            if self.writes == self.at and self.effect:
                await found(*args)
            self.died.set()
            return await asyncio.Event().wait()

        return write


async def died(rig: FakeScene, at: int, *, effect: bool) -> list[str]:
    """Run an engine until it dies at this write, or all is done; return what it wrote by then."""
    store = Dies(rig.store, at, effect)
    rig.wrap = lambda _: cast("Store", cast("object", store))
    async with rig.running():
        with suppress(TimeoutError):
            async with asyncio.timeout(30):
                await store.died.wait()
    rig.wrap = lambda plain: plain
    return store.kinds


@pytest.mark.parametrize("effect", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 10))
async def test_a_crash_at_each_write_of_the_move_loses_and_doubles_nothing(
    at: int, *, effect: bool
) -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig)
    before = await ids(rig, WEB)
    await adopt(rig)
    await died(rig, at, effect=effect)
    assert await ids(rig, WEB) | await ids(rig) == before
    if WEB not in await rows(rig):
        rig.beside = ()
    async with rig.running():
        await rig.pass_by(30 * MIN)
        assert await rig.phases() == [READY] * 3
    await has_moved(rig, before)


async def test_the_move_has_as_many_writes_as_are_tried() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig)
    await adopt(rig)
    kinds = await died(rig, 1000, effect=True)
    begin = kinds.index("save_fleet")
    assert kinds[begin : begin + 8] == [
        "save_fleet",
        "take_requests",
        "save_fleet",
        *["save_machine"] * 3,
        "remove_fleet",
        "save_fleet",
    ]


@pytest.mark.parametrize("at", range(1, 9))
async def test_a_second_engine_goes_on_where_the_first_one_stopped(at: int) -> None:
    rig = FakeScene(OLD, exclusive=False)
    await grown(rig)
    rename(rig)
    before = await ids(rig, WEB)
    await adopt(rig)
    store = Dies(rig.store, at, effect=True)
    rig.wrap = lambda _: cast("Store", cast("object", store))
    first = rig.engine("a")
    rig.wrap = lambda plain: plain
    async with asyncio.TaskGroup() as group, rig.running("b"):
        task = group.create_task(first.run())
        await rig.pass_by(30 * MIN)
        task.cancel()
        assert await rig.phases() == [READY] * 3
    await has_moved(rig, before)


@pytest.mark.parametrize("at", [4, 5])
async def test_the_old_table_that_comes_back_in_the_middle_keeps_what_is_left(at: int) -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig)
    before = await ids(rig, WEB)
    await adopt(rig)
    await died(rig, at, effect=True)
    moved, left = await ids(rig), await ids(rig, WEB)
    assert moved
    assert left
    rename(rig, replace(NEW, size=len(moved)), replace(OLD, size=len(left)))
    async with rig.running():
        await rig.pass_by(60 * MIN)
    assert (await ids(rig), await ids(rig, WEB)) == (moved, left)
    assert moved | left == before
    assert len(rig.calls(MAKE_SERVER)) == 3
    assert not rig.calls(TERMINATE)
    assert await rig.store.orphans() == ()
    assert {(row.adopts, row.condition) for row in (await rows(rig)).values()} == {(None, "")}
