"""MQTT: what a broker that is silent costs everybody else."""

import asyncio
import socket
import threading
from contextlib import suppress

import aiomqtt
import pytest

from hostler.ports.http import NotSent
from hostler.ports.secret import Secret
from hostler.providers.power.mqtt.dialects import tasmota
from hostler.providers.power.mqtt.relay import Broker, Relay

RELAYS = 40
"""More than an event loop has threads."""


async def test_a_broker_that_is_silent_holds_up_nothing_but_its_relays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over, tried = threading.Event(), threading.Semaphore(0)

    def silent(_: aiomqtt.Client) -> None:
        tried.release()
        over.wait(20)
        raise OSError("no answer")

    monkeypatch.setattr(aiomqtt.Client, "_client_connect", silent)
    nobody = Secret("")
    broker = Broker(
        address="127.0.0.1", port=8883, user=None, password=nobody, tls=None, patience=20.0
    )

    async def asked(number: int) -> None:
        with suppress(NotSent):
            await Relay(broker, tasmota(f"plug-{number}", 1)).read()

    async with asyncio.TaskGroup() as group:
        for number in range(RELAYS):
            group.create_task(asked(number))
        try:
            while not tried.acquire(blocking=False):  # noqa: ASYNC110 - it is a thread that tries
                await asyncio.sleep(0.01)
            async with asyncio.timeout(2):
                await asyncio.get_running_loop().getaddrinfo("localhost", 80)
        finally:
            over.set()


async def test_a_connection_that_comes_after_the_call_was_given_up_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lookup, or an address that is silent, takes longer than a reading: nobody has it then."""
    ended, found, go = asyncio.Event(), threading.Semaphore(0), threading.Event()

    async def broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"\x20\x02\x00\x00")  # it lets us in
        while await reader.read(100):
            continue
        writer.close()
        ended.set()

    create = socket.create_connection

    def late(*where: object, **how: object) -> socket.socket:
        found.release()
        go.wait(20)
        return create(*where, **how)  # pyright: ignore[reportArgumentType] - passed on

    monkeypatch.setattr(socket, "create_connection", late)
    server = await asyncio.start_server(broker, "127.0.0.1", 0)
    place = Broker(
        address="127.0.0.1",
        port=server.sockets[0].getsockname()[1],
        user=None,
        password=Secret(""),
        tls=None,
        patience=20.0,
    )
    async with server:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(Relay(place, tasmota("plug", 1)).read())
            while not found.acquire(blocking=False):  # noqa: ASYNC110 - it is a thread that connects
                await asyncio.sleep(0.01)
            reading.cancel()
        go.set()
        async with asyncio.timeout(5):
            await ended.wait()
