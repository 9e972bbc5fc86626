"""`store backup`: what it prints, and what it refuses."""

from pathlib import Path

import pytest
from cli_kit import InMemory, cli

from hostler.app.compose import Composed
from hostler.config.store_url import StoreUrl
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Settings
from hostler.domain.errors import RequestRefused


def test_a_copy_is_named_with_what_puts_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    printed = cli(InMemory(), capsys, "store", "backup", "web.toml", str(copy))
    assert printed.code == 0
    assert printed.out == f"{copy} (0.0 MB) is a whole copy of sqlite:web.db\n"
    assert "stop the engine, remove web.db-wal and web.db-shm" in printed.err


def test_a_program_reads_the_file_and_its_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    printed = cli(InMemory(), capsys, "store", "backup", "web.toml", str(copy), "--json")
    assert printed.json == {"file": str(copy), "bytes": 9, "store": "sqlite:web.db"}


@pytest.mark.parametrize(
    ("store", "why"),
    [
        (StoreUrl("memory"), "keeps nothing"),
        (StoreUrl("kubernetes", "builds"), "they are backed up with it"),
    ],
)
def test_what_is_no_file_is_refused_with_what_copies_it(store: StoreUrl, why: str) -> None:
    config = Config(
        path=Path("web.toml"),
        store=store,
        accounts=(),
        fleets=(),
        templates={},
        settings=Settings(),
    )
    with pytest.raises(RequestRefused, match=why):
        Composed().back_up(config, None)
