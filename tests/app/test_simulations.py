"""The command `hostler simulator`, where it cannot serve: what it says, and its exit code."""

import socket

import pytest

from hostler.app.simulations import simulator


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
    assert simulator(port=0, macs=(macs,)) == 2
    assert capsys.readouterr().err == message


def test_a_port_that_is_taken_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        assert simulator(port=port) == 2
        assert simulator(port=0, ssh=port) == 2
    message = capsys.readouterr().err.splitlines()
    assert len(message) == 2
    assert all(line.startswith("hostler: cannot serve on 127.0.0.1:") for line in message)
    assert all("--port" in line for line in message)


def test_an_address_that_is_not_loopback_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulator(port=0, host="192.0.2.1") == 2
    assert "serves loopback only" in capsys.readouterr().err
