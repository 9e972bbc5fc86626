"""Schemas read out of real Go binaries, by the command that an operator runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hostler.testing.peers.go_hosts import Build, GoHosts

HOSTLER = Path(sys.executable).with_name("hostler")
SERVICES = {
    "alder": "tender.alder.v1.GroupProvider",
    "birch": "proto.Fleet",
    "cedar": "grove.pool.Warden",
    "dogwood": "dogwood.v2.Plugin",
    "elder": "orchard.Keeper",
}


def inspect(program: Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [HOSTLER, "fleeting", "inspect", program, "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("name", SERVICES)
def test_a_stripped_binary_tells_its_whole_schema(go_hosts: GoHosts, name: str) -> None:
    code, report = inspect(go_hosts.program(name))
    assert (code, report["service"], report["unmapped"]) == (0, SERVICES[name], [])
    assert report["services"][0]["used"] > 0
    assert report["build_id"]
    assert {"exact"} <= report["levels"].keys()


def test_of_two_versions_the_one_that_is_called_comes_first(go_hosts: GoHosts) -> None:
    _, report = inspect(go_hosts.program("dogwood"))
    used = {one["service"]: one["used"] > 0 for one in report["services"]}
    assert used == {"dogwood.v2.Plugin": True, "dogwood.v1.Plugin": False}


@pytest.mark.parametrize("build", [Build.PIE, Build.PLAIN])
def test_however_it_is_linked_it_says_the_same(go_hosts: GoHosts, build: Build) -> None:
    _, stripped = inspect(go_hosts.program("cedar"))
    code, report = inspect(go_hosts.program("cedar", build))
    assert code == 0
    for key in ("service", "methods", "mapping", "states", "unmapped"):
        assert report[key] == stripped[key]


def test_a_schema_that_says_something_else_is_shown_with_what_is_wrong(go_hosts: GoHosts) -> None:
    code, report = inspect(go_hosts.program("fir"))
    assert code == 1
    wrong = {one["field"] for one in report["unmapped"]}
    assert wrong == {"Increase.reply.succeeded", "Decrease.reply.succeeded"}


def test_a_program_that_is_no_runner_is_refused() -> None:
    code, report = inspect(Path(sys.executable))
    assert (code, report["service"]) == (1, None)
