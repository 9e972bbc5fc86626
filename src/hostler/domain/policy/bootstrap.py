"""Bootstrap: which configuration a host carries, and whether its commands must run (again).

The host itself keeps the note of what was applied: a record that is lost runs nothing needlessly,
and a reinstallation empties it.
"""

import hashlib
import re
from enum import StrEnum

from msgspec import Struct

from hostler.domain.ids import MachineId

_DIGITS = 32
_SUDO = re.compile(r"\bsudo\b[^\n;|&]*?\s(-[A-Za-z]*S|--stdin\b)")


class Cause(StrEnum):
    """Why the commands of a bootstrap run, or why none does."""

    NOTHING = "no commands are asked for"
    CURRENT = "the host carries them already"
    FIRST = "nothing was applied yet"
    EMPTIED = "nothing is noted at the host: it was reinstalled, or a run broke off"
    DRIFT = "the host carries another list"
    MOVED = "the host carries them for another machine"
    FORCED = "it was asked for"

    @property
    def runs(self) -> bool:
        """Whether the commands must run."""
        return self not in {Cause.NOTHING, Cause.CURRENT}


class Applied(Struct, frozen=True, kw_only=True):
    """What is noted at a host: the digest of its commands, and the machine that they ran for."""

    digest: str
    machine: MachineId

    def __str__(self) -> str:
        """Return the note as it is written."""
        return f"{self.digest} {self.machine}"


def digest_of(commands: tuple[str, ...]) -> str:
    """Return the digest of a setup script; empty where it has no commands."""
    if not commands:
        return ""
    text = "".join(f"{len(command.encode())}:{command}" for command in commands)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def asks(command: str) -> bool:
    """Tell whether a command has sudo read a password from its input (`sudo -S`)."""
    return _SUDO.search(command) is not None


def note_of(text: str) -> Applied | None:
    """Return the note that was read at a host, or None where it is none, or not a whole one."""
    digest, _, machine = text.strip().partition(" ")
    whole = len(digest) == _DIGITS and set(digest) <= set("0123456789abcdef")
    return Applied(digest=digest, machine=MachineId(machine)) if whole and machine else None


def cause_of(
    noted: Applied | None, wanted: Applied, recorded: str = "", *, forced: bool = False
) -> Cause:
    """Return whether the wanted commands must run at a host that carries this note, and why.

    The host's note decides. `recorded`, the digest in our record, only tells a first time from a
    host that has lost its note.
    """
    if not wanted.digest:
        return Cause.NOTHING
    if forced:
        return Cause.FORCED
    if noted is None:
        return Cause.EMPTIED if recorded else Cause.FIRST
    if noted.digest != wanted.digest:
        return Cause.DRIFT
    return Cause.CURRENT if noted.machine == wanted.machine else Cause.MOVED
