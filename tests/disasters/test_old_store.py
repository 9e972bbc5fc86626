"""A store that is older than the account, or has a twin, destroys nothing that is healthy."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

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


def test_two_engines_on_copies_of_one_store_destroy_nothing_of_each_other(tmp_path: Path) -> None:
    """Whichever makes a machine, the other one stops making any, and keeps what it has."""

    async def scene(rig: Rig) -> None:
        first = rig.hostler(RECLAIMS, opened(tmp_path / "one.db"))
        await first.rests(3, 15 * MINUTE)
        copied(tmp_path / "one.db", tmp_path / "other.db")
        second = rig.hostler(RECLAIMS, opened(tmp_path / "other.db"))
        await first.scale(5)
        await first.rests(5, 15 * MINUTE)
        five = servers(rig)
        await second.scale(8)
        await asyncio.sleep(LONG)
        assert servers(rig) == five
        assert await first.ready() == 5
        assert "never issued" in (await second.row()).condition
        for hostler in (first, second):
            await ended(hostler)

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
