"""Serve: gRPC for Cluster Autoscaler on one address, with health and reflection beside it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from grpclib.health.service import OVERALL, Health
from grpclib.reflection.service import ServerReflection
from grpclib.server import Server

from hostler.config.values import ExternalGrpc, Listen, Tls
from hostler.domain.errors import ConfigError

from .schema import POOL
from .service import CloudProvider

_PLACE = "frontend.externalgrpc"
_PARTING = 0.5
"""Seconds for calls that are under way when the process ends."""


@asynccontextmanager
async def serving(
    asked: ExternalGrpc, folder: Path, provider: CloudProvider
) -> AsyncGenerator[Listen]:
    """Serve until the block ends; gives where (a port of 0 is any). ConfigError: it cannot."""
    context = _context(asked.tls, folder) if asked.tls is not None else None
    health = Health({OVERALL: [provider.status], provider: [provider.status]})
    server = Server(ServerReflection.extend([provider, health], pool=POOL))
    listening = _listening(asked.listen)
    try:
        await server.start(sock=listening, ssl=context)
        address: tuple[str, int] = listening.getsockname()
        yield Listen(host=asked.listen.host, port=address[1])
    finally:
        server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PARTING):
                await server.wait_closed()


def _listening(listen: Listen) -> socket.socket:
    """Return a socket that listens; ConfigError says why there is none.

    It names its protocol: asyncio sends small answers at once (TCP_NODELAY) on such alone, and on
    any other one Cluster Autoscaler would wait 40 ms for each.
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((listen.host, listen.port))
        listening.listen()
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        text = f"cannot listen on {listen.host}:{listen.port}: {why}"
        raise ConfigError(f"{_PLACE}.listen: {text}") from error
    return listening


def _context(tls: Tls, folder: Path) -> ssl.SSLContext:
    """Return TLS that only callers with a certificate of the named authority can speak to."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(folder / tls.certificate, folder / tls.key)
    except (OSError, ssl.SSLError) as error:
        text = f"{folder / tls.certificate} and {folder / tls.key}: {error}"
        raise ConfigError(f"{_PLACE}.tls: no certificate with its key in {text}") from error
    try:
        context.load_verify_locations(folder / tls.client_ca)
    except (OSError, ssl.SSLError) as error:
        text = f"no certificates in {folder / tls.client_ca}: {error}"
        raise ConfigError(f"{_PLACE}.tls.client_ca: {text}") from error
    return context
