"""Packets: what IPMI puts around its messages on the wire, and what RMCP+ does to hide them.

All numbers of more than one byte are little-endian.
"""

import hmac
import secrets
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from msgspec import Struct

IPMI, OPEN, OPENED, RAKP_1, RAKP_2, RAKP_3, RAKP_4 = 0x00, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15
"""Payloads: a message; a session's opening and its answer; the four of its key exchange."""

_RMCP_IPMI, _RMCP_ASF = bytes.fromhex("0600ff07"), bytes.fromhex("0600ff06")
_PING, _PONG = bytes.fromhex("000011be80"), bytes.fromhex("000011be40")
_OLD, _PLUS = 0x00, 0x06
_ENCRYPTED, _SIGNED, _KIND = 0x80, 0x40, 0x3F
_NEXT_HEADER = 0x07


class Broken(Exception):
    """A packet that is none, or that nobody who knows the key has made."""


class Suite(Struct, frozen=True):
    """A cipher suite: its number, its algorithms for both hashes, and how long a signature is."""

    number: int
    authentication: int
    integrity: int
    digest: str
    signature: int

    def hashed(self, key: bytes, text: bytes) -> bytes:
        """Return the keyed hash of a text, whole."""
        return hmac.digest(key, text, self.digest)


SUITES = (Suite(3, 1, 1, "sha1", 12), Suite(17, 3, 4, "sha256", 16))
"""The suites that controllers offer in practice, both with AES."""


class Keys(Struct, frozen=True, kw_only=True):
    """What a session signs and encrypts by."""

    suite: Suite
    signing: bytes
    hiding: bytes


class Packet(Struct, frozen=True, kw_only=True):
    """A payload of a session, 0 for none. `plus`: it came in the newer of both forms."""

    kind: int
    payload: bytes
    session: int = 0
    sequence: int = 0
    plus: bool = True


def pong(data: bytes) -> bytes | None:
    """Return the answer to a presence ping of ASF; None where a packet is none."""
    if not data.startswith(_RMCP_ASF + _PING) or len(data) < 12:
        return None
    supported = bytes.fromhex("000011be000000008100") + bytes(6)
    return _RMCP_ASF + _PONG + data[9:10] + b"\x00" + bytes([len(supported)]) + supported


def session_of(data: bytes) -> int:
    """Return which session a packet is of, by the id that we gave it; 0: of none."""
    if not data.startswith(_RMCP_IPMI) or len(data) < 14:
        raise Broken("it is no packet of IPMI")
    return int.from_bytes(data[6:10] if data[4] == _PLUS else data[9:13], "little")


def opened(data: bytes, keys: Keys | None) -> Packet:
    """Return what a packet holds; raises Broken. With keys it must be signed and encrypted."""
    session, body = session_of(data), data[4:]
    if body[0] == _OLD and keys is None:
        return Packet(kind=IPMI, payload=body[10 : 10 + body[9]], session=session, plus=False)
    if body[0] != _PLUS or len(body) < 12:
        raise Broken("its authentication is another one")
    flags = body[1]
    sequence, size = struct.unpack_from("<IH", body, 6)
    payload = body[12 : 12 + size]
    if len(payload) != size:
        raise Broken("it is cut short")
    if keys is not None:
        if not flags & _SIGNED or not flags & _ENCRYPTED:
            raise Broken("it is not signed and encrypted")
        length = keys.suite.signature
        signed = keys.suite.hashed(keys.signing, body[:-length])[:length]
        if not hmac.compare_digest(signed, body[-length:]):
            raise Broken("its signature is another one")
        payload = _decrypted(payload, keys.hiding)
    return Packet(kind=flags & _KIND, payload=payload, session=session, sequence=sequence)


def packed(packet: Packet, keys: Keys | None) -> bytes:
    """Return a packet as it goes onto the wire."""
    payload = packet.payload
    if not packet.plus:
        head = bytes([_OLD]) + struct.pack("<IIB", packet.sequence, packet.session, len(payload))
        return _RMCP_IPMI + head + payload
    flags = packet.kind
    if keys is not None:
        flags |= _ENCRYPTED | _SIGNED
        payload = _encrypted(payload, keys.hiding)
    head = struct.pack("<BBIIH", _PLUS, flags, packet.session, packet.sequence, len(payload))
    body = head + payload
    if keys is not None:
        pad = -(len(body) + 2) % 4
        body += b"\xff" * pad + bytes([pad, _NEXT_HEADER])
        body += keys.suite.hashed(keys.signing, body)[: keys.suite.signature]
    return _RMCP_IPMI + body


def _encrypted(payload: bytes, key: bytes) -> bytes:
    pad = -(len(payload) + 1) % 16
    start = secrets.token_bytes(16)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
    whole = payload + bytes(range(1, pad + 1)) + bytes([pad])
    return start + encryptor.update(whole) + encryptor.finalize()


def _decrypted(payload: bytes, key: bytes) -> bytes:
    if len(payload) < 32 or len(payload) % 16:
        raise Broken("it is not encrypted by AES")
    decryptor = Cipher(algorithms.AES(key), modes.CBC(payload[:16])).decryptor()
    whole = decryptor.update(payload[16:]) + decryptor.finalize()
    return whole[: -1 - whole[-1]]


class Message(Struct, frozen=True, kw_only=True):
    """A request: which command of which function, and what it says."""

    function: int
    command: int
    data: bytes
    asker: bytes

    def answer(self, code: int, data: bytes = b"") -> bytes:
        """Return what answers it, with its completion code."""
        address, sequence = self.asker[0:1], self.asker[1:2]
        head = address + bytes([(self.function | 1) << 2])
        rest = bytes([0x20]) + sequence + bytes([self.command, code]) + data
        return head + _checksum(head) + rest + _checksum(rest)


def message_of(payload: bytes) -> Message:
    """Return the request that a payload holds; raises Broken."""
    if len(payload) < 7 or _checksum(payload[:2]) != payload[2:3]:
        raise Broken("it is no message")
    if _checksum(payload[3:-1]) != payload[-1:]:
        raise Broken("its checksum is another one")
    return Message(
        function=payload[1] >> 2, command=payload[5], data=payload[6:-1], asker=payload[3:5]
    )


def _checksum(text: bytes) -> bytes:
    return bytes([-sum(text) & 0xFF])
