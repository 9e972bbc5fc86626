"""Ports for whoever listens later: free, and given to nobody who connects."""

import secrets
import socket
from pathlib import Path

import pytest

from hostler.simulators.ports import free_port

GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Which ports Linux gives to those who connect: the first and the last."""


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_port_can_be_had(kind: socket.SocketKind) -> None:
    with socket.socket(type=kind) as server:
        server.bind(("127.0.0.1", free_port(kind)))


def test_no_connection_is_given_such_a_port() -> None:
    first = int(GIVEN.read_text().split()[0]) if GIVEN.exists() else 49152
    assert all(free_port() < first for _ in range(100))


def test_a_port_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = secrets.randbelow
    with socket.create_server(("127.0.0.1", free_port())) as server:
        taken = server.getsockname()[1]
        drawn = iter((taken - 20_000, draw(12_000), draw(12_000)))

        def first_taken(_: int) -> int:
            return next(drawn)

        monkeypatch.setattr(secrets, "randbelow", first_taken)
        assert free_port() != taken


def test_where_no_port_is_free_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        taken = server.getsockname()[1]

        def always_taken(_: int) -> int:
            return taken - 20_000

        monkeypatch.setattr(secrets, "randbelow", always_taken)
        with pytest.raises(OSError, match="in use"):
            free_port()
