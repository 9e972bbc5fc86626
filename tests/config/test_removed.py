"""Fleets that only a store knows any more: read from their table as the file had it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config.digests import digests
from hostler.config.load import load
from hostler.config.removed import with_removed
from hostler.config.values import Config
from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow, OnRemove

ACCOUNT = '[provider.scaleway]\nproject = "22222222-2222-2222-2222-222222222222"\n'
WEB = """
[fleet.web]
size = 2
types = ["DEV1-S"]
on_remove = "end"
volume = { size = "10GB" }
[fleet.web.timers]
drain = "7m"
"""
BUILDERS = '[fleet.builders]\nsize = 1\ntypes = ["DEV1-M"]\n'


def read(folder: Path, text: str) -> Config:
    file = folder / "web.toml"
    file.write_text(text)
    return load(file, KINDS, STORES)


def row(definition: str, name: str = "web") -> FleetRow:
    return FleetRow(
        name=FleetName(name), created=datetime(2026, 1, 1, tzinfo=UTC), definition=definition
    )


def definitions(config: Config) -> Mapping[str, str]:
    return {str(fleet.name): fleet.definition for fleet in config.fleets}


def test_fleet_is_read_from_the_store_as_it_was_in_the_file(tmp_path: Path) -> None:
    before = read(tmp_path, ACCOUNT + WEB + BUILDERS)
    after = read(tmp_path, ACCOUNT + BUILDERS)
    known = with_removed(after, [row(definitions(before)["web"])], KINDS)
    assert known.fleets == (
        *after.fleets,
        replace(before.fleet("web"), removed=True, definition=known.fleet("web").definition),
    )
    assert known.templates == before.templates
    assert known.fleet("web").on_remove is OnRemove.END
    assert known.unreadable == {}


@pytest.mark.parametrize(
    ("of_its_own", "reclaims"),
    [("", True), ("reclaim = false\n", False), ("reclaim = true\n", True)],
)
def test_it_reclaims_as_the_top_of_the_file_says_unless_it_said_so_itself(
    tmp_path: Path, of_its_own: str, reclaims: bool
) -> None:
    top = "reclaim = true\n"
    before = read(tmp_path, top + ACCOUNT + WEB.replace("size = 2\n", f"size = 2\n{of_its_own}"))
    after = read(tmp_path, top + ACCOUNT + BUILDERS)
    known = with_removed(after, [row(definitions(before)["web"])], KINDS)
    assert known.fleet("web").reclaim is reclaims


def test_its_provider_is_the_one_that_it_had_however_many_the_file_has_by_now(
    tmp_path: Path,
) -> None:
    before = read(tmp_path, ACCOUNT + WEB)
    other = '[provider.other]\nkind = "scaleway"\n'
    after = read(tmp_path, ACCOUNT + other + BUILDERS + 'provider = "other"\n')
    known = with_removed(after, [row(definitions(before)["web"])], KINDS)
    assert known.fleet("web").account == "scaleway"


def test_fleet_that_was_removed_is_no_difference_between_file_and_engine(tmp_path: Path) -> None:
    before = read(tmp_path, ACCOUNT + WEB)
    after = read(tmp_path, ACCOUNT + BUILDERS)
    known = with_removed(after, [row(definitions(before)["web"])], KINDS)
    assert digests(known) == digests(after)


def test_how_a_table_is_written_is_no_difference(tmp_path: Path) -> None:
    one, other = read(tmp_path, ACCOUNT + WEB), read(tmp_path, ACCOUNT + WEB.replace("7m", "420s"))
    assert definitions(one) != definitions(other)
    assert digests(one) == digests(other)


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        ("", "does not say what its table was"),
        ("[]", "does not say what its table was"),
        ("{", "does not say what its table was"),
        ("{}", "can no longer be read"),
        ('{"provider": "gone", "size": 1, "types": ["DEV1-S"]}', "one of the providers: scaleway"),
        ('{"provider": "scaleway", "size": "many", "types": ["DEV1-S"]}', "fleet.web.size"),
    ],
)
def test_what_cannot_be_read_any_more_is_named_with_the_reason(
    tmp_path: Path, definition: str, why: str
) -> None:
    config = read(tmp_path, ACCOUNT + BUILDERS)
    known = with_removed(config, [row(definition)], KINDS)
    assert known.fleets == config.fleets
    assert list(known.unreadable) == ["web"]
    assert why in known.unreadable[FleetName("web")]


def test_the_only_fleet_of_the_file_needs_no_name_beside_one_that_was_removed(
    tmp_path: Path,
) -> None:
    before = read(tmp_path, ACCOUNT + WEB)
    after = read(tmp_path, ACCOUNT + BUILDERS)
    known = with_removed(after, [row(definitions(before)["web"])], KINDS)
    assert known.fleet(None).name == "builders"
    assert [str(fleet.name) for fleet in known.chosen(None)] == ["builders", "web"]
    assert known.known("nobody") is None
    with pytest.raises(ConfigError, match="has no fleet 'nobody'"):
        known.fleet("nobody")
