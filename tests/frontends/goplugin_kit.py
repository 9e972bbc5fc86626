"""What the tests of the go-plugin layer share: a host's side, in this process, on real sockets."""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue
from grpclib.client import Channel, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.config import Configuration

from hostler.frontends.fleeting.contract import Handler, Method
from hostler.frontends.fleeting.goplugin.exchange import Calls
from hostler.frontends.fleeting.goplugin.launch import Launch
from hostler.frontends.fleeting.goplugin.life import Host, Life
from hostler.frontends.fleeting.goplugin.logging.hostlog import HostLog
from hostler.frontends.fleeting.goplugin.offer import Making, Offer
from hostler.frontends.fleeting.goplugin.place import listening
from hostler.frontends.fleeting.goplugin.server import Server
from hostler.frontends.fleeting.goplugin.serving import routes

NOW = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Served:
    """A plugin that is served, as its host sees it."""

    channel: Channel
    calls: Calls
    life: Life
    server: Server
    lines: Path

    async def call(self, path: str, text: str = "", within: float = 20) -> str:
        method = UnaryUnaryMethod(self.channel, path, StringValue, StringValue)
        reply = await method(StringValue(value=text), timeout=within)
        return reply.value

    async def stream(self, path: str, text: str = "") -> list[str]:
        method = UnaryStreamMethod(self.channel, path, StringValue, StringValue)
        return [reply.value for reply in await method(StringValue(value=text))]

    def logged(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.lines.read_text().splitlines()]


def unary(handle: Handler, path: str = "/t.Group/Call") -> Method:
    return Method(path=path, request=StringValue, reply=StringValue, streams=False, handle=handle)


def streaming(handle: Handler, path: str = "/t.Group/Call") -> Method:
    return Method(path=path, request=StringValue, reply=StringValue, streams=True, handle=handle)


def text_of(message: Message) -> str:
    assert isinstance(message, StringValue)
    return message.value


def texts(*values: str) -> Sequence[Message]:
    return [StringValue(value=value) for value in values]


async def echo(request: Message) -> Sequence[Message]:
    return texts(text_of(request))


@asynccontextmanager
async def served(
    tmp_path: Path,
    *methods: Method,
    refusal: str = "",
    tls: ssl.SSLContext | None = None,
    client: ssl.SSLContext | None = None,
) -> AsyncGenerator[Served]:
    """Serve methods on a socket of its own, and connect to it."""
    lines = tmp_path / "stderr"
    place = listening(Launch(versions=(1,)))
    config = Configuration(ssl_target_name_override="localhost") if client else None
    channel = Channel(path=str(place.path), ssl=client, config=config)
    try:
        with lines.open("wb") as out:
            log = HostLog(lambda: NOW, out.fileno())
            calls = Calls(log)
            life = Life(Host(os.getppid(), out.fileno()), calls, log)
            async with asyncio.TaskGroup() as tasks:
                making = Making(lambda _: Offer(methods=methods, refusal=refusal), log)
                server = Server(routes(making, calls, life), tasks, log)
                await server.start(place.socket, tls)
                try:
                    yield Served(channel, calls, life, server, lines)
                finally:
                    channel.close()
                    server.close()
                    await asyncio.sleep(0.01)  # for transports to be closed before their loop is
    finally:
        place.remove()


@dataclass(frozen=True, slots=True)
class Identity:
    """A host's one-off certificate, on P-521 as go-plugin makes it, with its key."""

    certificate: str
    key: str

    def client(self, trusted: bytes) -> ssl.SSLContext:
        """Return a host's TLS: it trusts this certificate (DER) only, and shows its own."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["h2"])
        context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(trusted))
        return context

    def show(self, context: ssl.SSLContext, folder: Path) -> ssl.SSLContext:
        file = folder / "identity.pem"
        file.write_text(self.certificate + self.key)
        context.load_cert_chain(file)
        return context


def identity() -> Identity:
    """Return what go-plugin v1.8.0, mtls.go, makes."""
    key = ec.generate_private_key(ec.SECP521R1())
    name = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost"),
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "HashiCorp"),
        ]
    )
    now = datetime.now(UTC)  # noqa: TID251 - certificates are judged by the wall's time
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(seconds=30))
        .not_valid_after(now + timedelta(hours=262980))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA512())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    return Identity(made.public_bytes(serialization.Encoding.PEM).decode(), private.decode())
