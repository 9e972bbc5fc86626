"""The file under several processes: one engine only, and nothing answered is lost by a kill."""

import random
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hostler.domain.errors import StoreHeld
from hostler.domain.ids import MachineId
from hostler.stores.sqlite.opening import open_beside, open_engine
from hostler.stores.sqlite.worker import Inline
from hostler.testing.conformance.store.records import WEB, request

WRITER = Path(__file__).with_name("writer.py")


@contextmanager
def writer(path: Path) -> Generator[subprocess.Popen[str]]:
    command = (sys.executable, str(WRITER), str(path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own script
        try:
            yield process
        finally:
            process.kill()


def first(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


def rest(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readlines()


async def test_a_second_engine_is_told_who_has_the_file(tmp_path: Path):
    path = tmp_path / "hostler.db"
    with writer(path) as process:
        first(process, 1)
        with pytest.raises(StoreHeld) as raised:
            open_engine(path, "i-2")
        assert str(process.pid) in str(raised.value)
        assert str(path) in str(raised.value)


async def test_a_link_to_the_file_does_not_fool_the_lock(tmp_path: Path):
    path, link = tmp_path / "hostler.db", tmp_path / "link.db"
    link.symlink_to(path)
    with writer(path) as process:
        first(process, 1)
        with pytest.raises(StoreHeld):
            open_engine(link, "i-2")


async def test_an_engine_in_the_same_process_holds_the_file_too(tmp_path: Path):
    store = open_engine(tmp_path / "hostler.db", "i-1", runner=Inline)
    with pytest.raises(StoreHeld):
        open_engine(tmp_path / "hostler.db", "i-2", runner=Inline)
    await store.close()
    again = open_engine(tmp_path / "hostler.db", "i-2", runner=Inline)
    assert (await again.identity()).own == "i-1"
    await again.close()


async def test_other_commands_write_requests_beside_a_busy_engine(tmp_path: Path):
    path = tmp_path / "hostler.db"
    with writer(path) as process:
        first(process, 1)
        store = open_beside(path)
        assert not store.exclusive
        before = await store.revision()
        saved = await store.request(request())
        assert await store.requests() == (saved,)
        assert len(await store.machines(WEB)) == 8
        first(process, 50)
        assert await store.revision() > before + 1
        await store.close()


async def test_a_killed_writer_loses_nothing_that_was_answered(tmp_path: Path):
    path, dice, answered = tmp_path / "hostler.db", random.Random(7), dict[MachineId, int]()
    for _ in range(20):
        with writer(path) as process:
            lines = first(process, dice.randrange(1, 150))
            process.kill()
            lines += rest(process)
        answered |= {MachineId(one): int(version) for one, version in map(str.split, lines)}
        store = open_engine(path, "never used", runner=Inline)
        assert store.exclusive
        stored = {one.id: one.version for one in await store.machines(WEB)}
        assert all(stored[one] >= version for one, version in answered.items())
        output = [saved.image for saved in await store.events(limit=10**6)]
        assert sum(stored.values()) == len(stored) + len(output)
        await store.close()
    assert sum(answered.values()) > 20 * 8
