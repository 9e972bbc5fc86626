"""Agent: one SNMP agent, asked for one number or told to write one, each by one packet.

A packet is sent once: whoever asked looks, and asks again. Agents of the versions 1 and 2c answer
wrong communities by silence, so that silence is all that is known then.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pysnmp has no types; what leaves this module has.
import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, cast

from msgspec import Struct
from pyasn1.codec.ber import decoder, encoder
from pyasn1.error import PyAsn1Error
from pyasn1.type import univ
from pysnmp.error import PySnmpError
from pysnmp.hlapi.v3arch.asyncio import (
    USM_AUTH_HMAC96_MD5,
    USM_AUTH_HMAC96_SHA,
    USM_AUTH_HMAC192_SHA256,
    USM_AUTH_HMAC384_SHA512,
    USM_AUTH_NONE,
    USM_PRIV_CBC56_DES,
    USM_PRIV_CFB128_AES,
    USM_PRIV_CFB256_AES,
    USM_PRIV_NONE,
    ContextData,
    SnmpEngine,
    UsmUserData,
)
from pysnmp.hlapi.v3arch.asyncio import Udp6TransportTarget as SixTarget
from pysnmp.hlapi.v3arch.asyncio import UdpTransportTarget as UserTarget
from pysnmp.hlapi.v3arch.asyncio import get_cmd as get_as_user
from pysnmp.hlapi.v3arch.asyncio import set_cmd as set_as_user
from pysnmp.proto import api, errind
from pysnmp.proto.rfc1902 import Integer32
from pysnmp.smi.rfc1902 import ObjectIdentity, ObjectType

from hostler.domain.model.calls import Refusal
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.secret import Secret
from hostler.providers.power.switch import nonsense, refused

from .models import Oid

Version = Literal["1", "2c", "3"]
AUTHENTICATION = {
    "md5": USM_AUTH_HMAC96_MD5,
    "sha": USM_AUTH_HMAC96_SHA,
    "sha256": USM_AUTH_HMAC192_SHA256,
    "sha512": USM_AUTH_HMAC384_SHA512,
}
PRIVACY = {
    "des": USM_PRIV_CBC56_DES,
    "aes": USM_PRIV_CFB128_AES,
    "aes256": USM_PRIV_CFB256_AES,
}
_DENIED = (
    errind.AuthenticationError,
    errind.AuthenticationFailure,
    errind.DecryptionError,
    errind.UnknownSecurityName,
    errind.UnknownUserName,
    errind.UnsupportedSecurityLevel,
    errind.WrongDigest,
)
"""What an agent of version 3 answers to wrong credentials."""
_NO_OUTLET, _AUTHORIZATION, _BUSY = {2, 11}, 16, {12, 13}
_NOT_WRITABLE = {4, 6, 17}
_INVALID = {3, 7, 8, 9, 10, 18}
"""Numbers of error-status (RFC 3416, section 3) that promise that nothing was written."""


class Place(Struct, frozen=True, kw_only=True):
    """Where an agent listens; `longest` bounds how long a packet is waited for."""

    address: str
    port: int
    longest: timedelta


class User(Struct, frozen=True, kw_only=True):
    """Whom an agent of version 3 lets in; an empty secret is none."""

    name: str
    authentication: str
    secret: Secret
    privacy: str
    privacy_secret: Secret


Answer = tuple[object, int, tuple[tuple[Any, Any], ...]]
"""What went wrong (None for nothing), the error-status, and object ids with their values."""


class Session(Protocol):
    """Sends one packet for one object, and returns what comes back."""

    async def exchange(self, oid: Oid, number: int | None) -> Answer:
        """Read an object, or write a number there; raises PySnmpError."""
        ...

    def close(self) -> None:
        """Give back the socket; closing again changes nothing."""
        ...


@dataclass(slots=True)
class _Inbox(asyncio.DatagramProtocol):
    """What comes back, and what the network says of it."""

    packets: asyncio.Queue[bytes | Exception]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Put a packet with those to be read."""
        del addr
        self.packets.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        """Note that nothing listens there."""
        self.packets.put_nowait(exc)


class ByCommunity:
    """Versions 1 and 2c. Implements `Session`.

    What pysnmp has for them takes a request that is sent back for its answer; here only its codecs
    are used.
    """

    def __init__(self, place: Place, community: Secret, version: Version) -> None:
        self._place, self._community = place, community
        self._spoken: Any = api.PROTOCOL_MODULES[0 if version == "1" else 1]

    async def exchange(self, oid: Oid, number: int | None) -> Answer:
        """Read or write; see the protocol. It waits until whoever asked goes away."""
        spoken, packets = self._spoken, asyncio.Queue[bytes | Exception]()
        pdu = spoken.GetRequestPDU() if number is None else spoken.SetRequestPDU()
        spoken.apiPDU.set_defaults(pdu)
        value = spoken.Null("") if number is None else spoken.Integer(number)
        spoken.apiPDU.set_varbinds(pdu, [(oid, value)])
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: _Inbox(packets), remote_addr=(self._place.address, self._place.port)
        )
        try:
            transport.sendto(self._message(pdu))
            while True:
                packet = await packets.get()
                if isinstance(packet, Exception):
                    raise NotSent(f"nothing listens there: {packet}")
                if (answer := self._read(packet, spoken.apiPDU.get_request_id(pdu))) is not None:
                    return answer
        finally:
            transport.close()

    def close(self) -> None:
        """No socket outlives its packet."""

    def _message(self, pdu: object) -> bytes:
        message = self._spoken.Message()
        self._spoken.apiMessage.set_defaults(message)
        self._spoken.apiMessage.set_community(message, self._community.reveal())
        self._spoken.apiMessage.set_pdu(message, pdu)
        return encoder.encode(message)

    def _read(self, packet: bytes, asked: object) -> Answer | None:
        """Return what a packet says; None where it does not answer this question."""
        spoken = self._spoken
        try:
            message, _ = decoder.decode(packet, asn1Spec=spoken.Message())
            pdu = spoken.apiMessage.get_pdu(message)
            if (
                not pdu.isSameTypeWith(spoken.GetResponsePDU())
                or spoken.apiPDU.get_request_id(pdu) != asked
            ):
                return None
            status = int(spoken.apiPDU.get_error_status(pdu))
            return None, status, tuple(spoken.apiPDU.get_varbinds(pdu))
        except (PyAsn1Error, PySnmpError, ValueError, RecursionError):
            return None


