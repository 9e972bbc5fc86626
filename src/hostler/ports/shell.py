"""Shell: runs a command at a host, for providers whose hosts are reached by SSH alone."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from msgspec import Struct

KeyCheck = Callable[[str], str]
"""Returns what is wrong with the fingerprint of the key that a host shows, or an empty string."""


def pinned(fingerprint: str) -> KeyCheck:
    """Return the check for this fingerprint; an empty one accepts any host."""
    wanted = fingerprint.rstrip("=")

    def check(fingerprint: str) -> str:
        differs = wanted not in {"", fingerprint.rstrip("=")}
        return f"it shows the key {fingerprint}, not {wanted}" if differs else ""

    return check


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where to log in, as whom, with which keys, and how the host's own key is judged.

    `keys` are private keys, as files hold them, or such files; without any, those of an agent and
    the user's own files are tried, but where they are not to be `lent`. `check` is asked before
    anything is sent.
    """

    address: str
    port: int
    user: str
    keys: tuple[bytes | Path, ...] = field(default=(), repr=False)
    check: KeyCheck = pinned("")
    lent: bool = True

    def __str__(self) -> str:
        """Return the place as people write it."""
        return f"{self.user}@{self.address}:{self.port}"


class NotReached(Exception):
    """There was no login: certainly nothing was run."""


class Denied(NotReached):
    """The host takes none of our keys, or ours cannot be read: somebody must change something."""


class Stranger(NotReached):
    """The host showed this key, which is not its own."""

    def __init__(self, text: str, key: str) -> None:
        super().__init__(text)
        self.key = key


class Lost(Exception):
    """The connection went away, or time ran out, after the command was sent: it may have run."""


class Printed(Struct, frozen=True):
    """The end of what a command printed, the key that its host showed, and its exit status."""

    text: str
    host_key: str
    status: int = 0


class Shell(Protocol):
    """Runs commands at hosts."""

    async def run(self, login: Login, command: str) -> Printed:
        """Log in, run one command, and return the end of what it printed, whatever its exit status.

        Raises NotReached, Denied, Stranger or Lost only; none repeats a private key.
        """
        ...
