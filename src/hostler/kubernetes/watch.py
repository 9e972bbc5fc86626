"""Watch: the lines of a watch as typed events, however the bytes were cut on their way."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Generic

import msgspec
from msgspec import Struct

from .errors import Timeout, Unavailable, Unreadable
from .objects import M_co, Metadata
from .refusals import Action, Status, error_of_status

LONGEST_LINE = 16 << 20
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class EventKind(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Event(Struct, Generic[M_co], frozen=True):
    """One change; of a deleted object, its last state. A deletion may mean "selected no more"."""

    kind: EventKind
    item: M_co


class Bookmark(Struct, frozen=True):
    """Nothing changed up to this version; `complete` ends the initial events of a stream."""

    version: str
    complete: bool = False


class _Frame(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Bookmark(msgspec.Struct, frozen=True):
    metadata: Metadata


async def lines(pieces: AsyncIterator[bytes], idle: timedelta) -> AsyncGenerator[bytes]:
    """Return whole lines; Timeout where none is finished for so long, Unavailable for half a one.

    Bytes that trickle in and finish no line do not count as life.
    """
    left = _Lines()
    while True:
        try:
            async with asyncio.timeout(idle.total_seconds()):
                while not (whole := left.take()):
                    if (piece := await anext(pieces, None)) is None:
                        left.end()
                        return
                    left.feed(piece)
        except TimeoutError:
            raise Timeout(f"the watch was silent for {idle.total_seconds():g} s") from None
        for line in whole:
            yield line


class _Lines:
    """Joins pieces to lines, looking at each byte once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._whole: list[bytes] = []

    def feed(self, piece: bytes) -> None:
        first, *others = piece.split(b"\n")
        self._pieces.append(first)
        self._size += len(first)
        if self._size > LONGEST_LINE:
            raise Unreadable(f"the watch sends a line longer than {LONGEST_LINE} bytes")
        for other in others:
            self._whole.append(b"".join(self._pieces))
            self._pieces, self._size = [other], len(other)

    def take(self) -> list[bytes]:
        """Return the lines that are whole, without the empty ones."""
        whole, self._whole = [line for line in self._whole if line.strip()], []
        return whole

    def end(self) -> None:
        if b"".join(self._pieces).strip():
            raise Unavailable("the watch was cut in the middle of a line")


def read_event(line: bytes, model: type[M_co], action: Action) -> Event[M_co] | Bookmark:
    """Return what a line says; an ERROR event is raised as the error that it stands for."""
    try:
        frame = msgspec.json.decode(line, type=_Frame)
        if frame.type == "BOOKMARK":
            return _bookmark(msgspec.json.decode(frame.object, type=_Bookmark).metadata)
        if frame.type == "ERROR":
            status = msgspec.json.decode(frame.object, type=Status)
            raise error_of_status(action, status)
        item = msgspec.json.decode(frame.object, type=model)
        return Event(EventKind(frame.type), item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise Unreadable(f"{action}: an event that cannot be read: {error_text(error)}") from None


def error_text(error: Exception) -> str:
    """Return where decoding failed; the text of a broken character would quote the body."""
    return str(error) if isinstance(error, msgspec.DecodeError) else type(error).__name__


def _bookmark(metadata: Metadata) -> Bookmark:
    annotations: Mapping[str, str] = metadata.annotations or {}
    complete = annotations.get(INITIAL_EVENTS_END) == "true"
    return Bookmark(metadata.resource_version, complete)
