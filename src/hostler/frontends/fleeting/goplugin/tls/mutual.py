"""TLS: the server's side of go-plugin's AutoMTLS; each side trusts the other's one certificate."""

import ssl
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from .certificate import certificate, pem
from .p256 import fresh


class Tls(Struct, frozen=True):
    """What to serve with, and the certificate (DER) that the handshake tells the host of."""

    context: ssl.SSLContext
    certificate: bytes


def mutual(client_certificate: str, folder: Path, now: datetime) -> Tls:
    """Return TLS that only who holds the host's certificate (PEM) can speak to.

    The key lies for a moment in `folder`, which must be private: the standard library reads keys
    from files only. ValueError where the host's certificate is none.
    """
    key = fresh()
    ours = certificate(key, now)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    context.verify_mode = ssl.CERT_REQUIRED
    _trust(context, client_certificate)
    _load(context, folder / "key", pem(key, ours))
    return Tls(context, ours)


def _trust(context: ssl.SSLContext, client_certificate: str) -> None:
    try:
        context.load_verify_locations(cadata=client_certificate)
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"PLUGIN_CLIENT_CERT holds no certificate: {error}") from error


def _load(context: ssl.SSLContext, path: Path, text: str) -> None:
    path.touch(0o600, exist_ok=False)
    try:
        path.write_text(text, encoding="ascii")
        context.load_cert_chain(path)
    finally:
        path.unlink(missing_ok=True)
