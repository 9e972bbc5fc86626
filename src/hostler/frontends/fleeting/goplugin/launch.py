"""Launch: what the host's environment says of how to serve, and the handshake that answers it.

The host sets these variables for the process that it starts (reference/fleeting.md section 1.1, and
hashicorp/go-plugin v1.8.0, client.go and server.go). Its magic cookie is not needed: a process that
is given PLUGIN_PROTOCOL_VERSIONS was launched by a host.

The answer is one line on stdout, which is closed to us after it: core protocol, application
protocol, network, address, protocol, certificate, and, only where the host asks, whether its broker
may multiplex.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_VERSIONS = "PLUGIN_PROTOCOL_VERSIONS"


class ByHand(Exception):
    """Nobody launched us as a plugin; the text is one line for who typed the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How this process is to serve."""

    versions: tuple[int, ...]
    client_certificate: str = field(default="", repr=False)
    multiplex: bool = False
    socket_folder: Path | None = None
    socket_group: str = ""

    @property
    def version(self) -> int:
        """The highest application protocol that the host accepts; it is echoed."""
        return max(self.versions)


def launched(environment: Mapping[str, str]) -> Launch:
    """Return how to serve; ByHand where no host has said it."""
    versions = _numbers(environment.get(_VERSIONS, ""))
    if not versions:
        raise ByHand(
            "fleeting-plugin-hostler is a plugin: GitLab Runner starts it, with "
            f"{_VERSIONS} set; by hand, try --help"
        )
    folder = environment.get("PLUGIN_UNIX_SOCKET_DIR", "")
    return Launch(
        versions=versions,
        client_certificate=environment.get("PLUGIN_CLIENT_CERT", ""),
        multiplex=environment.get("PLUGIN_MULTIPLEX_GRPC", "") != "",
        socket_folder=Path(folder) if folder else None,
        socket_group=environment.get("PLUGIN_UNIX_SOCKET_GROUP", ""),
    )


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a comma-separated list; what is none is left out."""
    parts = (part.strip() for part in text.split(","))
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())


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


def shake(output: str) -> int:
    """Print the line, turn stdout to stderr for good, and return what was stdout.

    Whatever is printed later, by us or by a library, is a log line. The descriptor that is returned
    is for watching: nothing is written to it, and it tells when the host no longer reads.
    """
    _write(output.encode() + b"\n")
    was = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    return was


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(_STDOUT, data) :]
