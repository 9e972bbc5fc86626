"""The real process, killed at random moments while servers are made and removed, loses nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hostler.simulators.ports import free_port

HOSTLER = Path(sys.executable).parent / "hostler"
KILLS = 50
SECRET = "11111111-2222-4333-8444-555555555555"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"

FLEET = """
[provider.scaleway]
endpoint = "{url}"
project = "{project}"
rate = 200
burst = 400
consistency_delay = "2s"

[fleet.killed]
size = 4
maximum = 12
types = ["DEV1-S", "PLAY2-PICO"]
zones = ["fr-par-1"]
image = "ubuntu_noble"
cloud_init = "#cloud-config"
volume = {{ size = "20GB", iops = 5000 }}

[fleet.killed.timers]
absence_gap = "1s"
start = "60s"
stop = "30s"
observation_limit = "30s"
tries = ["1s", "2s", "3s"]

[fleet.killed.caps]
creates = 5000
share_window = "1s"
per_hour = 1000

[engine]
quiet = "1s"
busy_first = "300ms"
busy_last = "1s"
rare = "500ms"
"""


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback only
        return json.load(answer)


def wait_for_port(url: str) -> None:
    for _ in range(200):
        try:
            get(f"{url}/metadata")
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the simulator did not come up")


@pytest.fixture
def simulator() -> Iterator[str]:
    port = free_port()
    command = [str(HOSTLER), "simulator", "scaleway", "--port", str(port), "--speed", "20"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for_port(url)
            yield url
        finally:
            process.terminate()


def start(file: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SCW_SECRET_KEY": SECRET}
    with (file.parent / "stderr.log").open("ab") as errors:
        return subprocess.Popen(
            [str(HOSTLER), "run", str(file), "--json"],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environment,
        )


def servers(url: str) -> list[dict[str, Any]]:
    return [leak for leak in get(f"{url}/_sim/leaks")["leaks"] if leak["kind"] == "server"]


def rested(url: str, wanted: int, seconds: float) -> bool:
    """Wait until exactly this many servers stand, and stay so for two seconds."""
    since: float | None = None
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        leaks = get(f"{url}/_sim/leaks")["leaks"]
        found = [leak for leak in leaks if leak["kind"] == "server"]
        resources = wanted * 3
        right = len(found) == wanted and len(leaks) == resources
        now = time.monotonic()
        since = (since or now) if right else None
        if since is not None and now - since > 2:
            return True
        time.sleep(0.2)
    return False


def scale(file: Path, size: int) -> None:
    subprocess.run(
        [str(HOSTLER), "scale", str(file), str(size), "--no-wait"],
        check=True,
        capture_output=True,
        env={**os.environ, "SCW_SECRET_KEY": SECRET},
        timeout=30,
    )


@pytest.mark.timeout(420)
def test_fifty_kills_lose_nothing(tmp_path: Path, simulator: str) -> None:
    """Each life is ended by SIGKILL after a random while; the next one goes on where it stood."""
    dice = random.Random(7)
    file = tmp_path / "killed.toml"
    file.write_text(FLEET.format(url=simulator, project=PROJECT))
    for number in range(KILLS):
        process = start(file)
        time.sleep(dice.uniform(0.5, 1.6))
        if number % 5 == 4:
            scale(file, dice.choice([1, 2, 5, 6]))
            time.sleep(dice.uniform(0.1, 0.8))
        assert process.poll() is None, (tmp_path / "stderr.log").read_text()[-2000:]
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
        assert len(servers(simulator)) <= 12
    process = start(file)
    try:
        scale(file, 3)
        assert rested(simulator, 3, 60), get(f"{simulator}/_sim/leaks")
        scale(file, 0)
        assert rested(simulator, 0, 60), get(f"{simulator}/_sim/leaks")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
