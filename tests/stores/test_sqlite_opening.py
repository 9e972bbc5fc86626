"""Opening a file: what is made, what is refused, and that a refused file is left as it is."""

import errno
import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostler.domain.errors import StoreBusy, StoreDamaged, StoreError, StoreTooNew
from hostler.stores.sqlite.opening import open_beside, open_engine, open_reading, open_shared
from hostler.stores.sqlite.store import SqliteStore
from hostler.stores.sqlite.worker import Inline
from hostler.testing.conformance.store.records import WEB, filled, machine, request

FULL = 2  # as SQLite counts it: each commit is on the disk before it is answered
Opener = Callable[[Path], SqliteStore]


def engine(path: Path) -> SqliteStore:
    return open_engine(path, "i-1", runner=Inline)


def beside(path: Path) -> SqliteStore:
    return open_beside(path, runner=Inline)


def shared(path: Path) -> SqliteStore:
    return open_shared(path, "i-1")


every_opener = pytest.mark.parametrize("opener", [engine, beside, shared])


async def written(path: Path, count: int = 100) -> None:
    """Leave a store with some machines, closed, so that all of it is in the one file."""
    store = engine(path)
    await filled(store, *(machine(number) for number in range(count)))
    await store.close()


def sql(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def synchronous(db: sqlite3.Connection) -> int:
    (number,) = db.execute("PRAGMA synchronous").fetchone()
    return number


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def let_read_only(path: Path) -> None:
    path.parent.chmod(0o777)
    path.chmod(0o444)
    path.with_name(f"{path.name}.lock").chmod(0o666)


def take_rights(folder: Path) -> None:
    """Let everybody read a folder's files, and nobody write there."""
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)


def give_rights(folder: Path) -> None:
    folder.chmod(0o755)


@contextmanager
def as_nobody() -> Generator[None]:
    """Put off the rights of root, for whom nothing is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_new_file_is_born_with_the_fresh_id_and_keeps_it(tmp_path: Path):
    for fresh in ("i-1", "i-2"):
        store = open_engine(tmp_path / "hostler.db", fresh, runner=Inline)
        assert (await store.identity()).own == "i-1"
        await store.close()


async def test_only_the_engine_knows_that_former_holders_are_dead(tmp_path: Path):
    path = tmp_path / "hostler.db"
    opened = [engine(path), beside(path), shared(path)]
    assert [store.exclusive for store in opened] == [True, False, False]
    for store in opened:
        await store.close()


async def test_only_simulations_do_not_wait_for_the_disk(tmp_path: Path):
    path = tmp_path / "hostler.db"
    opened = [engine(path), beside(path), shared(path), open_shared(path, "i-1", durable=True)]
    found = [await store._runner.run(synchronous, writes=False) for store in opened]
    assert found == [FULL, FULL, 0, FULL]
    for store in opened:
        await store.close()


def on_disk(path: Path) -> tuple[int, list[str]]:
    """Return the size of the store's log, and what SQLite has open of files without a name."""
    opened = [str(fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    nameless = [name for name in opened if "etilqs_" in name]
    return path.with_name(f"{path.name}-wal").stat().st_size, nameless


async def test_what_a_batch_changes_is_in_memory_until_it_is_committed(tmp_path: Path):
    path = tmp_path / "hostler.db"
    store = engine(path)

    def make(db: sqlite3.Connection) -> tuple[int, list[str]]:
        db.execute("CREATE TABLE large (text)")
        db.executemany("INSERT INTO large VALUES (?)", [("x" * 4000,)] * 1200)
        return on_disk(path)

    def change(db: sqlite3.Connection) -> tuple[int, list[str]]:
        db.execute("UPDATE large SET text = replace(text, 'x', 'y')")
        return on_disk(path)

    before = on_disk(path)
    assert await store._runner.run(make, writes=True) == before
    _, nameless = await store._runner.run(change, writes=True)
    assert nameless == before[1] == []
    await store.close()


async def test_a_closed_store_leaves_one_file_and_its_lock(tmp_path: Path):
    await written(tmp_path / "hostler.db")
    assert names(tmp_path) == ["hostler.db", "hostler.db.lock"]


async def test_paths_may_have_any_character(tmp_path: Path):
    folder = tmp_path / "größe 100% #1?mode=ro&x ☃"
    folder.mkdir()
    await written(folder / "ställe;'\".db")
    store = beside(folder / "ställe;'\".db")
    assert len(await store.machines(WEB)) == 100
    await store.close()
    assert len(names(folder)) == 2


async def test_an_empty_file_becomes_a_store(tmp_path: Path):
    path = tmp_path / "hostler.db"
    path.touch()
    await written(path)


@every_opener
async def test_a_backup_without_a_log_can_be_opened_and_written(opener: Opener, tmp_path: Path):
    path, backup = tmp_path / "hostler.db", tmp_path / "backup.db"
    await written(path)
    sql(path, f"VACUUM INTO '{backup}'")
    store = opener(backup)
    for size in range(3):
        await store.request(request(size))
    assert len(await store.requests()) == 3
    await store.close()


def test_beside_makes_nothing(tmp_path: Path):
    path = tmp_path / "hostler.db"
    with pytest.raises(StoreError, match=r"there is no store at .*hostler run"):
        beside(path)
    assert names(tmp_path) == []
    path.touch()
    with pytest.raises(StoreError, match="holds no store yet"):
        beside(path)
    assert path.read_bytes() == b""


@every_opener
def test_a_folder_is_no_store(opener: Opener, tmp_path: Path):
    with pytest.raises(StoreError, match=f"{tmp_path} is a folder; name a file in it"):
        opener(tmp_path)


@every_opener
def test_a_missing_folder_is_named(opener: Opener, tmp_path: Path):
    with pytest.raises(StoreError, match=r"not/there is no folder|no store at .*/not/there"):
        opener(tmp_path / "not/there/hostler.db")


@every_opener
async def test_a_newer_store_is_left_untouched(opener: Opener, tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path)
    sql(path, "PRAGMA user_version = 99", "DROP TABLE fleets", "CREATE TABLE later (x)")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match=rf"{path} was written by a newer hostler \(schema 99"):
        opener(path)
    assert path.read_bytes() == before


def text(path: Path) -> None:
    path.write_text("size = 3\n" * 200)


def short_text(path: Path) -> None:
    path.write_text("x\n")


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])