class AsUser:
    """Version 3. Implements `Session`. Its engine is large, and made with the first packet.

    All outlets of a strip share it: one costs a megabyte, and a tenth of a second.
    """

    def __init__(self, place: Place, user: User) -> None:
        self._place, self._engine = place, cast("SnmpEngine | None", None)
        secret, privacy = user.secret.reveal() or None, user.privacy_secret.reveal() or None
        self._who = UsmUserData(
            user.name,
            authKey=secret,
            privKey=privacy,
            authProtocol=AUTHENTICATION[user.authentication] if secret else USM_AUTH_NONE,
            privProtocol=PRIVACY[user.privacy] if privacy else USM_PRIV_NONE,
        )

    async def exchange(self, oid: Oid, number: int | None) -> Answer:
        """Read or write; see the protocol."""
        self._engine = self._engine or SnmpEngine()
        transport = SixTarget if ":" in self._place.address else UserTarget
        target = await transport.create(*_target(self._place))
        wanted = ObjectIdentity(oid)
        thing = ObjectType(wanted) if number is None else ObjectType(wanted, Integer32(number))
        ask = get_as_user if number is None else set_as_user
        trouble, status, _, answered = await ask(
            self._engine, self._who, target, ContextData(), thing, lookupMib=False
        )
        return trouble, int(status), tuple((one[0], one[1]) for one in answered)

    def close(self) -> None:
        """Give back the socket."""
        if self._engine is not None:
            self._engine.close_dispatcher()
            self._engine = None


def _target(place: Place) -> tuple[tuple[str, int], float, int]:
    """Return where to, how long a packet is waited for, and how often it is sent again."""
    return (place.address, place.port), place.longest.total_seconds(), 0


def session(place: Place, version: Version, community: Secret, user: User) -> Session:
    """Return what speaks this version; nothing is sent yet."""
    return AsUser(place, user) if version == "3" else ByCommunity(place, community, version)


class Agent:
    """Asks one agent, and says what its answers mean; `longest` is how many seconds it has."""

    def __init__(self, session: Session, longest: float) -> None:
        self._session, self.longest = session, longest

    async def number(self, oid: Oid) -> int:
        """Return the whole number at a place; `NoAnswer` or `Failed` where there is none."""
        value = await self._ask(oid, None)
        if not isinstance(value, univ.Integer):
            raise nonsense(f"there is no number at {_dotted(oid)}")
        return int(value)

    async def object_id(self, oid: Oid) -> Oid:
        """Return the object id at a place; `NoAnswer` or `Failed` where there is none."""
        value = await self._ask(oid, None)
        if not isinstance(value, univ.ObjectIdentifier):
            raise nonsense(f"there is no object id at {_dotted(oid)}")
        return tuple(int(part) for part in cast("Iterable[int]", value))

    async def write(self, oid: Oid, number: int) -> None:
        """Write a number at a place, once; return where the agent says that it did."""
        await self._ask(oid, number)

    def close(self) -> None:
        """Give back the socket."""
        self._session.close()

    async def _ask(self, oid: Oid, number: int | None) -> object:
        try:
            trouble, status, answered = await self._session.exchange(oid, number)
        except (PySnmpError, OSError) as error:
            raise NotSent(f"it cannot be asked: {error}") from None
        if trouble is not None:
            _judge_trouble(trouble)
        if status:
            _judge_status(status, oid)
        if len(answered) != 1 or tuple(answered[0][0]) != oid:
            raise nonsense("it answered another question")
        return answered[0][1]


def _judge_trouble(trouble: object) -> None:
    """Raise what became of a packet that was not answered in order."""
    if isinstance(trouble, _DENIED):
        raise refused(Refusal.DENIED, f"the credentials are refused: {trouble}")
    if isinstance(trouble, errind.RequestTimedOut):
        raise NoAnswer("no answer")
    raise nonsense(f"the answer makes no sense: {trouble}")


def _judge_status(status: int, oid: Oid) -> None:
    """Raise what an agent's error-status promises; nobody knows what came of those not listed."""
    if status in _NO_OUTLET:
        raise refused(Refusal.INVALID, f"there is no {_dotted(oid)}: another outlet, or model")
    if status in _NOT_WRITABLE:
        raise refused(Refusal.INVALID, f"who asks may not write {_dotted(oid)}")
    if status == _AUTHORIZATION:
        raise refused(Refusal.DENIED, "the credentials are refused: authorizationError")
    if status in _BUSY:
        raise refused(Refusal.BUSY, f"it is busy (error-status {status})")
    if status in _INVALID:
        raise refused(Refusal.INVALID, f"it takes no such value (error-status {status})")
    raise nonsense(f"it failed (error-status {status})")


def _dotted(oid: Oid) -> str:
    return ".".join(str(part) for part in oid)
