"""Digests: what two readings of a file differ in, table by table."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hostler.app.compose import Composed
from hostler.config.digests import differing, digests
from hostler.config.values import Config

FILE = """
[provider.static]
hosts = [{address = "127.0.0.1"}]

[fleet.boxes]
size = 0
reclaim = false
"""


def read(folder: Path, text: str) -> Config:
    path = folder / "fleet.toml"
    path.write_text(text)
    return Composed().load(path)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (f"# a remark\n{FILE}", ()),
        (FILE.replace("size = 0", "size = 1"), ("fleet.boxes",)),
        (FILE.replace("boxes", "others"), ("fleet.boxes", "fleet.others")),
        (f"{FILE}[engine]\nquiet = '10s'\n", ("engine",)),
    ],
)
def test_a_change_is_told_by_the_path_of_its_table(
    tmp_path: Path, text: str, changed: tuple[str, ...]
) -> None:
    before = digests(read(tmp_path, FILE))
    assert differing(before, digests(read(tmp_path, text))) == changed


def test_a_file_is_the_same_by_whatever_path_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine is started by its whole path, and asked about from the folder of its file."""
    folder, link = tmp_path / "fleets", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    text = f'{FILE}ready = {{ probe = "ssh", user = "builder", key = "key" }}\n'
    whole = read(folder, text)
    monkeypatch.chdir(folder)
    named = [Path("fleet.toml"), Path("../fleets/fleet.toml"), link / "fleet.toml"]
    for path in named:
        assert differing(digests(whole), digests(Composed().load(path))) == ()


def test_reclaim_at_the_top_is_a_change_also_where_every_fleet_says_its_own(tmp_path: Path) -> None:
    """It is for fleets too that the file has no longer, and for those that are objects."""
    before, after = read(tmp_path, FILE), read(tmp_path, f"reclaim = true\n{FILE}")
    assert before.fleets == after.fleets
    assert differing(digests(before), digests(after)) == ("reclaim",)
    assert differing(digests(after), digests(before)) == ("reclaim",)


def test_a_record_of_an_older_engine_that_reclaims_nothing_is_no_change(tmp_path: Path) -> None:
    config = read(tmp_path, FILE)
    assert "reclaim" not in digests(replace(config, reclaims=False))
