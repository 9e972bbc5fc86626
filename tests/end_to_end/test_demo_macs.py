"""The demo of Macs, as a newcomer runs it: the real process, to its end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOSTLER = Path(sys.executable).parent / "hostler"
KEYS = (
    "claimed released wiped stranded_found reclaimed leaks ordered parked paid_hours "
    "optimal_paid_hours faults calls cost seconds"
)


def hostler(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(HOSTLER), "demo", *words], capture_output=True, text=True, timeout=200, check=False
    )


@pytest.mark.timeout(240)
def test_a_week_of_macs_ends_with_nothing_stranded_and_nothing_left() -> None:
    """However short it is asked to be, the whole week passes, and its money is counted."""
    done = hostler("macs", "--seconds", "5", "--json")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    summary = json.loads(lines[-1])
    assert set(KEYS.split()) <= summary.keys()
    assert summary["claimed"] == summary["released"] >= 9
    assert summary["wiped"] >= 9
    assert summary["stranded_found"] == summary["reclaimed"] == 1
    assert summary["leaks"] == 0
    assert summary["ordered"] == 4
    assert summary["parked"] == 4
    assert summary["paid_hours"] >= summary["optimal_paid_hours"] >= 4 * 24
    assert set(summary["faults"]) == {
        "host_taken_by_hand",
        "killed_after_claim",
        "record_deleted_by_force",
    }
    assert summary["calls"] > 1000
    assert summary["cost"] > 0
    assert sum(" is stranded" in line for line in lines) == 1
    assert "day 7" in lines[-2]


def test_a_day_of_servers_cannot_be_as_short_as_a_week_of_macs() -> None:
    done = hostler("--seconds", "7", "--json")
    assert done.returncode == 2
    assert "--seconds" in json.loads(done.stdout)["error"]["message"]
