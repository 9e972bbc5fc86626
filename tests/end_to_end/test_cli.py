"""The command line as real processes, beside a running engine and the simulated Scaleway."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from hostler.simulators.ports import free_port

HOSTLER = Path(sys.executable).parent / "hostler"
SECRET = "5ec5ec5e-0000-4000-8000-5ec5ec5ec5ec"
PROJECT = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"

FLEET = """
[provider.scaleway]
endpoint = "{url}"
project = "{project}"
rate = 100
burst = 200
consistency_delay = "1s"

[fleet.web]
size = 2
types = ["DEV1-S"]
ready = {{ probe = "tcp", port = {guests} }}
reclaim = true

[fleet.web.timers]
absence_gap = "500ms"
grace = "2s"
sighting_gap = "500ms"
probe_every = "200ms"
tries = ["500ms", "1s"]

[fleet.web.caps]
share_window = "1s"

[engine]
quiet = "500ms"
busy_first = "300ms"
busy_last = "500ms"
rare = "500ms"

[metrics]
listen = "127.0.0.1:{metrics}"
"""


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - loopback only
        return str(answer.read(), "utf-8")


@dataclass(frozen=True)
class Place:
    """A simulated Scaleway and a fleet file for it."""

    url: str
    file: Path
    metrics: int

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        verb, *rest = argv
        return subprocess.run(
            [str(HOSTLER), verb, str(self.file), *rest],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "SCW_SECRET_KEY": SECRET},
        )

    def json(self, *argv: str) -> Any:
        return json.loads(self.run(*argv, "--json").stdout)

    @contextmanager
    def engine(self, *options: str) -> Generator[subprocess.Popen[str]]:
        log = (self.file.parent / "engine.log").open("a")
        with (
            log,
            subprocess.Popen(
                [str(HOSTLER), "run", str(self.file), *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "SCW_SECRET_KEY": SECRET},
            ) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    def ready(self) -> int:
        return int(self.json("status")["fleets"][0]["ready"] or 0)

    def leaks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(get(f"{self.url}/_sim/leaks"))["leaks"]
        return found


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    port, guests, metrics = free_port(), free_port(), free_port()
    command = [str(HOSTLER), "simulator", "scaleway", "--port", str(port), "--speed", "20"]
    url = f"http://127.0.0.1:{port}"
    file = tmp_path / "web.toml"
    file.write_text(FLEET.format(url=url, project=PROJECT, guests=guests, metrics=metrics))
    with subprocess.Popen(
        [*command, "--guest-port", str(guests)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_until(lambda: _answers(url))
            yield Place(url=url, file=file, metrics=metrics)
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        return bool(get(f"{url}/metadata"))
    except OSError:
        return False


@pytest.mark.timeout(240)
def test_a_fleet_is_kept_watched_asked_about_and_taken_away(place: Place) -> None:
    before = place.json("plan")["fleets"][0]
    assert [entry["machine"] for entry in before["machines"]] == [None, None]
    assert place.leaks() == []
    with place.engine("--json") as engine:
        wait_until(lambda: place.ready() == 2)
        first, second = place.json("status")["fleets"][0]["machines"]
        assert first["address"].startswith("127.")

        explained = place.json("explain", first["id"])
        assert (explained["phase"], explained["because"]) == (
            "ready",
            "it is up and the readiness probe passed",
        )
        assert place.json("plan")["fleets"][0]["machines"] == []

        # A second engine is refused; requests beside the first are noticed at once.
        assert place.run("run").returncode == 4
        asked = time.monotonic()
        held = place.json("protect", first["id"], "--for", "1h")
        assert held["taken"]
        assert time.monotonic() - asked < 10
        wait_until(lambda: place.json("status")["fleets"][0]["machines"][0]["protected"])
        assert place.json("unprotect", first["id"])["taken"]

        # Somebody deletes a server by hand: it is replaced, and nothing of it is left.
        body = json.dumps({"act": "server_deleted_by_hand", "id": second["resources"]["server"]})
        request = urllib.request.Request(f"{place.url}/_sim/act", data=body.encode())  # noqa: S310 - loopback only
        urllib.request.urlopen(request, timeout=5).close()  # noqa: S310 - loopback only
        wait_until(lambda: second["id"] not in _ids(place) and place.ready() == 2)
        texts = [event["text"] for event in place.json("history", second["id"])["events"]]
        assert "recorded as pending" in texts[0]
        assert any("its server is no longer there" in text for text in texts)
        assert texts[-1].startswith("stopping → deleted")

        metrics = get(f"http://127.0.0.1:{place.metrics}/metrics")
        assert 'hostler_machines{fleet="web",phase="ready"} 2.0' in metrics
        assert 'call="server.create",outcome="done",provider="scaleway"' in metrics
        assert get(f"http://127.0.0.1:{place.metrics}/readyz") == "ok\n"

        assert place.json("scale", "0", "--why", "enough")["taken"]
        wait_until(lambda: not _ids(place) and not place.leaks())
        assert place.run("orphans", "--observe").returncode == 0

        # Ctrl-C is clean, and quick.
        begun = time.monotonic()
        engine.send_signal(signal.SIGINT)
        assert engine.wait(timeout=10) == 0
        assert time.monotonic() - begun < 5
    past = place.json("status", "--at", "1h")["fleets"][0]["machines"]
    assert past == []
    _says_nothing_secret(place)


def _ids(place: Place) -> set[str]:
    return {machine["id"] for machine in place.json("status")["fleets"][0]["machines"]}


def _says_nothing_secret(place: Place) -> None:
    """Neither the log, nor the records, nor what commands print hold the secret key."""
    log = (place.file.parent / "engine.log").read_text()
    assert "Traceback" not in log
    assert '"event": "moved"' in log
    assert '"reason": "probe_passed"' in log
    assert '"cycle": "' in log
    for file in place.file.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name
    output = place.run("plan").stdout + place.run("history").stdout
    assert SECRET not in output


@pytest.mark.timeout(120)
def test_an_orphan_costs_until_it_is_gone(place: Place) -> None:
    """A store that was lost: nothing is bought or touched until somebody adopts."""
    with place.engine():
        wait_until(lambda: place.ready() == 2)
    for file in place.file.parent.glob("web.db*"):
        file.unlink()
    found = place.run("orphans", "--observe", "--json")
    assert found.returncode == 3
    orphans = json.loads(found.stdout)["orphans"]
    assert {entry["class"] for entry in orphans} == {"foreign"}
    owner = orphans[0]["owner"].rpartition(" of ")[2]
    count = len(place.leaks())
    with place.engine():
        wait_until(lambda: bool(place.json("status")["fleets"][0]["orphans"]))
        assert len(place.leaks()) == count
        assert place.json("adopt", "--from", owner)["taken"]
        wait_until(lambda: place.ready() == 2)
        assert len(place.leaks()) == count
        wait_until(lambda: place.run("orphans").returncode == 0)


def test_no_secret_is_a_clear_error_and_no_traceback(place: Place) -> None:
    done = subprocess.run(
        [str(HOSTLER), "plan", str(place.file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "SCW_SECRET_KEY"},
    )
    assert done.returncode == 2
    assert "SCW_SECRET_KEY is not set" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_provider_that_cannot_be_reached_is_a_clear_error(place: Place) -> None:
    text = place.file.read_text().replace(place.url, "http://127.0.0.1:1")
    place.file.write_text(text)
    done = place.run("check", "--online")
    assert done.returncode == 7
    assert "could not be observed" in done.stderr
    assert "Traceback" not in done.stderr
