"""The demo of Kubernetes beside Kubernetes' own programs and Cluster API's core: to its end."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from helm_kit import HOSTLER

from hostler.lab.controlplane.processes import naming

pytestmark = pytest.mark.timeout(3000)  # the first test may have to build the programs


COMMAND = (str(HOSTLER), "demo", "kubernetes", "--control-plane", "real", "--json")


def test_core_rolls_and_drains_macs_and_a_stray_is_taken_back() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=2900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["control_plane"] == "real"
    assert (summary["rolled"], summary["deleted_hosts"], summary["leaks"]) == (3, 0, 0)
    assert (summary["strays_found"], summary["reclaimed"]) == (1, 1)
    assert summary["evicted"] >= 1
    assert summary["least_ready"] >= 3


def test_a_demo_that_is_ended_ends_the_programs_that_it_began(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            while " serves" not in process.stdout.readline():
                assert process.poll() is None
            assert len(naming(tmp_path)) >= 6
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "")
    assert not any(tmp_path.glob("hostler-demo-*"))
    assert not naming(tmp_path)
