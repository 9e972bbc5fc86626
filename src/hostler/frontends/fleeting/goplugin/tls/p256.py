"""P-256: a key and signatures on it, in plain Python, for a certificate that lives for a process.

Importing a library for it takes 85 ms, twenty times what this does (docs/decisions/0008). The time
that it takes depends on the key: of use against a neighbour who can measure many signatures, and
this key makes one.
"""

import hashlib
import secrets
from dataclasses import dataclass, field

# SEC 2, version 2.0, section 2.4.2 (secp256r1)
_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_Jacobian = tuple[int, int, int]
_NOWHERE: _Jacobian = (1, 1, 0)


@dataclass(frozen=True, slots=True)
class Key:
    """A private key with its public point."""

    secret: int = field(repr=False)
    x: int
    y: int

    @property
    def private(self) -> bytes:
        """The secret in 32 bytes."""
        return self.secret.to_bytes(32, "big")

    @property
    def public(self) -> bytes:
        """The point, uncompressed, in 65 bytes."""
        return b"\x04" + self.x.to_bytes(32, "big") + self.y.to_bytes(32, "big")

    def sign(self, message: bytes) -> tuple[int, int]:
        """Return r and s of ECDSA over the SHA-256 of a message."""
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
        r = s = 0
        while not (r and s):
            nonce = 1 + secrets.randbelow(_N - 1)
            r = times(nonce)[0] % _N
            s = pow(nonce, -1, _N) * (digest + r * self.secret) % _N
        return r, s


def fresh() -> Key:
    """Return a new key."""
    secret = 1 + secrets.randbelow(_N - 1)
    return Key(secret, *times(secret))


def times(scalar: int) -> tuple[int, int]:
    """Return the point that is this many times the base point."""
    point = _NOWHERE
    for bit in f"{scalar:b}":
        point = _twice(point)
        if bit == "1":
            point = _plus_base(point)
    inverse = pow(point[2], -1, _P)
    square = inverse * inverse % _P
    return point[0] * square % _P, point[1] * square * inverse % _P


def _twice(point: _Jacobian) -> _Jacobian:
    x, y, z = point
    if not z:
        return point
    yy = y * y % _P
    s = 4 * x * yy % _P
    zz = z * z % _P
    m = 3 * (x - zz) * (x + zz) % _P
    new_x = (m * m - 2 * s) % _P
    return new_x, (m * (s - new_x) - 8 * yy * yy) % _P, 2 * y * z % _P


def _plus_base(point: _Jacobian) -> _Jacobian:
    x, y, z = point
    if not z:
        return (*_G, 1)
    zz = z * z % _P
    h = (_G[0] * zz - x) % _P
    r = (_G[1] * z * zz - y) % _P
    if not h:
        return _NOWHERE if r else _twice(point)
    hh = h * h % _P
    hhh, v = h * hh % _P, x * hh % _P
    new_x = (r * r - hhh - 2 * v) % _P
    return new_x, (r * (v - new_x) - y * hhh) % _P, z * h % _P
