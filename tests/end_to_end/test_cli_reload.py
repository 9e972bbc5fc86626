"""A running engine reads its file again: by `hostler reload`, by SIGHUP, whole or not at all."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

HOSTLER = Path(sys.executable).parent / "hostler"
HOSTS = 3
FILE = """
{hosts}
[fleet.boxes]
size = {size}
{more}
[engine]
poll = "100ms"
quiet = "300ms"
"""
HOST = """
[[provider.static.hosts]]
name = "box{number}"
address = "127.0.0.{number}"
port = 1
"""


def text(size: int, more: str = "") -> str:
    hosts = "".join(HOST.format(number=number) for number in range(1, HOSTS + 1))
    return FILE.format(hosts=hosts, size=size, more=more)


class Fleet:
    """A fleet file, and the engine that runs it."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "boxes.toml", folder / "engine.log"
        self.file.write_text(text(1))

    def run(self, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(HOSTLER), verb, str(self.file), *options],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def json(self, verb: str, *options: str) -> Any:
        return json.loads(self.run(verb, *options, "--json").stdout)

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(HOSTLER), "run", str(self.file)], stdout=log, stderr=subprocess.STDOUT
            )

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{")
        return [line for line in lines if line["event"] == name]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    with made.start() as engine:
        try:
            wait_until(lambda: len(made.events("engine started")) == 1)
            wait_until(lambda: made.json("status")["fleets"][0]["ready"] == 0)
            yield made
            assert engine.poll() is None, "the engine runs on, whatever it was asked"
            engine.send_signal(signal.SIGTERM)
            assert engine.wait(timeout=60) == 0
        finally:
            engine.kill()


def differs(fleet: Fleet) -> list[str]:
    found: list[str] = fleet.json("status")["standing"]["differs"]
    return found


@pytest.mark.timeout(300)
def test_an_edit_is_told_by_every_reading_command_until_the_engine_runs_it(fleet: Fleet) -> None:
    assert differs(fleet) == []
    fleet.file.write_text("# only a remark\n" + text(1))
    assert differs(fleet) == []

    fleet.file.write_text(text(2))
    for verb in ("status", "orphans", "cost", "plan"):
        assert fleet.json(verb)["standing"]["differs"] == ["fleet.boxes"], verb
        assert "changed: fleet.boxes" in fleet.run(verb).stderr
    assert "changed: fleet.boxes" in fleet.run("top", "--count", "1").stderr

    would = fleet.json("reload", "--dry-run")
    assert (would["changed"], would["taken"]) == (["fleet.boxes"], None)
    assert len(would["fleets"]) == 1
    assert differs(fleet) == ["fleet.boxes"]

    done = fleet.run("reload")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the engine runs this file now" in done.stdout
    assert differs(fleet) == []
    assert fleet.events("file read again")[-1]["changed"] == ["fleet.boxes"]
    assert len(fleet.events("engine started")) == 2


@pytest.mark.timeout(300)
def test_a_bad_file_is_refused_whole_and_the_old_one_stays(fleet: Fleet) -> None:
    lock = fleet.file.with_suffix(".db.lock")
    fleet.file.write_text(text(2, "sizes = 3"))
    assert fleet.run("reload").returncode == 2, "refused before the engine is asked"
    os.kill(int(lock.read_text()), signal.SIGHUP)
    wait_until(lambda: len(fleet.events("file refused, the engine goes on with the old one")) == 1)

    fleet.file.write_text(text(2) + '[metrics]\nlisten = "127.0.0.1:0"\n')
    refused = fleet.run("reload")
    assert refused.returncode == 1
    assert "metrics cannot change while it runs" in refused.stdout
    notice = fleet.run("status").stderr
    assert "changed: fleet.boxes, metrics" in notice
    assert "it was refused: metrics cannot change" in notice
    assert len(fleet.events("engine started")) == 1

    fleet.file.write_text(text(2))
    os.kill(int(lock.read_text()), signal.SIGHUP)
    wait_until(lambda: len(fleet.events("engine started")) == 2)
    assert differs(fleet) == []


@pytest.mark.timeout(300)
def test_without_an_engine_there_is_nothing_to_ask(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    ended = fleet.run("reload")
    assert ended.returncode == 2
    assert "no engine runs on" in ended.stderr
    status = fleet.run("status")
    assert "there is no store yet" in status.stderr
    assert "0 of 1 ready" not in status.stdout
    assert fleet.json("status")["fleets"][0]["ready"] is None
