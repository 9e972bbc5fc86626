"""Served: what the gRPC server is given: methods with their paths, classes and handlers."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message

Handler = Callable[[Message], Awaitable[Sequence[Message]]]
"""Answers one request with the messages of the reply: exactly one unless the method streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method to serve: its path (`/package.Service/Name`), classes, and what answers it.

    A handler raises `logical.Refused` for an error whose text the caller is to read.
    """

    path: str
    request: type[Message]
    reply: type[Message]
    streams: bool
    handle: Handler
