"""A provider from a package of its own: found by its entry point, and run by the real program."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

HOSTLER = Path(sys.executable).parent / "hostler"
PACKAGE = Path(__file__).parents[2] / "examples" / "provider-package"
LONGEST = 40.0

FLEET = """
[provider.toy]
kind = "files"
folder = "cloud"

[fleet.web]
size = 2

[fleet.web.timers]
drain = "0s"
absence_gap = "1s"

[engine]
quiet = "1s"
busy_first = "300ms"
busy_last = "1s"
rare = "500ms"
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    file = tmp_path / "web.toml"
    file.write_text(FLEET)
    return file


@pytest.fixture
def installed(tmp_path: Path) -> Mapping[str, str]:
    """Return the environment of a process in which the package is installed.

    What an installer would write is written by hand, from the package's own pyproject.
    """
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["hostler.providers"]
    lines = (f"{name} = {target}" for name, target in points.items())
    (info / "entry_points.txt").write_text("[hostler.providers]\n" + "\n".join(lines) + "\n")
    path = os.pathsep.join([str(site), str(PACKAGE / "src")])
    return {**os.environ, "PYTHONPATH": path, "FILES_CLOUD_KEY": "sesame"}


def hostler(env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(HOSTLER), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)


def status(env: Mapping[str, str], fleet: Path) -> Any:
    done = hostler(env, "status", str(fleet), "--json")
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}


def test_without_the_package_its_kind_is_unknown(fleet: Path) -> None:
    done = hostler(os.environ, "check", str(fleet))
    assert done.returncode != 0
    assert "files" in done.stdout + done.stderr


def test_check_and_plan_know_the_kind(fleet: Path, installed: Mapping[str, str]) -> None:
    done = hostler(installed, "check", str(fleet))
    assert done.returncode == 0, done.stdout + done.stderr
    planned = hostler(installed, "plan", str(fleet), "--json")
    (plan,) = json.loads(planned.stdout.splitlines()[-1])["fleets"]
    calls = [call["kind"] for machine in plan["machines"] for call in machine["calls"]]
    assert calls == ["address.create", "server.create", "server.start"] * 2


def test_a_fleet_is_reached_healed_and_ended(fleet: Path, installed: Mapping[str, str]) -> None:
    cloud = fleet.parent / "cloud"
    command = [str(HOSTLER), "run", str(fleet)]
    log = (fleet.parent / "log").open("w")
    with log, subprocess.Popen(command, env=installed, stdout=log, stderr=log) as engine:
        try:
            wait_until(lambda: ready(status(installed, fleet)) == 2)
            lost = min(cloud.glob("servers/*"))
            for file in lost.iterdir():
                file.unlink()
            lost.rmdir()
            wait_until(lambda: lost.name not in servers(cloud) and len(servers(cloud)) == 2)
            assert hostler(installed, "scale", str(fleet), "0").returncode == 0
            wait_until(lambda: not servers(cloud) and not list(cloud.glob("addresses/*")))
        finally:
            engine.send_signal(signal.SIGTERM)
            engine.wait(20)


def ready(status: Any) -> int:
    return json.dumps(status).count('"phase": "ready"')


def servers(cloud: Path) -> set[str]:
    return {folder.name for folder in cloud.glob("servers/*")}
