"""The command line of `fleeting-plugin-hostler`."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hostler.app.plugin import NAME, run

Out = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("word", ["version", "-version", "--version"])
def test_the_version_is_told(word: str, capsys: Out) -> None:
    assert run([word], {}) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{NAME} 0.")
    assert err == ""


def test_started_by_hand_it_says_so_in_a_line(capsys: Out) -> None:
    assert run([], {}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "PLUGIN_PROTOCOL_VERSIONS" in err


@pytest.mark.parametrize(
    "words", [["serve"], ["bootstrap"], ["version", "x"], ["bootstrap", "a", "b"]]
)
def test_what_is_not_understood_gets_the_usage(words: list[str], capsys: Out) -> None:
    assert run(words, {"PLUGIN_PROTOCOL_VERSIONS": "1"}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"fleeting-plugin-hostler: not understood: {' '.join(words)}\nusage:")


def test_help_is_no_error(capsys: Out) -> None:
    assert run(["--help"], {}) == 0
    assert "bootstrap NAME" in capsys.readouterr().out


def test_bootstrap_copies_the_executable_to_where_a_runner_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    executable = tmp_path / NAME
    executable.write_text("#!/bin/true")
    executable.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(executable)])
    environment = {"FLEETING_PLUGIN_PATH": str(tmp_path / "plugins")}
    assert run(["bootstrap", "registry.example/team/hostler:1.0"], environment) == 0
    place = tmp_path / "plugins/registry.example/team/hostler/1.0/plugin"
    assert capsys.readouterr().out == f"{place}\n"
    assert place.read_text() == "#!/bin/true"
    assert place.stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize("name", ["../x", "Team/x"])
def test_bootstrap_says_what_is_wrong(name: str, tmp_path: Path, capsys: Out) -> None:
    assert run(["bootstrap", name], {"FLEETING_PLUGIN_PATH": str(tmp_path)}) == 1
    assert capsys.readouterr().err.startswith(f"{NAME}: ")


def test_a_handshake_needs_no_engine() -> None:
    heavy = {"aiohttp", "structlog", "rich", "asyncssh", "cryptography", "cyclopts"}
    code = (
        "import sys, hostler.app.plugin\n"
        "import hostler.frontends.fleeting.goplugin.serving\n"
        f"print({heavy!r} & set(sys.modules), 'hostler.controllers' in sys.modules)"
    )
    ran = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "set() False\n"


def test_metrics_that_nobody_serves_are_not_imported() -> None:
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from hostler.app.compose import Composed\n"
        "async def main():\n"
        "    composed = Composed()\n"
        "    config = composed.load(Path('examples/web.toml'))\n"
        "    assert config.metrics is None\n"
        "    async with composed.metrics(config) as metrics:\n"
        "        heavy = {'prometheus_client', 'aiohttp.web'} & {*sys.modules}\n"
        "        print(type(metrics).__name__, heavy)\n"
        "asyncio.run(main())\n"
    )
    ran = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert ran.stdout == "NullMetrics set()\n"
