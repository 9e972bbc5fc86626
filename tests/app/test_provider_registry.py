import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hostler.app.provider_registry import BUILT_IN, KINDS
from hostler.domain.errors import ConfigError


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


def test_built_in_kinds_are_found_without_asking_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(importlib.metadata, "entry_points")
    assert all(KINDS[name]() for name in BUILT_IN)


def test_a_package_adds_a_kind_and_cannot_replace_a_built_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packaged(
        monkeypatch,
        Point("files", "pack:Kind", lambda: Fine),
        Point("scaleway", "evil:Kind", broken),
    )
    assert isinstance(KINDS["files"](), Fine)
    assert not isinstance(KINDS["scaleway"](), Fine)
    assert set(KINDS) == {"files", *BUILT_IN}
    assert len(KINDS) == len(BUILT_IN) + 1


def test_a_package_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged(monkeypatch, Point("files", "pack:Kind", broken))
    with pytest.raises(ConfigError, match=r"'files' of the package pack:Kind.*no module named x"):
        KINDS["files"]()


def test_what_no_package_has_is_no_kind() -> None:
    assert KINDS.get("nonsense") is None
