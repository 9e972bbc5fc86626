"""Sessions: how one is opened, by which both sides prove that they know the password."""

import hmac
import secrets
import struct
from dataclasses import dataclass, field

from .packets import OPENED, RAKP_2, RAKP_4, SUITES, Broken, Keys, Packet, Suite

_GUID = bytes(range(16))
_NO_NAME, _NO_SUITE, _NO_SESSION, _BAD_CHECK = 0x0D, 0x11, 0x02, 0x0F
_MOST = 16
"""So many sessions are remembered; the oldest gives way."""


@dataclass(slots=True, kw_only=True)
class Session:
    """One that is being opened, or is open once it has keys."""

    suite: Suite
    theirs: int
    ours: int
    privilege: int = 0
    exchange: bytes = b""
    """What both sides sign: their random number, ours, the role and the name that they ask for."""
    randoms: tuple[bytes, bytes] = (b"", b"")
    keys: Keys | None = None
    sent: int = 0


@dataclass(slots=True, kw_only=True)
class Sessions:
    """Those of one controller, for one name and password, by the suites that it knows."""

    user: str
    password: str
    suites: tuple[Suite, ...] = SUITES
    open: dict[int, Session] = field(default_factory=dict[int, Session])

    def begin(self, payload: bytes) -> Packet:
        """Answer the wish for a session; raises Broken."""
        if len(payload) < 32:
            raise Broken("it asks for no session")
        theirs = int.from_bytes(payload[4:8], "little")
        wanted = (payload[12], payload[20], payload[28])
        suite = next(
            (one for one in self.suites if wanted == (one.authentication, one.integrity, 1)), None
        )
        if suite is None:
            return _refusal(OPENED, payload, _NO_SUITE, theirs)
        session = Session(suite=suite, theirs=theirs, ours=secrets.randbits(31) | 1)
        while len(self.open) >= _MOST:
            del self.open[next(iter(self.open))]
        self.open[session.ours] = session
        head = struct.pack("<BBBBII", payload[0], 0, 4, 0, theirs, session.ours)
        return Packet(kind=OPENED, payload=head + payload[8:32])

    def challenge(self, payload: bytes, *, denied: bool) -> Packet:
        """Answer a name and a random number with ours, and prove that we know the password."""
        session = self._of(payload)
        if len(payload) < 28 or len(payload) < 28 + payload[27]:
            raise Broken("it names nobody")
        theirs, ours = payload[8:24], secrets.token_bytes(16)
        name = payload[28 : 28 + payload[27]]
        if denied or name.decode("latin-1") != self.user:
            return _refusal(RAKP_2, payload, _NO_NAME, session.theirs)
        role = payload[24:25] + payload[27:28] + name
        ids = struct.pack("<II", session.theirs, session.ours)
        session.privilege = payload[24] & 0x0F
        session.randoms, session.exchange = (theirs, ours), role
        proof = session.suite.hashed(self._key(), ids + theirs + ours + _GUID + role)
        head = struct.pack("<BBHI", payload[0], 0, 0, session.theirs)
        return Packet(kind=RAKP_2, payload=head + ours + _GUID + proof)

    def confirm(self, payload: bytes) -> Packet:
        """Take the other side's proof, and make the keys of the session; raises Broken."""
        session = self._of(payload)
        theirs, ours = session.randoms
        if not ours:
            raise Broken("it comes too early")
        suite = session.suite
        signed = ours + struct.pack("<I", session.theirs) + session.exchange
        if not hmac.compare_digest(suite.hashed(self._key(), signed), payload[8:]):
            return _refusal(RAKP_4, payload, _BAD_CHECK, session.theirs)
        key = suite.hashed(self._key(), theirs + ours + session.exchange)
        session.keys = Keys(
            suite=suite,
            signing=suite.hashed(key, b"\x01" * 20),
            hiding=suite.hashed(key, b"\x02" * 20)[:16],
        )
        check = suite.hashed(key, theirs + struct.pack("<I", session.ours) + _GUID)
        head = struct.pack("<BBHI", payload[0], 0, 0, session.theirs)
        return Packet(kind=RAKP_4, payload=head + check[: suite.signature])

    def _of(self, payload: bytes) -> Session:
        session = self.open.get(int.from_bytes(payload[4:8], "little"))
        if session is None:
            raise Broken("nobody opened that session")
        return session

    def _key(self) -> bytes:
        return self.password.encode().ljust(20, b"\0")


def _refusal(kind: int, payload: bytes, status: int, theirs: int) -> Packet:
    return Packet(kind=kind, payload=struct.pack("<BBHI", payload[0], status, 0, theirs))
