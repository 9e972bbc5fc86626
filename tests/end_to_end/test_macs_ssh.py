"""Macs under the real program, over real SSH: prepared, ended, wiped, and prepared again."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from hostler.simulators.ports import free_port
from hostler.testing.peers.sshd import new_key

HOSTLER = Path(sys.executable).parent / "hostler"
SECRET = "11111111-1111-1111-1111-111111111111"
PROJECT = "22222222-2222-2222-2222-222222222222"

FLEET = """
[provider.macs]
kind = "scaleway-macs"
endpoint = "{url}"
project = "{project}"
pool_prefix = "pool-"
consistency_delay = "1s"
rate = 100
burst = 200

[fleet.builders]
size = 2
types = ["M2-L"]
zones = ["fr-par-1"]
os = "Tahoe"

[fleet.builders.ready]
probe = "ssh"
port = {ssh}
commands = [
  "echo run >>ran; echo \\"run $(wc -l <ran) of $HOSTLER_MACHINE\\"",
  "sudo -S sw_vers -productVersion",
]

[fleet.builders.timers]
start = "120s"
stop = "120s"
absence_gap = "500ms"
grace = "5s"
sighting_gap = "500ms"
probe_every = "300ms"

[engine]
quiet = "500ms"
busy_first = "300ms"
busy_last = "500ms"
rare = "500ms"
"""


@dataclass
class Lab:
    """A simulated Scaleway with two Macs, a fleet file for it, and a home with a key."""

    folder: Path
    port: int = field(default_factory=free_port)
    ssh: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"
        self.file = self.folder / "macs.toml"
        self.file.write_text(FLEET.format(url=self.url, project=PROJECT, ssh=self.ssh))
        self.key = new_key("somebody")
        keys = self.folder / ".ssh"
        keys.mkdir(mode=0o700)
        (keys / "id_ed25519").write_bytes(self.key.export_private_key())
        (keys / "id_ed25519").chmod(0o600)
        inherited = {k: v for k, v in os.environ.items() if k != "SSH_AUTH_SOCK"}
        self.environment = {**inherited, "HOME": str(self.folder), "SCW_SECRET_KEY": SECRET}

    @contextmanager
    def process(self, name: str, *argv: str) -> Generator[None]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(HOSTLER), *argv], stdout=log, stderr=log, env=self.environment
            )
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=20)

    def run(self, verb: str, *rest: str) -> str:
        done = subprocess.run(
            [str(HOSTLER), verb, str(self.file), *rest],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self.environment,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def call(self, path: str, body: dict[str, str] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data)  # noqa: S310 - loopback only
        request.add_header("X-Auth-Token", SECRET)
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - loopback only
            return json.loads(answer.read())

    def answers(self) -> bool:
        try:
            return bool(self.call("/_sim/macs"))
        except OSError:
            return False

    def register(self) -> None:
        public = self.key.export_public_key().decode().strip()
        body = {"name": "mine", "public_key": public, "project_id": PROJECT}
        assert self.call("/iam/v1alpha1/ssh-keys", body)["id"]

    def macs(self) -> dict[str, dict[str, Any]]:
        return {mac["id"]: mac for mac in self.call("/_sim/macs")["macs"]}

    def lists(self, *commands: str, busy: str = "") -> None:
        """Write another list into the fleet file."""
        text = FLEET.format(url=self.url, project=PROJECT, ssh=self.ssh)
        before, rest = text.split("commands = [")
        setting = f"busy = {json.dumps(busy)}\n" if busy else ""
        after = rest.split("]\n", 1)[1]
        self.file.write_text(f"{before}commands = {json.dumps(commands)}\n{setting}{after}")

    def fleet(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json"))["fleets"][0])

    def condition(self) -> str:
        return str(self.fleet()["condition"])

    def phases(self) -> dict[str, str]:
        return {str(one["id"]): str(one["phase"]) for one in self.fleet()["machines"]}

    def ready(self) -> set[str]:
        return {machine for machine, phase in self.phases().items() if phase == "ready"}


@pytest.mark.timeout(300)
def test_macs_are_prepared_over_ssh_ended_wiped_and_prepared_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    simulator = ("simulator", "scaleway", "--port", str(lab.port), "--ssh", str(lab.ssh))
    with lab.process("simulator", *simulator, "--macs", "2", "--speed", "200"):
        wait_until(lab.answers, otherwise="the simulator answers")
        lab.register()
        with lab.process("engine", "run", str(lab.file), "--json"):
            wait_until(lambda: len(lab.ready()) == 2, otherwise="both are ready")
            first, second = sorted(lab.ready())
            for machine in (first, second):
                assert f"run 1 of {machine}" in lab.run("history", machine)
            installs = {mac: body["installs"] for mac, body in lab.macs().items()}
            passwords = {body["password"] for body in lab.macs().values()}

            lab.run("delete", first, "--why", "to see it prepared again")
            wait_until(lambda: first not in lab.ready(), otherwise="it goes")
            lab.run("scale", "2")
            wait_until(lambda: len(lab.ready()) == 2, otherwise="another machine is ready")
            assert second in lab.ready()
            (third,) = lab.ready() - {second}
            again = lab.macs()
            grown = {mac: body["installs"] - installs[mac] for mac, body in again.items()}
            assert sorted(grown.values()) == [0, 1], "one host was wiped, once"
            story = lab.run("history", third)
            assert f"run 1 of {third}" in story, "what the first left is gone with its disk"
            assert "prepared" in story
            passwords |= {body["password"] for body in again.values()}
            written = story + lab.run("history") + (tmp_path / "engine.log").read_text()
            assert passwords
            assert not [secret for secret in passwords if secret in written]
            lab.run("scale", "0")
            wait_until(lambda: all_pooled(lab), otherwise="all are back in the pool")
        assert '"well":true' in (tmp_path / "engine.log").read_text().replace(" ", "")


def all_pooled(lab: Lab) -> bool:
    return all(mac["name"].startswith("pool-") for mac in lab.macs().values())


@pytest.mark.timeout(300)
def test_a_list_at_fault_is_told_and_a_busy_mac_is_waited_for(tmp_path: Path) -> None:
    """The first list fails on both Macs; the second one leaves something at work on them."""
    lab = Lab(tmp_path)
    simulator = ("simulator", "scaleway", "--port", str(lab.port), "--ssh", str(lab.ssh))
    with lab.process("simulator", *simulator, "--macs", "2", "--speed", "200"):
        wait_until(lab.answers, otherwise="the simulator answers")
        lab.register()
        lab.lists("true", "echo hunter2; exit 3")
        with lab.process("broken", "run", str(lab.file), "--json"):
            wait_until(
                lambda: "bootstrap_failed" in lab.condition(), otherwise="the list is found out"
            )
            assert "command 2 of 2 failed (exit 3) on" in lab.condition()
            assert "hunter2" not in lab.condition()
            (one, _) = lab.phases()
            assert lab.phases()[one] == "starting"
            assert "bootstrap_failed" in lab.run("explain", one)
        lab.lists("touch at-work", busy="test -e at-work || exit 1")
        with lab.process("engine", "run", str(lab.file), "--json"):
            wait_until(lambda: len(lab.ready()) == 2, otherwise="both are ready with another list")
            assert one in lab.ready(), "nothing was given up for the list"
            assert lab.condition() == ""
            lab.run("delete", one)
            wait_until(lambda: lab.phases().get(one) == "draining", otherwise="its end waits")
            wait_until(
                lambda: "its host is busy" in lab.run("explain", one), otherwise="it said so"
            )
            assert lab.phases()[one] == "draining"
            lab.run("delete", one, "--now")
            wait_until(lambda: one not in lab.phases(), otherwise="it went all the same")
            assert "at once, whatever runs on it" in lab.run("history", one)
