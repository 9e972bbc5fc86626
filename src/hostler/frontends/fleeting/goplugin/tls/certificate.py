"""Certificate: a self-signed certificate for `localhost`, as go-plugin's own side makes one.

The same fields as hashicorp/go-plugin v1.8.0, mtls.go, on the curve P-256, in DER (X.690, RFC 5280,
RFC 5915).
"""

import base64
import secrets
from datetime import datetime, timedelta

from .p256 import Key

_BEFORE = timedelta(minutes=5)
_AFTER = timedelta(days=30 * 365)
_EC_PUBLIC_KEY = "1.2.840.10045.2.1"
_PRIME256V1 = "1.2.840.10045.3.1.7"
_ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2"
_COMMON_NAME = "2.5.4.3"
_KEY_USAGE, _ALT_NAME, _CONSTRAINTS, _EXTENDED = "2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.37"
_SERVER, _CLIENT = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"
_HOST = b"localhost"


def certificate(key: Key, now: datetime) -> bytes:
    """Return the certificate of this key, valid from a little before `now`, in DER."""
    algorithm = _sequence(_oid(_ECDSA_WITH_SHA256))
    name = _sequence(_set(_sequence(_oid(_COMMON_NAME), _der(0x0C, _HOST))))
    body = _sequence(
        _der(0xA0, _integer(2)),
        _integer(1 + secrets.randbits(127)),
        algorithm,
        name,
        _sequence(_time(now - _BEFORE), _time(now + _AFTER)),
        name,
        _sequence(_sequence(_oid(_EC_PUBLIC_KEY), _oid(_PRIME256V1)), _bits(key.public)),
        _der(0xA3, _sequence(*_extensions())),
    )
    r, s = key.sign(body)
    return _sequence(body, algorithm, _bits(_sequence(_integer(r), _integer(s))))


def pem(key: Key, certificate: bytes) -> str:
    """Return key and certificate as the text of one file, which is secret."""
    private = _sequence(
        _integer(1),
        _der(0x04, key.private),
        _der(0xA0, _oid(_PRIME256V1)),
        _der(0xA1, _bits(key.public)),
    )
    return _armoured("EC PRIVATE KEY", private) + _armoured("CERTIFICATE", certificate)


def _extensions() -> tuple[bytes, ...]:
    usage = _der(0x03, b"\x02\xac")  # digitalSignature, keyEncipherment, keyAgreement, keyCertSign
    return (
        _extension(_KEY_USAGE, usage, critical=True),
        _extension(_EXTENDED, _sequence(_oid(_CLIENT), _oid(_SERVER))),
        _extension(_CONSTRAINTS, _sequence(_der(0x01, b"\xff")), critical=True),
        _extension(_ALT_NAME, _sequence(_der(0x82, _HOST))),
    )


def _extension(oid: str, value: bytes, *, critical: bool = False) -> bytes:
    flag = _der(0x01, b"\xff") if critical else b""
    return _sequence(_oid(oid), flag, _der(0x04, value))


def _armoured(title: str, data: bytes) -> str:
    return f"-----BEGIN {title}-----\n{base64.encodebytes(data).decode()}-----END {title}-----\n"


# ---- DER


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, b"".join(parts))


def _set(*parts: bytes) -> bytes:
    return _der(0x31, b"".join(parts))


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _der(0x03, b"\x00" + content)


def _time(at: datetime) -> bytes:
    """Return a time; RFC 5280 wants two digits of the year until 2049, and four after it."""
    short = at.year < 2050
    return _der(0x17 if short else 0x18, f"{at:{'%y' if short else '%Y'}%m%d%H%M%SZ}".encode())


def _oid(text: str) -> bytes:
    first, second, *rest = (int(part) for part in text.split("."))
    return _der(0x06, bytes((first * 40 + second,)) + b"".join(_base128(part) for part in rest))


def _base128(number: int) -> bytes:
    digits = bytearray((number & 0x7F,))
    while number := number >> 7:
        digits.insert(0, 0x80 | number & 0x7F)
    return bytes(digits)
