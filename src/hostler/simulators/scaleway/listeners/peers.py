"""Who is at the other end of a connection over loopback, by the kernel's table (Linux only)."""

import socket
import sys
from os import getuid
from pathlib import Path

SOCKETS = Path("/proc/net/tcp")


def same_user(connection: socket.socket) -> bool:
    """Tell if our own user, or root, holds the other end of a connection over loopback.

    Commands run as the user who runs the simulator: nobody else of this machine may ask for any.
    """
    theirs, ours = connection.getpeername(), connection.getsockname()
    return holder(SOCKETS.read_text(encoding="ascii"), theirs, ours) in {0, getuid()}


def holder(table: str, theirs: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """Return whose the socket is that is connected from theirs to ours; None for nobody's."""
    wanted = [written(theirs), written(ours)]
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == wanted:
            return int(fields[7])
    return None


def written(end: tuple[str, int]) -> str:
    """Return an address and a port as the table of the kernel writes them."""
    number = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{number:08X}:{end[1]:04X}"
