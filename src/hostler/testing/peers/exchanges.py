"""Exchanges: a transport that plays a script of requests and answers; a stray request fails."""

import json
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec import Struct

from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response


class Exchange(Struct, frozen=True, kw_only=True):
    """One request that is expected, and what it comes to.

    `query` must be contained in the request's; `sent`, where given, must equal its JSON body.
    """

    method: str
    path: str
    answer: Response | NotSent | NoAnswer
    query: tuple[tuple[str, str], ...] = ()
    sent: object = None

    def fits(self, request: HttpRequest) -> bool:
        """Tell whether a request is the expected one."""
        return (
            (self.method, self.path) == (request.method, request.path)
            and set(self.query) <= set(request.query)
            and (self.sent is None or json.loads(request.body) == self.sent)
        )


@dataclass(slots=True)
class Script:
    """Answers each expected request once, in any order; keeps what was asked."""

    exchanges: list[Exchange]
    asked: list[HttpRequest] = field(default_factory=list[HttpRequest])
    orphan: list[HttpRequest] = field(default_factory=list[HttpRequest])
    closed: bool = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Answer a request as the script says; raise AssertionError for a stray one."""
        assert deadline > timedelta(0)
        self.asked.append(request)
        exchange = next((one for one in self.exchanges if one.fits(request)), None)
        if exchange is None:
            self.orphan.append(request)
            raise AssertionError(f"stray request: {request.method} {request.path} {request.query}")
        self.exchanges.remove(exchange)
        if isinstance(exchange.answer, Response):
            return exchange.answer
        raise exchange.answer

    async def close(self) -> None:
        """Note that the connections were given back."""
        self.closed = True

    def finish(self) -> None:
        """Fail unless everything that was expected was asked, and nothing else."""
        assert not self.orphan, f"stray requests: {self.orphan}"
        left = [f"{one.method} {one.path}" for one in self.exchanges]
        assert not left, f"never asked: {left}"


def answer(
    body: object = None, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    """Return an answer: JSON of an object, bytes as they are, or nothing."""
    if body is None:
        return Response(status=status, headers=headers)
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(
        status=status, headers=(("Content-Type", "application/json"), *headers), body=raw
    )
