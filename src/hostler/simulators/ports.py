"""Ports for whoever is told where to listen before it does."""

import secrets
import socket
from contextlib import suppress

_FIRST, _MANY = 20_000, 12_000
"""Below what systems give to those who connect: 32768 and up (Linux), 49152 and up (others)."""
_TRIES = 100


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Return a port that nobody listens on just now, on any address of this machine.

    Nor will a connection be given it before it is listened on. Raises OSError if none is found.
    """
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(_MANY)
        with suppress(OSError), socket.socket(type=kind) as probe:
            probe.bind(("", port))
            return port
    raise OSError(f"{_TRIES} ports from {_FIRST} on were tried, and all are in use")
