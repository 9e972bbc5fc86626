import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.app.store_registry import STORES, fresh_installation
from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import ConfigError, RequestRefused, StoreError, StoreMissing
from hostler.domain.ids import FleetName, InstallationId
from hostler.frontends.cli.context import Purpose
from hostler.ports.store import Store
from hostler.providers.scaleway.common.owner_tags import writable
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.file import holder, is_held
from hostler.stores.sqlite.opening import open_engine

MEMORY = StoreUrl("memory")


def config(store: StoreUrl) -> Config:
    return Config(
        path=Path("web.toml"),
        store=store,
        accounts=(),
        fleets=(),
        templates={},
        settings=Settings(),
    )


def at(path: Path) -> StoreUrl:
    return StoreUrl("sqlite", str(path))


def open_store(url: StoreUrl, purpose: Purpose) -> Store:
    return STORES[url.scheme].open(url, purpose)


def test_fresh_installations_differ_and_fit_into_owner_tags() -> None:
    one, other = fresh_installation(), fresh_installation()
    assert one != other
    assert writable(InstallationId(one), FleetName("web"))


def test_reading_where_no_store_is_makes_none(tmp_path: Path) -> None:
    for path in (tmp_path / "web.db", tmp_path / "not/there/web.db"):
        assert isinstance(open_store(at(path), Purpose.READ), MemoryStore)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["", "PRAGMA journal_mode = WAL"])
def test_a_file_that_an_engine_is_just_making_is_read_as_no_store_yet(
    mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "web.db"
    path.touch()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(mode)
    assert isinstance(open_store(at(path), Purpose.READ), MemoryStore)
    assert not STORES["sqlite"].exists(at(path))
    with pytest.raises(StoreMissing, match="hostler run"):
        open_store(at(path), Purpose.REQUEST)


def test_what_is_no_store_is_said_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    path.write_text("something else altogether, " * 100)
    assert STORES["sqlite"].exists(at(path))


async def test_a_request_needs_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="hostler run"):
        open_store(at(tmp_path / "web.db"), Purpose.REQUEST)


async def test_memory_is_for_the_engine_alone() -> None:
    assert isinstance(open_store(MEMORY, Purpose.ENGINE), MemoryStore)
    with pytest.raises(ConfigError, match="known only to the engine"):
        open_store(MEMORY, Purpose.READ)
    with pytest.raises(ConfigError, match="known only to the engine"):
        open_store(MEMORY, Purpose.REQUEST)
    assert await open_store(MEMORY, Purpose.CHECK).fleets() == ()
    assert not Composed().engine_runs(config(MEMORY))
    assert not Composed().store_exists(config(MEMORY))


async def test_an_engine_makes_its_store_where_the_url_says(tmp_path: Path) -> None:
    url = at(tmp_path / "web.db")
    assert not Composed().store_exists(config(url))
    async with Composed().store(config(url), Purpose.ENGINE):
        assert Composed().store_exists(config(url))
        assert Composed().engine_runs(config(url))
    assert not Composed().engine_runs(config(url))
    assert Composed().store_exists(config(url))


async def test_no_other_process_gets_the_signal_that_is_for_an_engine_in_a_container(
    tmp_path: Path,
) -> None:
    """Its number there, which it wrote beside the store, is another process's here."""
    path = tmp_path / "web.db"
    engine = open_engine(path, "h1")
    assert holder(path) == os.getpid()
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import time; time.sleep(60)"
    )
    path.with_name("web.db.lock").write_text(f"{other.pid}\n")
    with pytest.raises(RequestRefused, match="in a container: send its process SIGHUP"):
        Composed().ask_to_reload(config(at(path)))
    assert holder(path, tmp_path / "no-proc") == other.pid  # where nothing tells, it is believed
    other.kill()
    assert await other.wait() == -signal.SIGKILL
    await engine.close()
    assert holder(path) is None


async def test_a_running_engine_is_noticed_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    assert not is_held(path)
    engine = open_engine(path, "h1")
    assert is_held(path)
    assert is_held(path)
    await engine.close()
    assert not is_held(path)
    await open_engine(path, "h2").close()
