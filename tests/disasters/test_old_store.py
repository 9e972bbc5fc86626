"""A store that is older than the account, or has a twin, destroys nothing that is healthy."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.servers import FLEET, Hostler, Rig, play
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_engine
from hostler.stores.sqlite.worker import Inline

MINUTE = timedelta(minutes=1)
LONG = timedelta(hours=1).total_seconds()
RECLAIMS = replace(FLEET, size=3, reclaim=True)

Scene = Callable[[Rig], Awaitable[None]]


def opened(path: Path) -> MemoryStore:
    """Return a store in a file: engines of scenes ask of any store what its port promises."""
    store: Any = open_engine(path, "i-1", runner=Inline)
    return cast("MemoryStore", store)


def copied(path: Path, copy: Path) -> None:
    """Copy a store as a backup does, whoever is writing."""
    with sqlite3.connect(path) as source, sqlite3.connect(copy) as target:
        source.backup(target)
    target.close()
    source.close()


def removed_by_force(path: Path, *tables: str) -> None:
    """Remove every record of a machine, and leave what was issued."""
    with sqlite3.connect(path, isolation_level=None) as db:
        for table in tables:
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    db.close()


def servers(rig: Rig) -> set[str]:
    return {leak.id for leak in rig.servers()}


async def ended(hostler: Hostler) -> None:
    await hostler.stop()
    await hostler.store.close()


def test_a_store_that_was_put_back_leaves_newer_servers_alone_until_they_are_adopted(
    tmp_path: Path,
) -> None:
    """Three newer servers of six: none is reclaimed, and none is bought instead of them."""

    async def scene(rig: Rig) -> None:
        first = rig.hostler(RECLAIMS, opened(tmp_path / "new.db"))
        await first.rests(3, 15 * MINUTE)
        copied(tmp_path / "new.db", tmp_path / "old.db")
        await first.scale(6)
        await first.rests(6, 15 * MINUTE)
        await ended(first)
        six = servers(rig)
        second = rig.hostler(RECLAIMS, opened(tmp_path / "old.db"))
        await second.scale(6)
        await asyncio.sleep(LONG)
        assert servers(rig) == six
        assert len(await second.machines()) == 3
        assert "never issued" in (await second.row()).condition
        classes = {orphan.cls for orphan in await second.store.orphans()}
        assert classes == {OrphanClass.UNISSUED}
        await second.request(RequestKind.ADOPT)
        await second.rests(6, 15 * MINUTE)
        assert servers(rig) == six
        await second.leaves_nothing(15 * MINUTE)
        await second.store.close()

    play(scene)


async def twins(rig: Rig, folder: Path) -> tuple[Hostler, Hostler]:
    """Return two engines on copies of one store, which has three machines that are ready."""
    first = rig.hostler(RECLAIMS, opened(folder / "one.db"))
    await first.rests(3, 15 * MINUTE)
    copied(folder / "one.db", folder / "other.db")
    return first, rig.hostler(RECLAIMS, opened(folder / "other.db"))


def test_two_engines_on_copies_of_one_store_destroy_nothing_of_each_other(tmp_path: Path) -> None:
    """Whichever makes a machine, the other one makes none once it looked, and keeps what it has."""

    async def scene(rig: Rig) -> None:
        first, second = await twins(rig, tmp_path)
        await first.scale(5)
        await first.rests(5, 15 * MINUTE)
        five = servers(rig)
        await asyncio.sleep(rig.settings.quiet.total_seconds())  # the other one looks by then
        await second.scale(8)
        await asyncio.sleep(LONG)
        assert servers(rig) == five
        assert await first.ready() == 5
        assert "never issued" in (await second.row()).condition
        for hostler in (first, second):
            await ended(hostler)

    play(scene)


def test_a_twin_that_is_asked_before_it_looks_makes_what_it_was_asked_for_and_no_more(
    tmp_path: Path,
) -> None:
    """An observation is good for as long as the next one takes to come: that one ends it."""

    async def scene(rig: Rig) -> None:
        first, second = await twins(rig, tmp_path)
        await asyncio.sleep(5)
        await first.scale(4)
        await asyncio.sleep(5)
        four = servers(rig)
        assert len(four) == 4
        await second.scale(5)
        await asyncio.sleep(LONG)
        six = servers(rig)
        assert len(six) == 6
        assert six > four
        await second.scale(8)
        await asyncio.sleep(LONG)
        assert servers(rig) == six
        for hostler, ready in ((first, 4), (second, 5)):
            assert await hostler.ready() == ready
            assert "never issued" in (await hostler.row()).condition
            await ended(hostler)

    play(scene)


CI = replace(RECLAIMS, name=FleetName("ci"), size=2)


def test_servers_of_a_fleet_that_neither_store_nor_file_knows_are_told_of(tmp_path: Path) -> None:
    """A store from before that fleet: its servers bill on, and nobody else would name them."""

    async def scene(rig: Rig) -> None:
        first = rig.hostler(RECLAIMS, opened(tmp_path / "new.db"))
        await first.rests(3, 15 * MINUTE)
        copied(tmp_path / "new.db", tmp_path / "old.db")
        await ended(first)
        other = rig.hostler(CI, opened(tmp_path / "new.db"))
        await asyncio.sleep(LONG)
        assert await other.ready() == 2
        await ended(other)
        five = servers(rig)
        second = rig.hostler(RECLAIMS, opened(tmp_path / "old.db"))
        await second.scale(4)
        await asyncio.sleep(LONG)
        assert await second.ready() == 4
        orphans = await second.store.orphans()
        assert five < servers(rig)
        assert {orphan.cls for orphan in orphans} == {OrphanClass.NO_FLEET}
        assert sum(orphan.kind == "server" for orphan in orphans) == 2
        assert all("put that fleet's table" in orphan.blocked for orphan in orphans)
        assert (await second.row()).condition == ""
        await ended(second)

    play(scene)


def test_two_accounts_of_one_project_do_not_tell_of_each_others_servers(tmp_path: Path) -> None:
    """Each lists what the other one has; that is on record, and somebody looks after it."""

    async def scene(rig: Rig) -> None:
        first = rig.hostler(CI, opened(tmp_path / "one.db"))
        await first.rests(2, 15 * MINUTE)
        second = rig.hostler(RECLAIMS, first.store)
        await asyncio.sleep(LONG)
        assert await second.ready() == 3
        assert await first.store.orphans() == ()
        assert len(servers(rig)) == 5
        await second.stop()
        await ended(first)

    play(scene)


@pytest.mark.parametrize(
    "tables", [("machines",), ("machines", "events", "history")], ids=["records", "and history"]
)
def test_what_was_issued_and_lost_its_record_is_reclaimed(
    tmp_path: Path, tables: tuple[str, ...]
) -> None:
    """Removed by force, past a finalizer: an ordinary orphan, which `reclaim = true` removes."""

    async def scene(rig: Rig) -> None:
        first = rig.hostler(RECLAIMS, opened(tmp_path / "hostler.db"))
        await first.rests(3, 15 * MINUTE)
        await ended(first)
        removed_by_force(tmp_path / "hostler.db", "claims", *tables)
        three = servers(rig)
        second = rig.hostler(RECLAIMS, opened(tmp_path / "hostler.db"))
        await second.rests(3, timedelta(hours=2))
        assert not three & servers(rig)
        await second.leaves_nothing(15 * MINUTE)
        await second.store.close()

    play(scene)
