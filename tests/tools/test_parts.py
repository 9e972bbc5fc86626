"""Parts of the tests run one after the other, and what only computes runs beside all of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
BEGIN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test
test.REPORTS = Path(sys.argv[2])
test.LIMIT = 50
"""
AWAIT = """import pathlib, sys, time
flag = pathlib.Path(sys.argv[1])
for _ in range(200):
    if not flag.exists() or not flag.read_text():
        time.sleep(0.1)
"""
"""Waits for the file that its argument names to have something in it, for 20 s at the most."""
NOTE = """import os, pathlib, sys
pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
"""
CHILD = """import pathlib, subprocess, sys
with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(40)"]) as child:
    pathlib.Path(sys.argv[1]).write_text(str(child.pid))
"""


def part(name: str, code: str, path: Path, *, patient: bool = False) -> str:
    """Return the expression of a part that runs this code, with a path as its argument."""
    return f"test.Part({name!r}, ('python', '-c', {code!r}, {str(path)!r}), patient={patient})"


def script(folder: Path, *parts: str) -> list[str]:
    """Return the command that runs these parts and prints their table."""
    code = f"{BEGIN}found = test.run([{', '.join(parts)}])\nprint(test.table(found, 1.0))\n"
    return [sys.executable, "-c", code, str(TOOLS), str(folder)]


def run(folder: Path, *parts: str) -> str:
    """Run parts to their end, and return their output."""
    done = subprocess.run(  # noqa: S603 - our own script
        script(folder, *parts), capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_patient_part_runs_beside_the_others_with_what_they_leave(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    shows = "import os; print('at', os.nice(0), os.environ['HOSTLER_TEST_PATIENCE'])"
    output = run(
        tmp_path,
        part("first", NOTE, flag, patient=True),
        part("second", AWAIT + "assert flag.exists()", flag),
        part("third", "print('third')", flag),
    )
    rows = [line.split()[0] for line in output.splitlines() if line.endswith(" ok")]
    assert rows == ["second", "third", "first"]
    assert "at 19 20" in run(
        tmp_path,
        part("one", AWAIT + shows, flag, patient=True),
        part("two", NOTE, flag),
    )


def test_a_patient_part_runs_as_any_where_it_is_alone(tmp_path: Path) -> None:
    shows = "import os; print('at', os.nice(0), 'HOSTLER_TEST_PATIENCE' in os.environ)"
    assert f"at {os.nice(0)} False" in run(tmp_path, part("one", shows, tmp_path, patient=True))


@pytest.mark.parametrize("failing", ["one", "two"])
def test_what_fails_says_so_wherever_it_runs(tmp_path: Path, failing: str) -> None:
    ends = {name: f"sys.exit({3 if name == failing else 0})" for name in ("one", "two")}
    output = run(
        tmp_path,
        part("one", "import sys; print('words of one'); " + ends["one"], tmp_path, patient=True),
        part("two", "import sys; " + ends["two"], tmp_path),
    )
    assert "words of one" in output
    assert f"not well: {failing}" in output
    assert "FAILED (exit 3)" in output


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_patient_part_too(tmp_path: Path, by: signal.Signals) -> None:
    flag = tmp_path / "flag"
    command = script(
        tmp_path,
        part("one", CHILD, flag, patient=True),
        part("two", AWAIT + "print('ready', flush=True); time.sleep(40)", flag),
    )
    with subprocess.Popen(  # noqa: S603 - our own script
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdout is not None
        assert any(line.strip() == "ready" for line in running.stdout)
        running.send_signal(by)
        running.stdout.close()
    patient = int(flag.read_text())
    for _ in range(100):
        if not Path(f"/proc/{patient}").exists():
            return
        Event().wait(0.1)
    raise AssertionError(f"process {patient} goes on")


def test_limits_of_tests_are_longer_where_patience_is_asked_for(tmp_path: Path) -> None:
    """The own limit of a test, and the limit of all others."""
    (tmp_path / "conftest.py").write_text((TOOLS.parent / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 0.1\n")
    (tmp_path / "test_it.py").write_text(
        "import time\nimport pytest\n"
        "@pytest.mark.timeout(0.3)\ndef test_own(): time.sleep(2.5)\n"
        "def test_other(): time.sleep(0.5)\n"
    )
    counted = {}
    for patience in ("1", "20"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini"],
            cwd=tmp_path,
            env={**os.environ, "HOSTLER_TEST_PATIENCE": patience},
            capture_output=True,
            text=True,
            check=False,
        )
        counted[patience] = done.stdout.splitlines()[-1].split(" in ")[0]
    assert counted == {"1": "2 failed", "20": "2 passed"}
