"""Bootstrap data: a script that is for one machine alone, and how far it came on its host. Pure.

It runs once on a disk for a machine. The host keeps a note of that, so that neither a crash nor a
record that is lost runs it twice; our record has that it was asked for before it is sent.
"""

import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from hostler.domain.ids import MachineId

LARGEST = 1_048_576
"""Bytes that a script may have: as many as a Secret of Kubernetes holds."""

_SHORTEST = 6
_WORDS = re.compile(r"""[^\s"'`=,;|&()<>${}\[\]]+""")
_PLAIN = re.compile(r"-*[a-z][a-z-]{0,14}|(/[a-z0-9._-]{1,14})+/?")
_NAMED = re.compile(
    r"""(?i)[\w-]*(?:token|passw|secret|key|credential|auth)[\w-]*["']?(?:\s*[=:]\s*|\s+)["']?"""
    r"""([^\s"'`;|&()<>]+)"""
)


class DataState(StrEnum):
    """How far a machine's script came on its host.

    *waiting* was not sent; *asked* may have been; *running* was begun and has not ended; *done*
    exited with 0, and *failed* did not, was cut off, or is none that can be run.
    """

    WAITING = "waiting"
    ASKED = "asked"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class DataRun(Struct, frozen=True, kw_only=True):
    """The run of a machine's script on the disk that a host has now; `text` is why it failed."""

    machine: MachineId | None = None
    state: DataState = DataState.WAITING
    at: datetime | None = None
    text: str = ""

    def of(self, machine: MachineId) -> "DataRun":
        """Return this run where it is that machine's, or else one that was not begun."""
        return self if self.machine == machine else DataRun(machine=machine)


def script_of(data: bytes, place: str) -> bytes:
    """Return the script in bootstrap data; ValueError with a sentence where no host can run it.

    Bytes that are no UTF-8 are a script's own affair. Nothing of the data is in the sentence.
    """
    script = data.lstrip()
    if len(script) > LARGEST:
        raise ValueError(f"{place} has {len(script):,} bytes: {LARGEST:,} are the most")
    if not script.startswith(b"#!") or not script.partition(b"\n")[0][2:].strip():
        raise ValueError(f"{place} is no script: expected `#!` and an interpreter first")
    if b"\0" in script:
        raise ValueError(f"{place} has a NUL byte in it: expected a script, which is text")
    if script.partition(b"\n")[0].endswith(b"\r"):
        raise ValueError(f"{place} ends its lines in CRLF: expected LF, or no interpreter is found")
    return script


def hidden(text: str, script: bytes) -> str:
    """Return text with each word of the script blotted out that may be a secret.

    That is whatever stands at a token's, a password's or a key's name, and each longer word that
    is neither plain lower-case letters nor a plain path: a token never is.
    """
    for word in _secrets(script.decode(errors="replace")):
        text = text.replace(word, "***")
    return text


def _secrets(script: str) -> list[str]:
    words = {w for w in _WORDS.findall(script) if len(w) >= _SHORTEST and not _PLAIN.fullmatch(w)}
    named = {word for word in _NAMED.findall(script) if len(word) > 1 and not word.startswith("$")}
    return sorted(words | named, key=len, reverse=True)
