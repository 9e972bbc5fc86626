"""A running store in trouble: no room, a locked file, a file that went away."""

import asyncio
import errno
import os
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.domain.errors import Conflict, StoreBusy, StoreError, StoreLost, StoreUnusable
from hostler.ports.store import Store
from hostler.stores.sqlite.opening import RunnerOf, open_engine
from hostler.stores.sqlite.store import SqliteStore
from hostler.stores.sqlite.worker import Inline, Threaded
from hostler.testing.conformance.store.records import (
    OPEN,
    WEB,
    event,
    filled,
    machine,
    request,
    stored,
    taken,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hostler.db"


@pytest.fixture(params=[Inline, Threaded])
async def store(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[SqliteStore]:
    runner: RunnerOf = request.param
    opened = open_engine(path, "i-1", runner=runner, patience=timedelta(0))
    await filled(opened, *(machine(number) for number in range(10)))
    yield opened
    await opened.close()


def delete(path: Path) -> None:
    path.unlink()


def there(path: Path) -> bool:
    return path.exists()


async def pages(store: SqliteStore, most: int) -> None:
    """Let the database grow to so many pages, or at least to what it has."""
    await store._runner.run(
        lambda db: db.execute(f"PRAGMA max_page_count = {most}").fetchone(), writes=False
    )


async def grow(store: Store, number: int, size: int = 20_000) -> None:
    read = await stored(store, machine(number).id)
    await store.save_machine(replace(read, error="x" * size), (event(read),), OPEN)


async def test_a_full_disk_loses_nothing_and_heals(store: SqliteStore, path: Path):
    await pages(store, 1)
    before = await store.machines(WEB)
    with pytest.raises(StoreBusy, match="no room is left to write") as raised:
        await grow(store, 1)
    assert str(path) in str(raised.value)
    assert raised.value.retryable
    assert await store.machines(WEB) == before
    assert await store.events() == ()
    await pages(store, 100_000)
    await grow(store, 1)
    assert (await stored(store, machine(1).id)).version == 2
    assert len(await store.events()) == 1


async def test_on_a_full_disk_each_save_learns_its_own_truth(store: SqliteStore):
    """Those that fit are kept, those that do not are told, and a Conflict is still one."""
    await pages(store, 1)
    read = await store.machines(WEB)
    big = [replace(one, error="x" * 50_000) if one.serial % 2 else one for one in read]
    big[0] = replace(big[0], version=7)
    results = await asyncio.gather(
        *(store.save_machine(one, (), OPEN) for one in big), return_exceptions=True
    )
    kinds = [type(result).__name__ for result in results]
    assert kinds == ["Conflict", "StoreBusy", *(["Machine", "StoreBusy"] * 4)]
    saved = [one.serial for one in await store.machines(WEB) if one.version == 2]
    assert saved == [2, 4, 6, 8]
    await pages(store, 100_000)
    await asyncio.gather(*(grow(store, number) for number in range(10)))


async def test_a_locked_file_is_busy_until_it_is_free(store: SqliteStore, path: Path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    results = await asyncio.gather(
        *(store.request(request(size)) for size in range(5)), return_exceptions=True
    )
    assert {type(result) for result in results} == {StoreBusy}
    assert str(path) in str(results[0])
    assert "locked by another process" in str(results[0])
    assert len(await store.machines(WEB)) == 10, "readers are not kept waiting"
    other.execute("ROLLBACK")
    other.close()
    await store.request(request())
    assert len(await store.requests()) == 1


async def test_a_deleted_file_is_lost(store: SqliteStore, path: Path):
    lease = await taken(store, "fleet/web", "a")
    delete(path)
    with pytest.raises(StoreLost, match=f"{path} was deleted or replaced"):
        await grow(store, 1)
    with pytest.raises(StoreLost):
        await store.renew_lease(lease)
    with pytest.raises(StoreLost):
        await store.revision()
    assert not there(path)


async def test_a_replaced_file_is_lost(store: SqliteStore, path: Path, tmp_path: Path):
    other = tmp_path / "other.db"
    await open_engine(other, "i-2", runner=Inline).close()
    other.replace(path)
    with pytest.raises(StoreLost):
        await store.request(request())
    untouched = sqlite3.connect(path)
    assert untouched.execute("SELECT count(*) FROM requests").fetchone() == (0,)
    untouched.close()


async def test_a_deleted_log_is_lost(store: SqliteStore, path: Path):
    delete(path.with_name(f"{path.name}-wal"))
    with pytest.raises(StoreLost):
        await store.request(request())


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ESTALE])
async def test_a_file_that_cannot_be_looked_at_is_an_error_of_ours_and_heals(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    """What is no StoreError would end the engine, as an error of the program."""

    def refuse(file: str) -> os.stat_result:
        raise OSError(number, os.strerror(number), file)

    with monkeypatch.context() as failing:
        failing.setattr("hostler.stores.sqlite.file.os.stat", refuse)
        with pytest.raises(StoreError, match=f"{path} cannot be opened") as raised:
            await store.revision()
        with pytest.raises(StoreError):
            await store.request(request())
    assert not isinstance(raised.value, StoreUnusable), "it may pass"
    assert len(await store.requests()) == 0
    await store.request(request())


async def test_a_file_whose_folder_is_none_any_more_is_lost(store: SqliteStore, path: Path):
    moved = path.parent.rename(path.parent.with_name("moved"))
    path.parent.touch()
    with pytest.raises(StoreLost):
        await store.revision()
    path.parent.unlink()
    moved.rename(path.parent)


async def test_a_closed_store_says_so(store: SqliteStore):
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.machines(WEB)


async def test_numbers_beyond_the_columns_are_refused(store: SqliteStore):
    read = await stored(store, machine(1).id)
    with pytest.raises(StoreError, match="cannot be stored"):
        await store.save_machine(replace(read, serial=2**63), (event(read),), OPEN)
    with pytest.raises(Conflict):
        await store.save_machine(replace(read, version=5), (), OPEN)
    assert await store.events() == ()
