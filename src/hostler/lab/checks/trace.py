"""Trace: everything that happened in one seed, in order: digested whole, the last of it kept."""

import hashlib
from collections import deque
from collections.abc import Callable

from msgspec import Struct

_MOST_ENTRIES = 20_000
_AROUND = 30


class Entry(Struct, frozen=True):
    """One thing that happened: when, whom it concerns (an empty text: everybody), and what."""

    at: float
    about: str
    text: str

    def __str__(self) -> str:
        """Return the entry as a line of a story."""
        hours, rest = divmod(self.at, 3600)
        return f"{hours:02.0f}:{rest // 60:02.0f}:{rest % 60:06.3f}  {self.text}"


class Trace:
    """Grows until it is closed, so that a story ends with what it is about."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._entries = deque[Entry](maxlen=_MOST_ENTRIES)
        self._hash = hashlib.sha256()
        self._open = True

    @property
    def now(self) -> float:
        """True time, in seconds since the run began."""
        return self._time()

    def note(self, text: str, about: str = "") -> None:
        """Note that something happened now."""
        if self._open:
            entry = Entry(self.now, about, text)
            self._entries.append(entry)
            self._hash.update(f"{entry.at!r} {text}\n".encode())

    def digest(self, text: str) -> None:
        """Take something into the digest that no story needs."""
        if self._open:
            self._hash.update(f"{self.now!r} {text}\n".encode())

    def close(self) -> None:
        """Note nothing more."""
        self._open = False

    @property
    def sum(self) -> str:
        """The digest of everything so far: the same seed, the same digest."""
        return self._hash.hexdigest()

    def story(self, about: str, most: int) -> tuple[str, ...]:
        """Return the last entries that concern this machine or everybody, and the very last."""
        entries = list(self._entries)
        first = len(entries) - _AROUND
        chosen = [
            str(entry)
            for place, entry in enumerate(entries)
            if entry.about in {"", about} or place >= first
        ]
        return tuple(chosen[-most:])
