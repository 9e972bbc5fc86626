import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hostler.app.compose import Composed, fresh_installation, is_held, open_store
from hostler.app.provider_registry import BUILT_IN, Kinds
from hostler.config.values import MEMORY, Config
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import ConfigError, StoreError
from hostler.domain.ids import FleetName, InstallationId
from hostler.frontends.cli.context import Purpose
from hostler.providers.scaleway.common.owner_tags import writable
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_engine


@dataclass(frozen=True)
class Point:
    """An entry point of a package."""

    name: str
    value: str
    load: Callable[[], object]


class Fine:
    """A kind that can be made."""


def broken() -> object:
    raise ImportError("no module named x")


def packaged(monkeypatch: pytest.MonkeyPatch, *points: Point) -> None:
    def entry_points(group: str, name: str | None = None) -> list[Point]:
        assert group == "hostler.providers"
        return [point for point in points if name in {None, point.name}]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def config(store: Path) -> Config:
    return Config(
        path=store.with_suffix(".toml"),
        store=store,
        accounts=(),
        fleets=(),
        templates={},
        settings=Settings(),
    )


def test_built_in_kinds_are_found_without_asking_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(importlib.metadata, "entry_points")
    for name in BUILT_IN:
        assert Kinds()[name]().settings


def test_a_package_adds_a_kind_and_cannot_replace_a_built_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packaged(
        monkeypatch,
        Point("files", "pack:Kind", lambda: Fine),
        Point("scaleway", "evil:Kind", broken),
    )
    assert isinstance(Kinds()["files"](), Fine)
    assert not isinstance(Kinds()["scaleway"](), Fine)
    assert set(Kinds()) == {"files", *BUILT_IN}
    assert len(Kinds()) == len(BUILT_IN) + 1


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(monkeypatch, Point("files", "pack:Kind", broken))
    with pytest.raises(ConfigError, match=r"'files' of the package pack:Kind.*no module named x"):
        Kinds()["files"]()


def test_what_no_package_has_is_no_kind() -> None:
    assert Kinds().get("nonsense") is None


def test_fresh_installations_differ_and_fit_into_owner_tags() -> None:
    one, other = fresh_installation(), fresh_installation()
    assert one != other
    assert writable(InstallationId(one), FleetName("web"))


def test_reading_where_no_store_is_makes_none(tmp_path: Path) -> None:
    store = open_store(config(tmp_path / "web.db"), Purpose.READ)
    assert isinstance(store, MemoryStore)
    assert list(tmp_path.iterdir()) == []


async def test_a_request_needs_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="hostler run"):
        open_store(config(tmp_path / "web.db"), Purpose.REQUEST)


async def test_memory_is_for_the_engine_alone() -> None:
    assert isinstance(open_store(config(MEMORY), Purpose.ENGINE), MemoryStore)
    with pytest.raises(ConfigError, match="known only to the engine"):
        open_store(config(MEMORY), Purpose.READ)
    assert not Composed().engine_runs(config(MEMORY))


async def test_a_running_engine_is_noticed_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "web.db"
    assert not is_held(path)
    engine = open_engine(path, "h1")
    assert is_held(path)
    assert is_held(path)
    await engine.close()
    assert not is_held(path)
    await open_engine(path, "h2").close()
