"""A fleet file names the methods of installed packages as it names the built-in ones."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import patch

import pytest
from test_rack import FILE, opening, read

from hostler.domain.errors import ConfigError
from hostler.ports.power import METHODS as GROUP
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.methods.webhook import Webhook
from hostler.providers.power.packages import power_table
from hostler.providers.power.provider import PowerBoxes
from hostler.providers.power.settings import PowerTable

KETTLE = """
name = "b"
[provider.rack.boxes.hot-kettle]
url = "http://127.0.0.1:9"
on = "POST /on"
off_hard = "POST /off"
query = "GET /"
is_on = "steam"
is_off = "cold"
deadline = "25s"
[[provider.rack.boxes]]
name = "c"
"""
"""The webhook's own keys: the package's method is that one under another name."""


@contextmanager
def installed(**points: str) -> Generator[None]:
    """Let these methods be installed, by their names and where they are."""
    known = [EntryPoint(name.replace("_", "-"), value, GROUP) for name, value in points.items()]

    def found(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [one for one in known if group == one.group and name in {None, one.name}]

    with patch("importlib.metadata.entry_points", found):
        yield


WEBHOOK = f"{Webhook.__module__}:Webhook"
TEXT = FILE.replace('name = "b"', KETTLE)


def test_a_box_is_switched_by_the_method_of_a_package(tmp_path: Path) -> None:
    with installed(hot_kettle=WEBHOOK):
        rack = PowerKind().open(opening(tmp_path, TEXT, {"PLUG": "x"}))
    assert isinstance(rack, PowerBoxes)
    ways = rack._rack.boxes[1].ways
    assert set(ways._methods) == {"hot-kettle"}
    assert rack.capabilities.deadline.total_seconds() == 25


def test_the_method_of_a_package_is_used_before_those_that_are_built_in(tmp_path: Path) -> None:
    (table,) = [part for part in KETTLE.split("[[") if "hot-kettle" in part]
    table = table.partition('name = "b"')[2]
    mac = 'mac = "52:54:00:12:34:56"'
    with installed(hot_kettle=WEBHOOK):
        rack = PowerKind().open(opening(tmp_path, FILE.replace(mac, mac + table), {"PLUG": "x"}))
    assert isinstance(rack, PowerBoxes)
    first, *others = rack._rack.boxes[1].ways._methods
    assert first == "hot-kettle"
    assert set(others) == {"shelly", "wake-on-lan"}


def test_the_faults_of_a_packages_method_are_shown_with_their_place(tmp_path: Path) -> None:
    wrong = TEXT.replace('is_on = "steam"', 'is_on = "("').replace('"25s"', '"soon"')
    with installed(hot_kettle=WEBHOOK), pytest.raises(ConfigError) as caught:
        read(tmp_path, wrong)
    assert "boxes[1].hot-kettle.deadline" in str(caught.value)
    with installed(hot_kettle=WEBHOOK), pytest.raises(ConfigError) as caught:
        read(tmp_path, wrong.replace('"soon"', '"5s"'))
    assert "boxes.b.hot-kettle" in str(caught.value)


def test_a_method_that_nobody_installed_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hot-kettle\s+expected no such key"):
        read(tmp_path, TEXT)


def test_a_package_that_cannot_be_used_bars_only_the_files_that_name_it(tmp_path: Path) -> None:
    with installed(hot_kettle="no.such.module:Kettle"):
        read(tmp_path, FILE)
        with pytest.raises(ConfigError) as caught:
            read(tmp_path, TEXT)
    assert "the power method 'hot-kettle' of the package no.such.module" in str(caught.value)


def test_a_package_cannot_take_the_name_of_another_key_of_a_box(tmp_path: Path) -> None:
    with installed(address=WEBHOOK), pytest.raises(ConfigError, match="'address'"):
        read(tmp_path, FILE)


def test_a_box_names_a_packages_method_for_an_action(tmp_path: Path) -> None:
    named = TEXT.replace('name = "c"\n', 'name = "c"\non = ["hot-kettle"]\n')
    with installed(hot_kettle=WEBHOOK), pytest.raises(ConfigError) as caught:
        read(tmp_path, named)
    assert "boxes.c.on expected methods of this box" in " ".join(str(caught.value).split())


def test_without_packages_the_table_is_the_documented_one() -> None:
    assert power_table() is PowerTable
