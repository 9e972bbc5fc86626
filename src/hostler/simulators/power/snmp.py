"""A power strip that speaks SNMP 1 and 2c over UDP, with one machine at one outlet.

Who names another community gets no answer, as the protocol has it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pysnmp has no types.
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import Struct
from pyasn1.codec.ber import decoder, encoder
from pyasn1.error import PyAsn1Error
from pysnmp.proto import api

from .box import BUSY, NONSENSE, Box, Closes
from .datagrams import answering

Oid = tuple[int, ...]
_SYS_OBJECT_ID: Oid = (1, 3, 6, 1, 2, 1, 1, 2, 0)
_NO_SUCH_NAME, _INCONSISTENT_VALUE = 2, 12


class Strip(Struct, frozen=True, kw_only=True):
    """Where the outlet is: what is written there for on and off, and read.

    `product` is what the strip says that it is.
    """

    product: Oid
    write: Oid
    write_off: Oid
    numbers: tuple[int, int]
    read: Oid
    reads: tuple[int, int]
    community: bytes


@asynccontextmanager
async def listening(
    box: Box, strip: Strip, place: tuple[str, int] = ("127.0.0.1", 0)
) -> AsyncGenerator[int]:
    """Let the strip listen at an address and port, and give that; port 0 takes a free one."""

    async def answer(data: bytes) -> bytes | None:
        with suppress(Closes, PyAsn1Error):
            return await _answered(box, strip, data)
        return None

    async with answering(answer, place) as port:
        yield port


async def _answered(box: Box, strip: Strip, data: bytes) -> bytes | None:
    """Return the answer to a packet; None for silence."""
    spoken: Any = api.PROTOCOL_MODULES[api.decodeMessageVersion(data)]
    message, _ = decoder.decode(data, asn1Spec=spoken.Message())
    if bytes(spoken.apiMessage.get_community(message)) != strip.community:
        return None
    reply = spoken.apiMessage.get_response(message)
    asked, reply_pdu = spoken.apiMessage.get_pdu(message), spoken.apiMessage.get_pdu(reply)
    oid, value = spoken.apiPDU.get_varbinds(asked)[0]
    if asked.isSameTypeWith(spoken.SetRequestPDU()):
        status, value = await _written(box, strip, tuple(oid), value, spoken)
    else:
        status, value = await _read(box, strip, tuple(oid), spoken)
    if status == NONSENSE:
        oid, status = (1, 3, 6, 1, 9), 0
    spoken.apiPDU.set_varbinds(reply_pdu, [(oid, value)])
    spoken.apiPDU.set_error_status(reply_pdu, status)
    spoken.apiPDU.set_error_index(reply_pdu, 1 if status else 0)
    return encoder.encode(reply)


async def _written(
    box: Box, strip: Strip, oid: Oid, value: Any, spoken: Any
) -> tuple[int | str, Any]:
    del spoken
    wanted = {
        (strip.write, strip.numbers[0]): "on",
        (strip.write_off, strip.numbers[1]): "off_hard",
    }
    action = wanted.get((oid, int(value)))
    if action is None:
        return _NO_SUCH_NAME, value
    async with box.call(action) as fault:
        if fault == BUSY:
            return _INCONSISTENT_VALUE, value
        if fault == NONSENSE:
            return NONSENSE, value
        box.obey(action, fault)
        return 0, value


async def _read(box: Box, strip: Strip, oid: Oid, spoken: Any) -> tuple[int | str, Any]:
    if oid == _SYS_OBJECT_ID:
        return 0, spoken.ObjectIdentifier(strip.product)
    if oid != strip.read:
        return _NO_SUCH_NAME, spoken.Null("")
    async with box.call("query") as fault:
        if fault == NONSENSE:
            return 0, spoken.OctetString("<html>Welcome</html>")
        return 0, spoken.Integer(strip.reads[0 if box.has_power() else 1])
