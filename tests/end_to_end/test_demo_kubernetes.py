"""The demo of Kubernetes with its simulated control plane: to its end, broken off, and failing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.lab.controlplane.processes import naming
from hostler.lab.demo.kubernetes import demo, scenes
from hostler.lab.demo.kubernetes.control_plane import Choice

HOSTLER = Path(sys.executable).parent / "hostler"
COMMAND = (str(HOSTLER), "demo", "kubernetes", "--control-plane", "simulated", "--json")
KEYS = (
    "control_plane machines rolled roll_seconds deleted_hosts strays_found reclaimed evicted "
    "least_ready leaks hosts wipes calls seconds failed"
)


@pytest.mark.timeout(900)  # each scene has a bound of its own
def test_macs_are_rolled_drained_and_reclaimed_and_no_host_is_deleted() -> None:
    done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=880, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    summary = json.loads(lines[-1])
    assert list(summary) == KEYS.split()
    assert summary["control_plane"] == "simulated"
    assert "SIMULATED" in lines[0]
    assert (summary["rolled"], summary["machines"]) == (3, 3)
    assert (summary["deleted_hosts"], summary["leaks"], summary["failed"]) == (0, 0, "")
    assert (summary["strays_found"], summary["reclaimed"]) == (1, 1)
    assert summary["evicted"] >= 1
    assert summary["least_ready"] >= 3
    assert 0 < summary["roll_seconds"] < summary["seconds"]
    assert summary["wipes"] >= summary["hosts"] == 5
    assert any("is abandoned" in line for line in lines)


@pytest.mark.timeout(120)
def test_a_demo_that_is_ended_leaves_no_folder_and_no_process_behind(tmp_path: Path) -> None:
    """Its folder holds keys of the cluster; its hostler runs as a process of its own."""
    with subprocess.Popen(
        COMMAND,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        try:
            assert process.stdout is not None
            while "workers.yaml" not in process.stdout.readline():
                assert process.poll() is None
            (folder,) = tmp_path.glob("hostler-demo-*")
            children = naming(folder)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert len(children) == 1
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not any(tmp_path.glob("hostler-demo-*"))
    assert not naming(folder)


@pytest.mark.timeout(120)
def test_what_does_not_happen_in_time_fails_the_demo_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The Macs of the cloud never come: the first scene is not reached."""
    monkeypatch.setattr(scenes, "LIMIT", 20.0)
    monkeypatch.setattr(demo, "SPEED", 0.01)
    options = demo.Options(choice=Choice.SIMULATED, kubeconfig=None, seed=1)
    code = demo.main(Composed(), options, json=True)
    summary = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert code == 1
    assert summary["failed"].startswith("not within 20 s: all Machines run; Machines: macs-")
    assert summary["rolled"] == summary["evicted"] == 0


def test_a_kubeconfig_that_is_not_there_is_said() -> None:
    command = (str(HOSTLER), "demo", "kubernetes", "--kubeconfig", "/nowhere", "--json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "/nowhere" in json.loads(done.stdout)["error"]["message"]


def test_a_cluster_that_is_there_is_not_touched_before_its_address_was_said(
    tmp_path: Path,
) -> None:
    """Nobody listens there: whoever spoke to it would say so."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: shop\n"
        "contexts: [{name: shop, context: {cluster: shop, user: me}}]\n"
        "clusters: [{name: shop, cluster: {server: 'https://127.0.0.1:9'}}]\n"
        "users: [{name: me, user: {token: s3cret}}]\n"
    )
    command = (str(HOSTLER), "demo", "kubernetes", "--kubeconfig", str(kubeconfig), "--json")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    message = json.loads(done.stdout)["error"]["message"]
    assert "--server https://127.0.0.1:9" in message
    assert "'shop'" in message
