"""A relay with Tasmota, and the MQTT broker before it, of version 3.1.1 as far as clients need it.

Who names another user or password is refused. Messages are passed on once (QoS 0), and none is
retained.
"""

import asyncio
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from .box import NONSENSE, Box, Closes

USER = "admin"
_CONNECT, _PUBLISH, _SUBSCRIBE, _UNSUBSCRIBE, _PING, _END = 1, 3, 8, 10, 12, 14
_WELCOME, _DENIED, _WRONG_VERSION = 0, 5, 1
_MOST = 65536
"""A packet may have so many bytes."""


class _Broken(Exception):
    """What came is no packet of MQTT."""


@dataclass(slots=True, eq=False)
class _Client:
    """One connection: what it listens to, and where to write."""

    writer: asyncio.StreamWriter
    filters: set[str] = field(default_factory=set[str])

    def send(self, kind: int, body: bytes) -> None:
        self.writer.write(bytes([kind << 4]) + _length(len(body)) + body)


@dataclass(slots=True)
class Broker:
    """A broker with one device, called `topic`, that switches a box."""

    box: Box
    topic: str
    password: str
    clients: set[_Client] = field(default_factory=set[_Client])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection until it ends, or says what is none of MQTT."""
        client = _Client(writer)
        try:
            await self._served(client, reader)
        except* (_Broken, OSError, EOFError, UnicodeError):
            pass
        finally:
            self.clients.discard(client)
            writer.close()

    async def _served(self, client: _Client, reader: asyncio.StreamReader) -> None:
        if not self._enters(client, *await _packet(reader)):
            return
        self.clients.add(client)
        async with asyncio.TaskGroup() as group:
            while await self._take(client, group, *await _packet(reader)):
                await client.writer.drain()

    def _enters(self, client: _Client, kind: int, flags: int, body: bytes) -> bool:
        """Answer the first packet, which is who it is; tell whether it may stay."""
        del flags
        fields = _Fields(body)
        if kind != _CONNECT or fields.text() != "MQTT":
            raise _Broken
        version, parts = fields.take(1)[0], fields.take(1)[0]
        fields.take(2)
        fields.text()  # the client's own name
        if parts & 0x04:  # a last will
            fields.text()
            fields.text()
        user = fields.text() if parts & 0x80 else ""
        password = fields.text() if parts & 0x40 else ""
        code = _WELCOME if (user, password) == (USER, self.password) else _DENIED
        code = code if version == 4 else _WRONG_VERSION
        client.send(2, bytes([0, code]))
        return code == _WELCOME

    async def _take(
        self, client: _Client, group: asyncio.TaskGroup, kind: int, flags: int, body: bytes
    ) -> bool:
        """Take a packet; tell whether the connection goes on."""
        fields = _Fields(body)
        if kind == _PUBLISH:
            topic, quality = fields.text(), flags >> 1 & 3
            if quality:
                client.send(4, fields.take(2))
            payload = fields.rest().decode()
            self._pass_on(topic, payload)
            if topic in {f"cmnd/{self.topic}/POWER", f"cmnd/{self.topic}/POWER1"}:
                group.create_task(self._obey(payload.upper()))
        elif kind == _SUBSCRIBE:
            number, granted = fields.take(2), bytearray()
            while fields.left():
                client.filters.add(fields.text())
                fields.take(1)
                granted.append(0)
            client.send(9, number + bytes(granted))
        elif kind == _UNSUBSCRIBE:
            number = fields.take(2)
            while fields.left():
                client.filters.discard(fields.text())
            client.send(11, number)
        elif kind == _PING:
            client.send(13, b"")
        return kind != _END

    async def _obey(self, word: str) -> None:
        """Do what the device is told, and say how it stands then; another word says nothing."""
        what = {"": "query", "ON": "on", "OFF": "off_hard"}.get(word)
        if what is None:
            return
        with suppress(Closes):
            async with self.box.call(what) as fault:
                if what != "query":
                    self.box.obey(what, fault)
                stands = word or ("ON" if self.box.has_power() else "OFF")
                self._pass_on(f"stat/{self.topic}/POWER", "???" if fault == NONSENSE else stands)

    def _pass_on(self, topic: str, payload: str) -> None:
        body = _text(topic) + payload.encode()
        for client in self.clients:
            if any(_matches(one, topic) for one in client.filters):
                client.send(_PUBLISH, body)


@asynccontextmanager
async def listening(
    box: Box, password: str, topic: str = "plug", place: tuple[str, int] = ("127.0.0.1", 0)
) -> AsyncGenerator[int]:
    """Let a broker listen at an address and port, and give that; port 0 takes a free one."""
    broker = Broker(box, topic, password)
    server = await asyncio.start_server(broker.serve, *place)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for client in tuple(broker.clients):
            client.writer.close()


@dataclass(slots=True)
class _Fields:
    """The fields of a packet, read one after the other."""

    body: bytes
    at: int = 0

    def take(self, size: int) -> bytes:
        if self.left() < size:
            raise _Broken
        self.at += size
        return self.body[self.at - size : self.at]

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.take(2))
        return self.take(size).decode()

    def left(self) -> int:
        return len(self.body) - self.at

    def rest(self) -> bytes:
        return self.take(self.left())


async def _packet(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Return the next packet: its kind, its flags, and what it holds."""
    (first,) = await reader.readexactly(1)
    size = 0
    for place in range(4):
        (digit,) = await reader.readexactly(1)
        size |= (digit & 0x7F) << 7 * place
        if digit < 0x80:
            break
    if size > _MOST:
        raise _Broken
    return first >> 4, first & 0x0F, await reader.readexactly(size)


def _length(size: int) -> bytes:
    digits = bytearray()
    while True:
        size, digit = size >> 7, size & 0x7F
        digits.append(digit | (0x80 if size else 0))
        if not size:
            return bytes(digits)


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def _matches(wanted: str, topic: str) -> bool:
    """Tell whether a filter takes a topic: `+` is one level of it, `#` all that are left."""
    levels = topic.split("/")
    for place, level in enumerate(wanted.split("/")):
        if level == "#":
            return True
        if place >= len(levels) or level not in {"+", levels[place]}:
            return False
    return len(wanted.split("/")) == len(levels)
