"""Calls: a request in the world, the faults that struck it, its answer, and what a client sees."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from hostler.ports.http import HttpRequest, Response

from .errors import invalid
from .record import Record


class Fate(StrEnum):
    """What the client sees of an answer."""

    ANSWERED = "answered"
    RESET = "reset"  # the connection breaks: no word about the effect
    HUNG = "hung"  # nothing comes until the client gives up
    TRUNCATED = "truncated"  # the body breaks off half-way


class Reply(Struct, frozen=True):
    """One answer of the world. `response` is None only where `fate` is reset or hung.

    `delay` is the latency of the real API in seconds of world time; whoever carries the reply
    waits for it, the world never does.
    """

    response: Response | None
    delay: float
    fate: Fate = Fate.ANSWERED


Body = dict[str, Any]


@dataclass(slots=True, eq=False)
class Answer:
    """What a handler answers. `subject` is the resource that it was about, for scripted faults."""

    status: int
    body: object = None
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None  # a body that is not JSON
    content_type: str = "application/json"
    subject: Record | None = None


def ignore(_fault: str) -> None:
    """Take no note of a fault."""


@dataclass(slots=True, eq=False)
class Call:
    """One request, read. `place` is its zone or region, `names` the other arguments of its path.

    `key` names its route, for an action of a server with the action; `base` without it.
    """

    base: str
    key: str
    request: HttpRequest
    place: str = ""
    names: tuple[str, ...] = ()
    organization: str = ""
    project: str = ""
    struck: dict[str, float] = field(default_factory=dict[str, float])  # fault → its spell
    says: dict[str, str] = field(default_factory=dict[str, str])  # fault → what it names
    count: Callable[[str], None] = ignore  # counts a fault in the world
    noted: Callable[[str], None] = ignore  # writes a fault beside the request in the journal
    _body: Body | None = None

    @property
    def body(self) -> Body:
        """The JSON object that was sent; an empty one for an empty body."""
        if self._body is None:
            self._body = decoded(self.request.body)
        return self._body

    def text(self, name: str) -> str:
        """Return the first query value of this name, or nothing."""
        for key, value in self.request.query:
            if key == name:
                return value
        return ""

    def choice(self, name: str, *known: str) -> str:
        """Return a value of an enumeration; the Go client says unknown_… for what is not set."""
        value = self.text(name)
        if value.startswith("unknown_"):
            return ""
        if value and known and value not in known:
            raise invalid((name, "constraint", "not a valid value"))
        return value

    def id(self, name: str) -> str:
        """Return an id of the query, or nothing; refuse what is no UUID."""
        return checked_id(name, self.text(name))

    def ids(self, name: str) -> list[str]:
        """Return ids of the query, repeated or joined by commas."""
        found = [part for text in self.texts(name) for part in text.split(",") if part]
        return [checked_id(name, one) for one in found]

    def flag(self, name: str) -> str:
        """Return "true" or "false" of the query, or nothing; refuse anything else."""
        value = self.text(name).lower()
        if value not in ("", "true", "false"):
            raise invalid((name, "format", "must be a boolean"))
        return value

    def texts(self, name: str) -> list[str]:
        """Return all query values of this name."""
        return [value for key, value in self.request.query if key == name and value]

    def takes(self, fault: str) -> bool:
        """Tell if a fault struck this call, and count that it took effect."""
        if fault not in self.struck:
            return False
        self.count(fault)
        self.noted(fault)
        return True


UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def checked_id(name: str, value: str) -> str:
    """Return an id or nothing; refuse what is no UUID."""
    if value and not UUID.fullmatch(value):
        raise invalid((name, "format", "value must be a valid UUID"))
    return value


def decoded(body: bytes) -> Body:
    """Decode a JSON object; refuse what is none."""
    if not body.strip():
        return {}
    try:
        found = msgspec.json.decode(body, type=dict[str, Any])
        if b"\\u" in body:
            msgspec.json.encode(found)  # half of a surrogate pair is no text that could be shown
    except (ValueError, RecursionError):
        raise invalid(("body", "format", "not a JSON object")) from None
    return found
