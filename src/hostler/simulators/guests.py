"""Listeners that stand where guests are up: a connection to a simulated server succeeds or not."""

import asyncio
import contextlib
import socket
from collections.abc import Mapping

import structlog

BANNER = b"SSH-2.0-simulated\r\n"
log = structlog.get_logger()


class Listeners:
    """One TCP listener for each address at which a guest is up, all on one port."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: dict[str, socket.socket] = {}
        self._refused: set[str] = set()

    def follow(self, guests: Mapping[str, str]) -> None:
        """Open what is missing and close what is too much; needs a running loop."""
        for address in [address for address in self._sockets if address not in guests]:
            self._close(address)
        for address in guests:
            if address not in self._sockets and address not in self._refused:
                self._open(address)

    def close(self) -> None:
        """Close all."""
        self.follow({})

    def _open(self, address: str) -> None:
        try:
            listener = socket.create_server((address, self._port), backlog=16)
        except OSError as error:
            self._refused.add(address)
            log.warning("guest.deaf", address=address, port=self._port, error=str(error))
            return
        listener.setblocking(False)
        self._sockets[address] = listener
        asyncio.get_running_loop().add_reader(listener, greet, listener)

    def _close(self, address: str) -> None:
        listener = self._sockets.pop(address)
        asyncio.get_running_loop().remove_reader(listener)
        listener.close()


def greet(listener: socket.socket) -> None:
    """Accept a connection, say something, and close it."""
    with contextlib.suppress(OSError):
        connection, _ = listener.accept()
        with connection:
            connection.setblocking(False)
            connection.send(BANNER)
