"""Transport: HTTP over pooled connections, each request once, with an honest word on failures."""

import asyncio
import errno
import ssl
from datetime import timedelta

import aiohttp
from aiohttp.helpers import get_env_proxy_for_url
from yarl import URL

from hostler.ports.http import Endpoint, HttpRequest, NoAnswer, NotSent, Response

_POOL = 128  # not fewer than a client sends at once: waiting for a connection costs its deadline

_HERE = frozenset({"127.0.0.1", "::1", "localhost"})


class AiohttpTransport:
    """Speaks to one endpoint. Honours HTTPS_PROXY and NO_PROXY."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._base, self._endpoint = URL(endpoint.base), endpoint
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once; see the port."""
        seconds = deadline.total_seconds()
        if seconds <= 0:
            raise NotSent("the deadline had passed before the request was sent")
        progress = _Progress()
        try:
            session = self._open()
            async with asyncio.timeout(seconds):
                return await self._exchange(session, request, progress)
        except TimeoutError:
            raise _judged(progress, f"no answer within {seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _judged(progress, _why(error)) from None

    async def close(self) -> None:
        """Give the connections back."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise NotSent("the connections were closed")
        if self._session is None:
            self._session = self._new_session()
        return self._session

    def _new_session(self) -> aiohttp.ClientSession:
        endpoint = self._endpoint
        verify: ssl.SSLContext | bool = endpoint.verified
        if endpoint.verified and endpoint.authorities is not None:
            verify = ssl.create_default_context(cafile=str(endpoint.authorities))
        proxy, login = _proxy_of(self._base)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_POOL, ssl=verify),
            timeout=aiohttp.ClientTimeout(total=None, connect=endpoint.connect.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy,
            proxy_auth=login,
            trace_configs=[_trace()],
        )
        # aiohttp repeats some requests on a connection that turns out dead: we never repeat.
        session._retry_connection = False  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        return session

    async def _exchange(
        self, session: aiohttp.ClientSession, request: HttpRequest, progress: "_Progress"
    ) -> Response:
        url = self._base.with_path(self._base.path.rstrip("/") + request.path)
        async with session.request(
            request.method,
            url.with_query(list(request.query)) if request.query else url,
            headers=list(request.headers),
            data=request.body or None,
            allow_redirects=False,
            trace_request_ctx=progress,
        ) as answer:
            body = await self._body(answer)
        headers = tuple((key, value) for key, value in answer.headers.items())
        return Response(status=answer.status, headers=headers, body=body)

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the body; ValueError where it is longer than any that is waited for."""
        body = bytearray()
        async for piece in answer.content.iter_any():
            body += piece
            if len(body) > self._endpoint.largest:
                raise ValueError(f"the answer is longer than {self._endpoint.largest} bytes")
        return bytes(body)


def _proxy_of(base: URL) -> tuple[URL | None, aiohttp.BasicAuth | None]:
    """Return the proxy of the environment for these URLs, and the login there.

    To let aiohttp trust the environment would let it log in by ~/.netrc too: at every device.
    """
    try:
        return get_env_proxy_for_url(base)
    except LookupError:
        return None, None


class _Progress:
    """How far a request came: with a connection in hand it may have been sent."""

    __slots__ = ("connected",)

    def __init__(self) -> None:
        self.connected = False


def _why(error: Exception) -> str:
    """Return why there is no answer; of an address of this machine, what should listen there."""
    if isinstance(error, aiohttp.ClientConnectorError) and error.errno == errno.ECONNREFUSED:
        cure = " (`hostler simulator` starts a simulator)" if error.host in _HERE else ""
        return f"nothing listens at {error.host}:{error.port}{cure}"
    if isinstance(error, aiohttp.ClientResponseError):  # its own text has the query, with secrets
        return f"{type(error).__name__}: {' '.join(error.message.split())}"
    return f"{type(error).__name__}: {error}"


def _judged(progress: _Progress, text: str) -> NotSent | NoAnswer:
    return NoAnswer(text) if progress.connected else NotSent(text)


def _trace() -> aiohttp.TraceConfig:
    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(_connected)
    trace.on_connection_reuseconn.append(_connected)
    return trace


async def _connected(_: object, context: object, __: object) -> None:
    progress = getattr(context, "trace_request_ctx", None)
    if isinstance(progress, _Progress):
        progress.connected = True
