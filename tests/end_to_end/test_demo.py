"""The demo, as a newcomer runs it: the real process, to its end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hostler.lab.demo.script import SCRIPTED

HOSTLER = Path(sys.executable).parent / "hostler"


@pytest.mark.timeout(120)
def test_the_demo_heals_and_leaves_nothing_behind() -> None:
    """Thirty seconds of trouble end within twenty more, with every scripted fault met."""
    done = subprocess.run(
        [str(HOSTLER), "demo", "--seconds", "30", "--json"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads(lines[-1])
    assert (summary["wanted"], summary["ready"], summary["leaks"]) == (5, 5, 0)
    assert set(SCRIPTED) <= set(summary["faults"])
    assert summary["healed"] >= 2
    assert summary["made"] >= 7
    assert summary["calls"] > 50
    assert summary["cost"] > 0
    ended = next(float(line.split("s")[0]) for line in reversed(lines[:-1]))
    assert ended < 50
