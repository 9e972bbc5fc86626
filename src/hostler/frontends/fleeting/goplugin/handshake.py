"""Handshake: the one line on stdout by which the host finds us; stdout is closed to us after it.

Fields (hashicorp/go-plugin v1.8.0, client.go): core protocol, application protocol, network,
address, protocol, certificate, and, only where the host asks, whether its broker may multiplex.
"""

import base64
import os
from pathlib import Path

from .launch import Launch

_CORE = 1
_STDOUT, _STDERR = 1, 2


def line(launch: Launch, socket: Path, certificate: bytes = b"") -> str:
    """Return the line; `certificate` is DER, and empty where TLS is not spoken.

    Multiplexing means a protocol under gRPC that we do not speak: asked for it, we say so, and the
    host tells its operator.
    """
    plain = base64.b64encode(certificate).decode("ascii").rstrip("=")
    fields = [str(_CORE), str(launch.version), "unix", str(socket), "grpc", plain]
    return "|".join([*fields, "false"] if launch.multiplex else fields)


def shake(said: str) -> int:
    """Print the line, turn stdout to stderr for good, and return what was stdout.

    Whatever is printed later, by us or by a library, is a log line. The descriptor that is returned
    is for watching: nothing is written to it, and it tells when the host no longer reads.
    """
    _write(said.encode() + b"\n")
    was = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    return was


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]
