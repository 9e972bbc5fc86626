"""How adapters speak HTTP: one request, one answer, and an honest word about what is not known.

A request that failed is either *not sent* (it certainly had no effect) or *without an answer*
(it may have had its effect, may have it later, or never). Nothing in between exists, and an
adapter that cannot tell says "without an answer".
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from msgspec import Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One HTTP request, as it goes over the wire; `path` is absolute and unquoted.

    The query and the headers, which hold secrets, are left out of its repr.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = b""


class Response(Struct, frozen=True, kw_only=True):
    """One HTTP answer, whole: a body that broke off is a `NoAnswer`, never a short `Response`."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first header of this name, whatever its case, or None."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class NotSent(Exception):
    """The request certainly had no effect: the connection could not be made."""


class NoAnswer(Exception):
    """The request had its effect, may have it later, or never: only an observation can tell."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where requests go: the beginning of every URL, and how its server is believed and bounded.

    `authorities` is a file of certificates in PEM that are trusted instead of the system's;
    `verified` is whether its certificate is checked at all. `connect` bounds the connection alone,
    within a request's deadline; `largest` is how many bytes the body of an answer may have.
    """

    base: str
    authorities: Path | None = None
    verified: bool = True
    connect: timedelta = timedelta(seconds=5)
    largest: int = 32 << 20


class Transport(Protocol):
    """Sends requests to one endpoint over pooled connections."""

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once and return the answer within `deadline`; raise `NotSent` or `NoAnswer`.

        An answer that is too large is none. Never repeats a request by itself, whatever its method.
        """
        ...

    async def close(self) -> None:
        """Give the connections back; sending afterwards raises `NotSent`."""
        ...


Connect = Callable[[Endpoint], Transport]
"""Returns what sends to an endpoint; nothing is sent yet."""
