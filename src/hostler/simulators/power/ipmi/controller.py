"""Controller: one machine behind IPMI, asked over UDP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from hostler.simulators.power.box import BUSY, DENIED, NONSENSE, Box, Closes
from hostler.simulators.power.datagrams import answering

from .packets import (
    IPMI,
    OPEN,
    RAKP_1,
    RAKP_3,
    Broken,
    Message,
    Packet,
    message_of,
    opened,
    packed,
    pong,
    session_of,
)
from .sessions import Session, Sessions

_OK, _NODE_BUSY, _UNKNOWN, _INVALID, _NOT_ALLOWED = 0x00, 0xC0, 0xC1, 0xCC, 0xD4
_CONTROLS = {0: "off_hard", 1: "on", 2: "cycle", 3: "cycle", 5: "off_soft"}
_OPERATOR = 3
_DEVICE = bytes.fromhex("2001000102800000000000")


@dataclass(slots=True)
class Controller:
    """Answers packets: those of its sessions, and the questions that come before one."""

    box: Box
    sessions: Sessions

    async def answer(self, data: bytes) -> bytes | None:
        """Return the answer to a packet; None for silence."""
        if (found := pong(data)) is not None:
            return found
        with suppress(Broken, IndexError):
            return await self._answered(data)
        return None

    async def _answered(self, data: bytes) -> bytes | None:
        session = self.sessions.open.get(session_of(data))
        keys = session.keys if session is not None else None
        packet = opened(data, keys)
        if packet.kind != IPMI:
            return self._opening(packet)
        message = message_of(packet.payload)
        if session is None or keys is None:
            answer = self._before(message)
            return packed(Packet(kind=IPMI, payload=answer, plus=packet.plus), None)
        answer = await self._within(message, session)
        session.sent += 1
        reply = Packet(kind=IPMI, payload=answer, session=session.theirs, sequence=session.sent)
        return packed(reply, keys)

    def _opening(self, packet: Packet) -> bytes | None:
        """Answer what opens a session; None where it is something else."""
        if packet.kind == OPEN:
            return packed(self.sessions.begin(packet.payload), None)
        if packet.kind == RAKP_1:
            denied = bool(self.box.script) and self.box.script[0] == DENIED
            if denied:
                self.box.script.popleft()
                self.box.journal.append("login")
            return packed(self.sessions.challenge(packet.payload, denied=denied), None)
        if packet.kind == RAKP_3:
            return packed(self.sessions.confirm(packet.payload), None)
        return None

    def _before(self, message: Message) -> bytes:
        """Answer what may be asked without a session."""
        match message.function, message.command:
            case (0x06, 0x38):  # which ways to authenticate: the names of users, and IPMI 2.0
                return message.answer(_OK, bytes.fromhex("0180040200000000"))
            case (0x06, 0x54):  # which cipher suites
                found = b"".join(
                    bytes([0xC0, one.number, one.authentication, 0x40 | one.integrity, 0x81])
                    for one in self.sessions.suites
                )
                first = 16 * (message.data[2] & 0x3F)
                return message.answer(_OK, b"\x01" + found[first : first + 16])
            case _:
                return message.answer(_NOT_ALLOWED)

    async def _within(self, message: Message, session: Session) -> bytes:
        match message.function, message.command:
            case (0x06, 0x3B):  # the privilege of the session
                session.privilege = (message.data[0] & 0x0F) or session.privilege
                return message.answer(_OK, bytes([session.privilege]))
            case (0x06, 0x3C):  # its end
                self.sessions.open.pop(session.ours, None)
                return message.answer(_OK)
            case (0x06, 0x01):  # what it is
                return message.answer(_OK, _DEVICE)
            case (0x00, 0x01):
                return await self._status(message)
            case (0x00, 0x02):
                return await self._control(message, session)
            case _:
                return message.answer(_UNKNOWN)

    async def _status(self, message: Message) -> bytes:
        async with self.box.call("query") as fault:
            if fault == BUSY:
                return message.answer(_NODE_BUSY)
            if fault == NONSENSE:
                return message.answer(_OK)
            return message.answer(_OK, bytes([self.box.has_power(), 0, 0]))

    async def _control(self, message: Message, session: Session) -> bytes:
        action = _CONTROLS.get(message.data[0] & 0x0F)
        if action is None:
            return message.answer(_INVALID)
        if session.privilege < _OPERATOR:
            return message.answer(_NOT_ALLOWED)
        async with self.box.call(action) as fault:
            if fault == BUSY:
                return message.answer(_NODE_BUSY)
            if fault == NONSENSE:
                return message.answer(_UNKNOWN)
            self.box.obey(action, fault)
            return message.answer(_OK)


@asynccontextmanager
async def listening(
    box: Box, sessions: Sessions, place: tuple[str, int] = ("127.0.0.1", 0)
) -> AsyncGenerator[int]:
    """Let a controller listen at an address and port, and give that; port 0 takes a free one."""
    controller = Controller(box, sessions)

    async def answer(packet: bytes) -> bytes | None:
        with suppress(Closes):
            return await controller.answer(packet)
        return None

    async with answering(answer, place) as port:
        yield port
