"""The demo of Kubernetes beside Kubernetes' own programs and Cluster API's core: to its end."""

import json
import subprocess

import pytest
from helm_kit import HOSTLER

pytestmark = pytest.mark.timeout(3000)  # the first test may have to build the programs


def test_core_rolls_and_drains_macs_and_a_stray_is_taken_back() -> None:
    command = (str(HOSTLER), "demo", "kubernetes", "--control-plane", "real", "--json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=2900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["control_plane"] == "real"
    assert (summary["rolled"], summary["deleted_hosts"], summary["leaks"]) == (3, 0, 0)
    assert (summary["strays_found"], summary["reclaimed"]) == (1, 1)
    assert summary["evicted"] >= 1
    assert summary["least_ready"] >= 3
