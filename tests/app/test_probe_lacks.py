"""What a readiness probe needs of this computer: `check` says so where it is not there."""

from pathlib import Path

import pytest

from hostler.app.compose import Composed

FILE = """
[provider.static]
hosts = [{{address = "127.0.0.1"}}]

[fleet.boxes]
size = 0
ready = {{ {ready} }}
"""


def lacks(folder: Path, ready: str) -> tuple[tuple[str, str], ...]:
    path = folder / "fleet.toml"
    path.write_text(FILE.format(ready=ready))
    composed = Composed(environment={"PATH": str(folder / "bin")})
    found = composed.lacks(composed.load(path)).get("fleet.boxes", ())
    return tuple((lack.key, lack.text) for lack in found)


@pytest.mark.parametrize("name", ["/none/such", "none-such", "listed"])
def test_a_program_that_cannot_be_run_is_told_before_each_machine_is_ended_for_it(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "listed").write_text("it may not be run")
    ready = f'probe = "command", command = ["{name}", "now"]'
    text = f"{name} cannot be run: no program of that name may be run here"
    assert lacks(tmp_path, ready) == (("ready.command", text),)


def test_a_program_on_the_path_is_found(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "look").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "look").chmod(0o755)
    assert lacks(tmp_path, 'probe = "command", command = ["look"]') == ()


def test_a_key_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    ((key, text),) = lacks(tmp_path, 'probe = "ssh", user = "me", key = "none"')
    assert (key, text) == (
        "ready.key",
        f"{tmp_path / 'none'} cannot be read: there is no such file",
    )
