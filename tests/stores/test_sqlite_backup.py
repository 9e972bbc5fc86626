"""Backups: one whole file, taken beside an engine, that reads as the store did; or none at all."""

import shutil
import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hostler.domain.errors import StoreDamaged, StoreError, StoreMissing
from hostler.domain.ids import MachineId
from hostler.stores.sqlite import backup
from hostler.stores.sqlite.backup import back_up
from hostler.stores.sqlite.opening import open_engine, open_reading, reading_connection
from hostler.stores.sqlite.store import SqliteStore
from hostler.stores.sqlite.worker import Inline
from hostler.testing.conformance.store.records import WEB, filled, machine

PAGE, LEAF = 4096, 0x0D
"""How a page of SQLite that holds records begins."""
NOW = datetime(2026, 11, 28, 1, 2, 3, tzinfo=UTC)


def engine(path: Path) -> SqliteStore:
    return open_engine(path, "i-1", runner=Inline)


async def machines(path: Path) -> Sequence[MachineId]:
    store = open_reading(path, runner=Inline)
    found = [one.id for one in await store.machines(WEB)]
    await store.close()
    return found


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_what_an_engine_has_just_saved_is_in_the_copy_which_is_one_file(
    tmp_path: Path,
) -> None:
    store = engine(tmp_path / "web.db")
    await filled(store, *(machine(number) for number in range(100)))
    (tmp_path / "safe").mkdir()
    copy = back_up(tmp_path / "web.db", tmp_path / "safe/copy.db", NOW)
    await store.close()
    assert names(copy.parent) == ["copy.db"]
    assert copy.read_bytes()[18:20] == b"\1\1"  # it needs no log, and no shared memory
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert len(await machines(copy)) == 100


async def test_what_is_saved_later_is_not_in_the_copy(tmp_path: Path) -> None:
    store = engine(tmp_path / "web.db")
    await filled(store, machine(1))
    copy = back_up(tmp_path / "web.db", tmp_path / "copy.db", NOW)
    await filled(store, machine(2))
    await store.close()
    assert await machines(copy) == [machine(1).id]
    assert len(await machines(tmp_path / "web.db")) == 2


async def test_a_copy_in_the_place_of_the_store_is_the_store(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    store = engine(path)
    await filled(store, machine(1))
    identity = await store.identity()
    copy = back_up(path, tmp_path / "copy.db", NOW)
    await store.close()
    shutil.copy(copy, path)
    again = engine(path)
    assert (await again.identity()).own == identity.own
    assert [one.id for one in await again.machines(WEB)] == [machine(1).id]
    await again.close()


@pytest.mark.parametrize("to", [None, "."])
async def test_a_copy_is_named_by_the_store_and_the_time(tmp_path: Path, to: str | None) -> None:
    await engine(tmp_path / "web.db").close()
    copy = back_up(tmp_path / "web.db", tmp_path / to if to else None, NOW)
    assert copy == tmp_path / "web-20261128T010203Z.db"


async def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    await engine(path).close()
    before = path.read_bytes()
    (tmp_path / "notes").write_text("mine")
    for there in (path, tmp_path / "notes"):
        with pytest.raises(StoreError, match="is there already"):
            back_up(path, there, NOW)
    assert path.read_bytes() == before
    assert (tmp_path / "notes").read_text() == "mine"


async def test_a_store_of_another_version_is_copied_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    await engine(path).close()
    for version in (1, 99):
        _sql(path, f"PRAGMA user_version = {version}")
        copy = back_up(path, tmp_path / f"copy-{version}.db", NOW)
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (version,)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, StoreMissing),
        (b"", StoreError),
        (b"no database, but longer than its header is" * 9, StoreDamaged),
    ],
)
def test_of_what_is_no_store_no_copy_is_made(
    tmp_path: Path, content: bytes | None, error: type[Exception]
) -> None:
    path = tmp_path / "web.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=r"web\.db"):
        back_up(path, tmp_path / "copy.db", NOW)
    assert names(tmp_path) == ([] if content is None else ["web.db"])


def test_another_programs_database_is_not_copied(tmp_path: Path) -> None:
    _sql(tmp_path / "web.db", "CREATE TABLE theirs (text)")
    with pytest.raises(StoreDamaged, match="another program's"):
        back_up(tmp_path / "web.db", None, NOW)
    assert names(tmp_path) == ["web.db"]


async def test_a_copy_of_a_store_that_is_damaged_inside_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    store = engine(path)
    await filled(store, *(machine(number) for number in range(100)))
    await store.close()
    whole = bytearray(path.read_bytes())
    last = max(at for at in range(PAGE, len(whole), PAGE) if whole[at] == LEAF)
    whole[last + 8 : last + 10] = b"\x00\x01"  # where its first record begins
    path.write_bytes(whole)
    with pytest.raises(StoreDamaged, match=r"web\.db is not a readable .*\((On tree|Tree) .*"):
        back_up(path, tmp_path / "copy.db", NOW)
    assert "copy.db" not in names(tmp_path)


async def test_the_store_is_let_go_of_once_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened = tmp_path / "web.db", list[sqlite3.Connection]()
    await engine(path).close()

    def noted(store: Path) -> sqlite3.Connection:
        opened.append(reading_connection(store))
        return opened[-1]

    monkeypatch.setattr(backup, "reading_connection", noted)
    back_up(path, tmp_path / "copy.db", NOW)
    (source,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        source.execute("SELECT 1")


async def test_a_place_that_cannot_be_is_named(tmp_path: Path) -> None:
    await engine(tmp_path / "web.db").close()
    with pytest.raises(StoreError, match="nowhere is no folder"):
        back_up(tmp_path / "web.db", tmp_path / "nowhere/copy.db", NOW)


def _sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
