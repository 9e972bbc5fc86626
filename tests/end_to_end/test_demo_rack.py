"""The demo of a rack, as a newcomer runs it: the real process, to its end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HOSTLER = Path(sys.executable).parent / "hostler"


@pytest.mark.timeout(120)
def test_the_rack_stands_as_it_was_asked_to_after_a_day_of_troubles() -> None:
    done = subprocess.run(
        [str(HOSTLER), "demo", "rack", "--seconds", "24", "--json"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["machines"], summary["wrong_power_actions"]) == (12, 0)
    assert summary["ready"] == summary["wanted"]
    assert summary["starts"] >= summary["wanted"] + summary["stops"]
    assert {"bmc_hung", "packet_lost"} <= set(summary["faults"])
    assert summary["failed_commands"] > 0
    assert 0 < summary["recovered"] <= summary["failed_commands"]
    assert 0 < summary["kwh"] < summary["kwh_always_on"]
