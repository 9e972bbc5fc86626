"""The example of Macs as real processes: a simulator, an engine, and the commands about hosts."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from hostler.simulators.ports import free_port

HOSTLER = Path(sys.executable).parent / "hostler"
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Place:
    """A simulated Scaleway with Macs, an engine, and the example's fleet file."""

    url: str
    file: Path
    engine: subprocess.Popen[bytes]

    def run(self, verb: str, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(HOSTLER), verb, str(self.file), *argv],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def json(self, verb: str, *argv: str) -> Any:
        return json.loads(self.run(verb, *argv, "--json").stdout)

    def machines(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.json("status")["fleets"][0]["machines"]
        return found

    def ready(self) -> int:
        return sum(machine["phase"] == "ready" for machine in self.machines())

    def host(self, name: str) -> dict[str, Any]:
        """Return a host by its name or id as a look shows it."""
        hosts = self.json("pool", "list", "--online")["hosts"]
        return next(host for host in hosts if name in {host["name"], host["id"]})

    def state(self, host: str) -> str:
        return str(self.host(host)["state"])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/metadata", timeout=5) as answer:  # noqa: S310 - loopback only
            return bool(answer.read())
    except OSError:
        return False


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    port = free_port()
    file = tmp_path / "macs.toml"
    file.write_text((EXAMPLES / "macs.toml").read_text().replace("8100", str(port)))
    (tmp_path / "simulator.key").write_text((EXAMPLES / "simulator.key").read_text())
    macs = ["--macs", "4", "--macs", "2:M2-L:fr-par-1:desk-"]
    command = [str(HOSTLER), "simulator", "scaleway", "--port", str(port), "--speed", "200", *macs]
    url = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        null = subprocess.DEVNULL
        world = stack.enter_context(subprocess.Popen(command, stdout=null, stderr=null))
        stack.callback(world.kill)
        wait_until(lambda: _answers(url))
        log = stack.enter_context((tmp_path / "engine.log").open("w"))
        run = [str(HOSTLER), "run", str(file)]
        engine = stack.enter_context(subprocess.Popen(run, stdout=log, stderr=log))
        stack.callback(engine.kill)
        yield Place(url=url, file=file, engine=engine)


@pytest.mark.timeout(240)
def test_macs_are_claimed_put_in_adopted_released_and_given_up(place: Place) -> None:
    wait_until(lambda: place.ready() == 2)
    checks = {check["about"]: check for check in place.json("check", "--online")["checks"]}
    assert checks["pool pool- of fleet builders"]["ok"]

    # One host is put into the pool and keeps its disk; another one becomes a machine with its own.
    assert place.json("pool", "add", "desk-1")["taken"]
    adopted = place.host("desk-2")["id"]
    assert place.run("pool", "adopt", adopted).returncode == 2
    assert place.json("pool", "adopt", adopted, "--keep-disk")["taken"]
    wait_until(lambda: place.ready() == 3)
    machine = next(m for m in place.machines() if m["host"]["id"] == adopted)
    assert place.json("explain", machine["id"])["host"]["name"].startswith("hostler.claimed.")
    assert place.json("explain", adopted)["owner"] == f"machine {machine['id']}, by our records"

    # A host is given up with its machine; another one takes its place.
    assert place.json("retire", machine["id"], "--why", "its fan")["taken"]
    wait_until(lambda: place.host(adopted)["scheduled"] is not None)
    assert place.state(adopted) == "retiring"
    wait_until(lambda: place.ready() == 3)

    # What is released is wiped, free, and claimed again without a wipe.
    released = {m["host"]["id"] for m in place.machines()}
    assert place.json("scale", "0")["taken"]
    wait_until(lambda: {place.state(host) for host in released} == {"free"})
    assert place.run("orphans", "--observe").returncode == 0
    assert place.json("plan")["fleets"][0]["calls"] == 0

    place.engine.send_signal(signal.SIGINT)
    assert place.engine.wait(timeout=10) == 0
