"""A fleet that is renamed in the file: what it was is told everywhere until somebody ends it."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

HOSTLER = str(Path(sys.executable).parent / "hostler")
KEY = "11111111-1111-1111-1111-111111111111"
FILE = """
[provider.scaleway]
endpoint = "{endpoint}"
project = "22222222-2222-2222-2222-222222222222"
secret_key_file = "key"
[fleet.{name}]
size = 1
types = ["DEV1-S"]
volume = {{ size = "10GB" }}
[engine]
poll = "100ms"
quiet = "1s"
"""
ABOUT = "the fleet web is not in the file"


@contextmanager
def process(log: Path, *argv: str) -> Generator[subprocess.Popen[bytes]]:
    """Run a command until the block ends; it must still run then, and end in order."""
    with (
        log.open("ab") as out,
        subprocess.Popen([HOSTLER, *argv], stdout=out, stderr=subprocess.STDOUT) as made,
    ):
        try:
            yield made
            assert made.poll() is None, log.read_text()
            made.send_signal(signal.SIGTERM)
            made.wait(timeout=60)
        finally:
            made.kill()


def run(verb: str, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HOSTLER, verb, str(file), *options],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def ready(file: Path) -> dict[str, int]:
    """Return how many machines of each fleet are ready, by its name; none while a store is made."""
    answer = json.loads(run("status", file, "--json").stdout)
    fleets: list[dict[str, Any]] = answer.get("fleets", [])
    return {fleet["name"]: fleet["ready"] for fleet in fleets}


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    log = tmp_path / "simulator.log"
    with process(log, "simulator", "--port", "0", "--speed", "30"):
        wait_until(lambda: "simulator.listening" in log.read_text())
        yield str(json.loads(log.read_text().splitlines()[0])["url"])


@pytest.mark.timeout(300)
def test_a_renamed_fleet_is_told_everywhere_until_somebody_ends_it(
    tmp_path: Path, endpoint: str
) -> None:
    file, log = tmp_path / "fleet.toml", tmp_path / "engine.log"
    (tmp_path / "key").write_text(KEY)
    file.write_text(FILE.format(endpoint=endpoint, name="web"))
    with process(log, "run", str(file)):
        wait_until(lambda: log.exists() and ready(file) == {"web": 1})
        (machine,) = json.loads(run("status", file, "--json").stdout)["fleets"][0]["machines"]

        file.write_text(FILE.format(endpoint=endpoint, name="builders"))
        assert ABOUT in run("status", file).stderr, "before the engine runs it"
        assert ABOUT in run("check", file, "--json").stdout
        assert run("reload", file).returncode == 0
        wait_until(lambda: ready(file) == {"builders": 1, "web": 1})
        for verb in ("status", "orphans", "cost", "plan", "history"):
            assert ABOUT in run(verb, file).stderr, verb
        assert ABOUT in run("top", file, "--count", "1").stderr
        assert ABOUT in log.read_text()
        assert "ready" in run("explain", file, machine["id"]).stdout

        refused = run("delete", file, "builders")
        assert (refused.returncode, "is a fleet of the file" in refused.stderr) == (2, True)
        assert run("delete", file, "web").returncode == 0
        wait_until(lambda: ready(file) == {"builders": 1})
        assert ABOUT not in run("status", file).stderr


@pytest.mark.timeout(300)
def test_a_fleet_that_left_while_no_engine_ran_is_looked_after_by_the_next_one(
    tmp_path: Path, endpoint: str
) -> None:
    file, log = tmp_path / "fleet.toml", tmp_path / "engine.log"
    (tmp_path / "key").write_text(KEY)
    web = FILE.replace("size = 1", 'size = 1\non_remove = "end"')
    file.write_text(web.format(endpoint=endpoint, name="web"))
    with process(log, "run", str(file)):
        wait_until(lambda: log.exists() and ready(file) == {"web": 1})
    file.write_text(FILE.format(endpoint=endpoint, name="builders"))
    assert ABOUT in run("status", file).stderr
    with process(log, "run", str(file)):
        wait_until(lambda: ready(file) == {"builders": 1})


@pytest.mark.timeout(300)
def test_machines_of_a_renamed_fleet_are_carried_over_by_the_line_that_is_offered(
    tmp_path: Path, endpoint: str
) -> None:
    file, log = tmp_path / "fleet.toml", tmp_path / "engine.log"
    (tmp_path / "key").write_text(KEY)
    file.write_text(FILE.format(endpoint=endpoint, name="web"))
    with process(log, "run", str(file)):
        wait_until(lambda: log.exists() and ready(file) == {"web": 1})
        (machine,) = json.loads(run("status", file, "--json").stdout)["fleets"][0]["machines"]

        file.write_text(FILE.format(endpoint=endpoint, name="builders"))
        line = "hostler adopt FILE --fleet builders --from-fleet web"
        assert line in " ".join(run("status", file).stderr.split())
        assert line in run("check", file, "--json").stdout
        _, verb, _, *options = line.split()
        asked = json.loads(run(verb, file, *options, "--no-wait", "--json").stdout)
        assert (asked["request"]["kind"], asked["request"]["source"]) == ("adopt_fleet", "web")
        assert run("reload", file).returncode == 0
        wait_until(lambda: ready(file) == {"builders": 1})
        assert ABOUT not in run("status", file).stderr
        (after,) = json.loads(run("status", file, "--json").stdout)["fleets"][0]["machines"]
        assert after["id"] == machine["id"], "none was made in its place"
        assert "now a machine of fleet builders" in run("history", file, machine["id"]).stdout
        assert "ready" in run("explain", file, machine["id"]).stdout
        again = run(verb, file, *options)
        assert (again.returncode, "nothing is left of a fleet web" in again.stderr) == (2, True)