def header_only(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def torn_schema(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * 3996 + whole[4096:])


def another_program(path: Path) -> None:
    path.unlink()
    sql(path, "CREATE TABLE bookmarks (url)")


def another_kind(path: Path) -> None:
    path.unlink()
    sql(path, "PRAGMA application_id = 7")


@every_opener
@pytest.mark.parametrize(
    "spoil",
    [
        text,
        short_text,
        noise,
        truncated,
        header_only,
        torn_schema,
        another_program,
        another_kind,
    ],
)
async def test_a_damaged_file_is_left_as_it_is(
    opener: Opener, spoil: Callable[[Path], None], tmp_path: Path
):
    path = tmp_path / "hostler.db"
    await written(path)
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=str(path)) as raised:
        opener(path)
    assert "backup" in str(raised.value)
    assert path.read_bytes() == before


async def test_damage_in_the_middle_is_told_when_it_is_read(tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path, 1000)
    whole = bytearray(path.read_bytes())
    whole[10 * 4096 :] = b"\xff" * (len(whole) - 10 * 4096)
    path.write_bytes(whole)
    store = engine(path)
    with pytest.raises(StoreDamaged, match=str(path)):
        await store.machines(WEB)
    await store.close()


@pytest.mark.parametrize("document", ["{", "{}", '{"name": 1}', "\x00", "null"])
async def test_a_record_that_is_none_is_damage(document: str, tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE fleets SET doc = ?", (document,))
    connection.commit()
    connection.close()
    store = engine(path)
    with pytest.raises(StoreDamaged, match="a record in it cannot be read"):
        await store.fleets()
    await store.close()


@every_opener
def test_a_read_only_folder_is_told(opener: Opener):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "hostler.db"
        sql(path, "PRAGMA journal_mode = WAL", "PRAGMA application_id = 1752134516")
        path.chmod(0o444)
        Path(name).chmod(0o555)
        with as_nobody(), pytest.raises(StoreError, match="must be writable") as raised:
            opener(path)
        assert name in str(raised.value)
        Path(name).chmod(0o755)


async def test_a_read_only_file_is_told():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "hostler.db"
        await written(path)
        let_read_only(path)
        with as_nobody():
            store = engine(path)
            with pytest.raises(StoreError, match="must be writable"):
                await filled(store)
            await store.close()


async def test_the_lock_is_free_again_when_opening_failed(tmp_path: Path):
    path = tmp_path / "hostler.db"
    text(path)
    for _ in range(2):
        with pytest.raises(StoreDamaged):
            engine(path)
    path.unlink()
    await written(path)


# ---------------------------------------------------------------- who may read and write


def reading(path: Path) -> SqliteStore:
    return open_reading(path, runner=Inline)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
async def test_a_new_file_is_its_owners_alone(umask: int, tmp_path: Path):
    path = tmp_path / "hostler.db"
    before = os.umask(umask)
    try:
        store = engine(path)
        await filled(store)
        files = {name: mode(tmp_path / name) for name in names(tmp_path) if "lock" not in name}
        await store.close()
    finally:
        os.umask(before)
    assert files == dict.fromkeys(("hostler.db", "hostler.db-wal", "hostler.db-shm"), 0o600)


async def test_rights_that_somebody_gave_to_a_file_stay(tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path)
    path.chmod(0o640)
    await engine(path).close()
    assert mode(path) == 0o640


async def test_reading_changes_nothing_and_cannot(tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path)
    content = path.read_bytes()
    store = reading(path)
    assert len(await store.machines(WEB)) == 100
    with pytest.raises(StoreError):
        await store.request(request(7))
    await store.close()
    assert path.read_bytes() == content


@pytest.mark.parametrize("running", [False, True])
async def test_who_may_only_read_reads(*, running: bool):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "hostler.db"
        await written(path)
        writer = engine(path) if running else None
        if writer is not None:
            await writer.request(request(7))
        take_rights(path.parent)
        with as_nobody():
            store = reading(path)
            found = len(await store.machines(WEB)), len(await store.requests())
            await store.close()
        if writer is not None:
            await writer.close()
        give_rights(path.parent)
    assert found == (100, int(running))


async def test_who_may_not_read_is_sent_to_the_user_of_the_engine():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "hostler.db"
        await written(path)
        give_rights(path.parent)
        with as_nobody(), pytest.raises(StoreError, match="may not be read by this user"):
            reading(path)


async def test_a_reader_sees_what_an_engine_writes_that_starts_after_it(tmp_path: Path):
    path = tmp_path / "hostler.db"
    await written(path)
    store = reading(path)
    assert await store.requests() == ()
    writer = engine(path)
    await writer.request(request(7))
    assert len(await store.requests()) == 1
    await writer.close()
    assert len(await store.requests()) == 1
    await store.close()


@pytest.mark.parametrize("call", ["open", "write"])
async def test_no_room_for_the_lock_is_told(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(
            StoreBusy, match=r"hostler\.db\.lock cannot be written .*free some room"
        ):
            engine(tmp_path / "hostler.db")
    await engine(tmp_path / "hostler.db").close()
