"""The command line as a process whose terminal, pipe, disk or store is out of order: no traceback.

Each case is a real process, for what fails here fails outside of any function of ours.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

HOSTLER = Path(sys.executable).parent / "hostler"
pytestmark = pytest.mark.timeout(300)  # real processes, on machines that may be busy
FULL = Path("/dev/full")
FILE = """
[provider.scaleway]
[fleet.web]
size = 2
types = ["DEV1-S"]
"""
STATIC = """
[[provider.static.hosts]]
address = "127.0.0.1"
port = 1
[fleet.boxes]
size = 1
[engine]
poll = "100ms"
quiet = "500ms"
"""
no_full_device = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "web.toml"
    path.write_text(FILE)
    return path


def run(
    argv: Sequence[str | bytes | Path],
    out: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; its standard output goes to this file, or is captured."""
    command = [os.fsencode(str(HOSTLER)), *(os.fsencode(word) for word in argv)]
    where = os.open(out, os.O_WRONLY) if out is not None else subprocess.PIPE
    try:
        return subprocess.run(
            command,
            stdout=where,
            stderr=subprocess.PIPE,
            timeout=240,
            check=False,
            env={**os.environ, **(environment or {})},
        )
    finally:
        if out is not None:
            os.close(where)


@no_full_device
@pytest.mark.parametrize("argv", [("status",), ("status", "--json"), ("check",), ("history",)])
def test_output_that_cannot_be_written_is_told_in_a_line(argv: Sequence[str], file: Path) -> None:
    verb, *options = argv
    ended = run([verb, file, *options], FULL)
    if verb == "history":  # it has no result to print
        assert ended.returncode == 0
        return
    assert ended.returncode == 1
    assert ended.stderr == b"hostler: its output cannot be written: No space left on device\n"


@no_full_device
def test_help_that_cannot_be_written_is_told_in_a_line() -> None:
    ended = run(["--help"], FULL)
    assert (ended.returncode, ended.stderr.count(b"\n")) == (1, 1)


def test_a_reader_that_goes_away_is_no_failure(file: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        ended = subprocess.run(
            [str(HOSTLER), "check", str(file)],
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=240,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_failure(closed: str, file: Path) -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f'"$0" check "$1" {closed}', str(HOSTLER), str(file)],
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_a_terminal_without_our_signs_shows_plain_ones(encoding: str, file: Path) -> None:
    ended = run(["check", file], environment={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert re.search(r"\+ *\| *fleet web", ended.stdout.decode(encoding))


def test_json_is_utf_8_in_every_terminal(file: Path) -> None:
    named = file.rename(file.with_name("größe☃.toml"))
    ended = run(["check", named, "--json"], environment={"PYTHONIOENCODING": "latin-1"})
    assert json.loads(ended.stdout.decode("utf-8"))["file"] == str(named)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_argument_that_is_no_text_is_refused(options: Sequence[str], file: Path) -> None:
    ended = run(["history", file, b"\xff", *options])
    assert ended.returncode == 2
    assert b"not text in UTF-8" in ended.stdout + ended.stderr
    assert b"Traceback" not in ended.stderr


@no_full_device
def test_an_engine_whose_log_cannot_be_written_works_on(tmp_path: Path) -> None:
    file = tmp_path / "boxes.toml"
    file.write_text(STATIC)
    with (
        FULL.open("w") as full,
        subprocess.Popen(
            [str(HOSTLER), "run", str(file)], stdout=full, stderr=subprocess.PIPE, text=True
        ) as engine,
    ):
        try:
            _until_recorded(tmp_path / "boxes.db", engine)
            engine.terminate()
            _, errors = engine.communicate(timeout=120)
        finally:
            engine.kill()
    assert errors.count("log lines are lost") == 1
    assert "Traceback" not in errors


def test_a_store_that_is_damaged_in_the_middle_ends_the_engine_with_6(tmp_path: Path) -> None:
    file, store = tmp_path / "boxes.toml", tmp_path / "boxes.db"
    file.write_text(STATIC)
    with subprocess.Popen(
        [str(HOSTLER), "run", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as engine:
        try:
            _until_recorded(store, engine)
            _damage(store)
            _, errors = engine.communicate(timeout=120)
        finally:
            engine.kill()
    assert engine.returncode == 6, errors
    assert "is not a readable hostler store" in errors
    assert "Traceback" not in errors


def _until_recorded(store: Path, engine: subprocess.Popen[str]) -> None:
    """Wait until the engine has recorded its fleet."""
    for _ in range(1200):
        assert engine.poll() is None
        try:
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
                if db.execute("SELECT 1 FROM fleets").fetchone():
                    return
        except sqlite3.OperationalError:
            pass
        time.sleep(0.1)
    pytest.fail("the engine recorded nothing")


def _damage(store: Path) -> None:
    """Write rubbish over all pages but the first, and over the log beside them."""
    with sqlite3.connect(store) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    size = store.stat().st_size
    with store.open("r+b") as opened:
        opened.seek(4096)
        opened.write(b"\xa5" * (size - 4096))


AS_THE_EXECUTABLE = """
import signal, sys
from hostler.app.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
sys.stdout = open("/dev/null", "w")
main()
"""


@pytest.mark.parametrize("seconds", [0.02, 0.2, 2.0])
def test_ctrl_c_at_any_moment_leaves_no_traceback(seconds: float) -> None:
    """While it is imported too; before that, Python itself is not ready for it."""
    with subprocess.Popen(
        [sys.executable, "-c", AS_THE_EXECUTABLE, "simulate", "--seeds", "500"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "Traceback" not in errors


WHERE_PYTHON_DROPS_IT = """
import signal, sys
from hostler.app.main import main
class CtrlC:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
class Finder:
    pressed = False
    def find_spec(self, name, *_):
        if name == "hostler.lab.simulate.seeds" and not self.pressed:
            self.pressed = True
            CtrlC()
sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def test_ctrl_c_is_taken_where_python_drops_what_is_raised() -> None:
    """An import makes callbacks, which no exception leaves: the simulation went on to its end."""
    ended = subprocess.run(
        [sys.executable, "-c", WHERE_PYTHON_DROPS_IT, "simulate", "--seeds", "500"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "")
