"""Session: calls over pooled connections, as whoever we are now; each is sent once.

Only a call that was refused with 401, and so had no effect, is sent again, once, as whoever the
credentials say then.
"""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from hostler.domain.errors import ConfigError
from hostler.ports.secret import Secret

from .config import ClusterConfig
from .credentials import Certificate, Identity
from .errors import ApiError, Timeout, Unauthorized, Unavailable, Unreadable

LARGEST = 128 << 20
"""How many bytes an answer may have: a page of 500 objects of the largest size has fewer."""

CONNECT = timedelta(seconds=10)
_TOGETHER = 128
"""How many calls are under way at a time; streams, of which many last, are beside that."""
_RETIRED = 2  # sessions of earlier certificates that may still be in use


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the API; `path` is absolute and quoted. Its body never shows itself."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = field(default=b"", repr=False)
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One whole answer."""

    status: int
    body: bytes = field(default=b"", repr=False)
    retry_after: str = ""


class Transport(Protocol):
    """What a client sends its calls through: a Session, or a server in the same process."""

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        """Send a call and return its whole answer; Timeout, Unavailable or Unauthorized else."""
        ...

    def streaming(
        self, call: Call, opening: timedelta
    ) -> AbstractAsyncContextManager[Answer | AsyncIterator[bytes]]:
        """Send a call; give the pieces of its answer as they come, or the whole of a refusal."""
        ...

    async def close(self) -> None:
        """Give all connections back."""
        ...


class Session:
    """Speaks to one API server. Honours HTTPS_PROXY and NO_PROXY where no proxy is configured."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._base = config.server.rstrip("/")
        self._proxy = config.proxy or _proxy_of(URL(config.server))
        self._session: aiohttp.ClientSession | None = None
        self._certificate: Certificate | None = None
        self._retired: list[aiohttp.ClientSession] = []
        self._room = asyncio.Semaphore(_TOGETHER)
        self._closed = False

    async def send(self, call: Call, deadline: timedelta) -> Answer:
        """Send a call and return its whole answer; Timeout, Unavailable or Unauthorized else."""
        seconds = deadline.total_seconds()
        try:
            async with asyncio.timeout(seconds), self._room:
                response = await self._opened(call)
                async with response:
                    return await _whole(response)
        except aiohttp.ConnectionTimeoutError as error:
            raise self._lost(call, error) from None
        except TimeoutError:
            text = f"{call.method} {call.path}: no answer within {seconds:g} s"
            raise Timeout(text, unknown=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(call, error) from None

    @asynccontextmanager
    async def streaming(
        self, call: Call, opening: timedelta
    ) -> AsyncGenerator[Answer | AsyncIterator[bytes]]:
        """Send a call; give the pieces of its answer as they come, or the whole of a refusal."""
        seconds = opening.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                response = await self._opened(call)
                refusal = await _refusal(response)
        except aiohttp.ConnectionTimeoutError as error:
            raise self._lost(call, error) from None
        except TimeoutError:
            text = f"{call.method} {call.path}: no answer within {seconds:g} s"
            raise Timeout(text) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(call, error) from None
        if refusal is not None:
            yield refusal
            return
        try:
            async with aclosing(self._pieces(call, response)) as pieces:
                yield pieces
        finally:
            _cut(response)

    async def close(self) -> None:
        """Give all connections back; whoever still waits for an answer loses it."""
        self._closed = True
        sessions = [*self._retired, *([self._session] if self._session else [])]
        self._session, self._retired = None, []
        for session in sessions:
            await session.close()

    async def _opened(self, call: Call) -> aiohttp.ClientResponse:
        identity = await self._config.credentials.identity()
        response = await self._sent(call, identity)
        if response.status == 401 and self._config.credentials.refuse(identity):
            response.release()
            return await self._sent(call, await self._config.credentials.identity())
        return response

    async def _sent(self, call: Call, identity: Identity) -> aiohttp.ClientResponse:
        session = await self._session_as(identity)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if call.body:
            headers["Content-Type"] = call.content_type
        if identity.token is not None:
            headers["Authorization"] = f"Bearer {self._sendable(identity.token)}"
        return await session.request(
            call.method,
            URL(self._base + call.path, encoded=True).with_query(list(call.query)),
            headers=headers,
            data=call.body or None,
            allow_redirects=False,
            proxy=self._proxy or None,
            server_hostname=self._config.server_name or None,
        )

    def _sendable(self, token: Secret) -> str:
        """Return a token's text; Unauthorized where a header cannot have it, as none can a line."""
        text = token.reveal()
        if not text.isprintable():
            raise Unauthorized(f"{self._config.origin}: the token has letters that no token has")
        return text

    async def _session_as(self, identity: Identity) -> aiohttp.ClientSession:
        """Return the connections on which this identity is shown; a new certificate needs new."""
        if self._closed:
            raise Unavailable("the connections to the API server were closed")
        if self._session is not None and self._certificate != identity.certificate:
            self._retired.append(self._session)
            self._session = None
            if len(self._retired) > _RETIRED:
                await self._retired.pop(0).close()
        if self._session is None:
            self._session = _new_session(_tls(self._config, identity.certificate))
            self._certificate = identity.certificate
        return self._session

    async def _pieces(self, call: Call, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        try:
            async for piece in response.content.iter_any():
                yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise self._lost(call, error) from None

    def _lost(self, call: Call, error: Exception) -> ApiError:
        """Return what it means that there is no answer; never with a header or a body."""
        unsent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        why = _why(error)
        text = f"{call.method} {call.path} at {self._base}: {why}"
        return Unavailable(text, unknown=not unsent)


def _cut(response: aiohttp.ClientResponse) -> None:
    """End a stream at once: to close TLS politely is to wait for a server that goes on sending."""
    transport = response.connection.transport if response.connection else None
    response.close()
    if isinstance(transport, asyncio.WriteTransport):
        transport.abort()


async def _refusal(response: aiohttp.ClientResponse) -> Answer | None:
    """Return the whole of an answer that is no stream; its connection is given back."""
    if response.status == 200:
        return None
    async with response:
        return await _whole(response)


async def _whole(response: aiohttp.ClientResponse) -> Answer:
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > LARGEST:
            raise Unreadable(f"the answer is longer than {LARGEST} bytes", unknown=True)
    retry_after = response.headers.get("Retry-After", "")
    return Answer(status=response.status, body=bytes(body), retry_after=retry_after)


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {error.os_error.strerror or type(error.os_error).__name__}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"no connection within {CONNECT.total_seconds():g} s"
    if isinstance(error, aiohttp.ClientResponseError):  # its own text has the request
        return f"{type(error).__name__}: {' '.join(error.message.split())}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _new_session(tls: ssl.SSLContext | bool) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None, connect=CONNECT.total_seconds()),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    # aiohttp repeats some requests on a connection that turns out dead: we never repeat.
    session._retry_connection = False  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return session


def _tls(config: ClusterConfig, certificate: Certificate | None) -> ssl.SSLContext | bool:
    """Return how TLS is spoken; ConfigError where an authority is none.

    Unauthorized where our own certificate is none, for a program may give a better one later.
    """
    if not config.server.startswith("https://"):
        return True
    try:
        context = ssl.create_default_context(cadata=config.authorities or None)
        if not config.verified:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    except (ssl.SSLError, ValueError) as error:
        why = f"certificates that cannot be used: {_why_no_pem(error)}"
        raise ConfigError(f"{config.origin}: {why}") from None
    if certificate is not None:
        try:
            _show(context, certificate)
        except (ssl.SSLError, ValueError) as error:
            why = f"a client's certificate that cannot be used: {_why_no_pem(error)}"
            raise Unauthorized(f"{config.origin}: {why}") from None
    return context


def _why_no_pem(error: Exception) -> str:
    return getattr(error, "reason", None) or "it is not PEM"


def _show(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Load a client's certificate; `ssl` takes it from a file alone, which is soon removed."""
    with tempfile.TemporaryDirectory(prefix="hostler-") as folder:
        file = Path(folder) / "client.pem"
        file.touch(0o600)
        file.write_bytes(certificate.key + b"\n" + certificate.chain)
        context.load_cert_chain(file, password=_no_password)


def _no_password() -> str:
    """Refuse to ask a person for the password of a key, as OpenSSL would."""
    raise ValueError("the key has a password")


def _proxy_of(url: URL) -> str:
    host = url.host or ""
    proxies = getproxies()
    return "" if proxy_bypass(host) else proxies.get(url.scheme, "")
