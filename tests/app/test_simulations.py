"""The command `hostler simulator`, where it cannot serve: what it says, and its exit code."""

import re
import socket
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from hostler.app.command_line import groups
from hostler.app.simulations import power, scaleway
from hostler.app.simulator import _hello
from hostler.frontends.cli.main import application
from hostler.frontends.cli.main import main as run
from hostler.simulators.scaleway.world import World


@pytest.mark.parametrize(
    ("macs", "message"),
    [
        ("x", "hostler: simulator: macs: expected N[:TYPE[:ZONE[:PREFIX]]], not x\n"),
        (
            "3:M9",
            (
                "hostler: simulator: no Macs of type M9 in fr-par-1; "
                "sold there: M2-L, M2-M, M4-M, M4-S, M4-XL\n"
            ),
        ),
        (
            "3:M2-L:nl-ams-1",
            "hostler: simulator: no Macs of type M2-L in nl-ams-1; sold there: none\n",
        ),
    ],
)
def test_macs_that_cannot_be_are_told_of(
    capsys: pytest.CaptureFixture[str], macs: str, message: str
) -> None:
    assert scaleway(port=0, macs=(macs,)) == 2
    assert capsys.readouterr().err == message


def test_the_command_alone_serves_scaleway(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["simulator"], ["simulator", "scaleway"]):
        assert run(application(groups("simulator")), [*words, "--port", "0", "--macs", "x"]) == 2
        assert "hostler: simulator: macs: expected N" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        assert scaleway(port=port) == 2
        assert scaleway(port=0, ssh=port) == 2
    message = capsys.readouterr().err.splitlines()
    assert len(message) == 2
    assert all(line.startswith("hostler: cannot serve on 127.0.0.1:") for line in message)
    assert all("--port" in line for line in message)


def test_an_address_that_is_not_loopback_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert scaleway(port=0, host="192.0.2.1") == 2
    assert "serves loopback only" in capsys.readouterr().err


def test_the_banner_names_every_variable_that_clients_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As lines of a shell; ids are UUIDs, and the access key has the form that clients check."""
    world = World(lambda: 0.0, Random(1))
    _hello(cast("Any", SimpleNamespace(url="http://127.0.0.1:8100", world=world)))
    lines = capsys.readouterr().out.splitlines()
    variables = dict(line.removeprefix("export ").split("=", 1) for line in lines)
    assert variables["SCW_API_URL"] == "http://127.0.0.1:8100"
    assert re.fullmatch(r"SCW[A-Z0-9]{17}", variables["SCW_ACCESS_KEY"])
    assert variables["SCW_DEFAULT_ORGANIZATION_ID"] == world.options.organization
    for name in ("SCW_SECRET_KEY", "SCW_DEFAULT_PROJECT_ID", "SCW_DEFAULT_ORGANIZATION_ID"):
        assert UUID(variables[name])
    assert (variables["SCW_DEFAULT_ZONE"], variables["SCW_DEFAULT_REGION"]) == (
        "fr-par-1",
        "fr-par",
    )


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_rack_whose_port_is_taken_says_so(
    kind: socket.SocketKind, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first machine is asked over TCP, and the eighth over UDP."""
    address = "127.65.0.1" if kind is socket.SOCK_STREAM else "127.65.0.8"
    with socket.socket(type=kind) as taken:
        taken.bind((address, 0))
        port = int(taken.getsockname()[1])
        assert power(port=port, guest_port=0) == 2
    message = capsys.readouterr().err
    assert message.startswith("hostler: the rack cannot be served:")
    assert "--port" in message


def test_a_rack_writes_over_no_fleet_file_of_another_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "web.toml"
    mine.write_text("[provider.scaleway]\n")
    assert power(port=0, guest_port=0, write_fleet=mine) == 2
    assert "no simulator wrote it: name another file" in capsys.readouterr().err
    assert mine.read_text() == "[provider.scaleway]\n"


def test_a_simulator_that_is_none_is_refused_with_the_names_of_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(application(groups()), ["simulator", "foo"]) == 2

    message = "hostler: unexpected argument: foo (there are: scaleway, power)\n"
    assert capsys.readouterr().err == message
