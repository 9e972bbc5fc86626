"""Client: one request to the API, its answer or a typed trouble, logged, with the secret hidden."""

import asyncio
import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from math import inf
from urllib.parse import urlsplit

import msgspec
import structlog

from hostler.ports.clock import Clock
from hostler.ports.http import HttpRequest, NoAnswer, NotSent, Response, Transport

from .errors import Failed, Problem, read_problem
from .log_throttle import Repeats
from .settings import DEADLINE, Account

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.scaleway")

_AT_ONCE = 128
"""How many requests may be on their way: the budget sets the pace, and this only bounds a pile-up.

A server takes a second or two to be made: at a hundred calls a second that many are under way.
"""
_OUT_OF_ORDER = 500
"""The status from which on an answer is none: a proxy's, or that of an API out of order."""
_DOWN = "down"
_BY = ContextVar("_BY", default=inf)
"""Until when, since the machine's start, what is being carried out may change anything."""
_PLAIN = re.compile(r"(/[A-Za-z0-9_.-]+)+")

Query = tuple[tuple[str, str], ...]


class Client:
    """Sends requests with the account's key; at most 128 at once, each once."""

    def __init__(
        self, transport: Transport, account: Account, clock: Clock, deadline: timedelta = DEADLINE
    ) -> None:
        self.account = account
        self.deadline = deadline
        self._transport, self._clock = transport, clock
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._repeats = Repeats(clock)
        self._host = urlsplit(account.endpoint).hostname or ""

    async def get(self, path: str, query: Query = ()) -> Response:
        """Read something; raise Failed, NotSent or NoAnswer."""
        return await self._send("GET", path, query, b"", "")

    async def post(self, path: str, body: object) -> Response:
        """Make something; raise Failed, NotSent or NoAnswer."""
        return await self._send("POST", path, (), msgspec.json.encode(body), "application/json")

    async def patch(self, path: str, body: object) -> Response:
        """Change something; raise Failed, NotSent or NoAnswer."""
        return await self._send("PATCH", path, (), msgspec.json.encode(body), "application/json")

    async def patch_text(self, path: str, content: bytes) -> Response:
        """Write a text as it is; raise Failed, NotSent or NoAnswer."""
        return await self._send("PATCH", path, (), content, "text/plain")

    async def delete(self, path: str) -> Response:
        """Delete something; raise Failed, NotSent or NoAnswer."""
        return await self._send("DELETE", path, (), b"", "")

    def hurry(self, by: float) -> None:
        """Raise NotSent after that time since the machine's start: the right to act may be over."""
        if self._clock.boot() > by:
            raise NotSent("what had to be read first took too long: nothing was changed")

    @contextmanager
    def acting(self) -> Generator[None]:
        """Let nothing be changed later than a deadline from now on: the right to act is of now.

        What has to be read first may take long, and a process may stand still meanwhile.
        """
        token = _BY.set(self._clock.boot() + self.deadline.total_seconds())
        try:
            yield
        finally:
            _BY.reset(token)

    async def close(self) -> None:
        """Give back connections."""
        await self._transport.close()

    async def _send(
        self, method: str, path: str, query: Query, body: bytes, content_type: str
    ) -> Response:
        headers = [("X-Auth-Token", self.account.secret_key.reveal()), ("Accept", "*/*")]
        if content_type:
            headers.append(("Content-Type", content_type))
        request = HttpRequest(
            method=method, path=path, query=query, headers=tuple(headers), body=body
        )
        if not _PLAIN.fullmatch(path) or ".." in path:
            raise NotSent(f"{self._hide(path)!r} is no path of the API: an id in it is damaged")
        async with self._room:
            if method != "GET":
                self.hurry(_BY.get())
            response = await self._answer(request)
        if 200 <= response.status < 300:
            return response
        raise self._failed(request, response)

    async def _answer(self, request: HttpRequest) -> Response:
        begun = self._clock.boot()
        try:
            response = await self._transport.send(request, self.deadline)
        except (NotSent, NoAnswer) as error:
            text = self._hide(str(error)) or type(error).__name__
            self._tell(_DOWN, "no answer", request, error=text)
            raise type(error)(text) from None
        if response.status < _OUT_OF_ORDER and self._repeats.end(_DOWN):
            log.info("answers again", host=self._host)
        log.debug(
            "called",
            method=request.method,
            path=request.path,
            status=response.status,
            seconds=round(self._clock.boot() - begun, 3),
            request=self._hide(response.header("X-Request-Id") or ""),
        )
        return response

    def _failed(self, request: HttpRequest, response: Response) -> Failed:
        """Return the trouble that an answer means; an echoed secret is blotted out first."""
        problem = read_problem(self._clean(response))
        self._tell(
            _kind(problem, request.method),
            "refused",
            request,
            status=problem.status,
            type=problem.type,
            message=problem.message,
            request=problem.request,
        )
        return Failed(problem)

    def _tell(self, kind: str, event: str, request: HttpRequest, /, **details: object) -> None:
        """Log a trouble; one of a kind that was told of within the minute is for debugging only.

        `times` is how many it stands for; no `kind` is no trouble.
        """
        times = self._repeats.count(kind) if kind else 0
        write = log.warning if times else log.debug
        counted = {"host": self._host, "times": times} if times > 1 else {}
        write(event, method=request.method, path=request.path, **details, **counted)

    def _clean(self, response: Response) -> Response:
        secret = self.account.secret_key.reveal().encode()
        if not secret:
            return response
        headers = tuple((key, self._hide(value)) for key, value in response.headers)
        body = response.body.replace(secret, b"***")
        return Response(status=response.status, headers=headers, body=body)

    def _hide(self, text: str) -> str:
        return self.account.secret_key.hidden_in(text)


def _kind(problem: Problem, method: str) -> str:
    """Return what makes a refusal the same as another; nothing for one that is no trouble."""
    if problem.status == 404 and method == "GET":
        return ""
    if problem.status >= _OUT_OF_ORDER:
        return _DOWN
    return f"{problem.status} {problem.type} {problem.message}"
