"""Relay: one relay behind a broker, by aiomqtt: each call is a connection of its own.

What a broker kept for us says how a relay stood once, nobody knows when: only what comes after we
asked is believed.
"""

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress

import aiomqtt
from msgspec import Struct

from hostler.domain.model.calls import Refusal
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.power import PowerAction, PowerState
from hostler.ports.secret import Secret
from hostler.providers.power.switch import Reading, refused

from .dialects import Dialect

_POOL = ThreadPoolExecutor(max_workers=32, thread_name_prefix="hostler-mqtt")
"""All relays of the process share it; a broker that is silent holds a thread for five seconds."""

_DENIED = frozenset({4, 5, 134, 135})
"""Reason codes of a broker that takes no such login (MQTT 3.1.1 and 5)."""


class Broker(Struct, frozen=True, kw_only=True):
    """Where a broker is, and who asks it; `tls` is None where nothing is encrypted."""

    address: str
    port: int
    user: str | None
    password: Secret
    tls: ssl.SSLContext | None
    patience: float


class Relay:
    """Implements `Device`."""

    def __init__(self, broker: Broker, dialect: Dialect) -> None:
        self._broker, self._dialect = broker, dialect

    async def act(self, action: PowerAction) -> None:
        """Tell the relay, and wait until it says that it stands so."""
        wanted = PowerState.ON if action is PowerAction.ON else PowerState.OFF
        async with self._connected() as client:
            await client.publish(*self._dialect.command[wanted], qos=1)
            async for state in self._answers(client):
                if state is wanted:
                    return
        raise NoAnswer("the relay did not say that it obeyed")

    async def read(self) -> Reading:
        """Ask the relay how it stands."""
        async with self._connected() as client:
            await client.publish(*self._dialect.ask, qos=1)
            async for state in self._answers(client):
                return Reading(state=state, text=f"the relay is {state}")
        raise NoAnswer("the relay does not answer")

    async def close(self) -> None:
        """Nothing stays open."""

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[aiomqtt.Client]:
        """Connect, and listen to the relay's answers."""
        broker = self._broker
        client = aiomqtt.Client(
            broker.address,
            broker.port,
            username=broker.user,
            password=broker.password.reveal() or None,
            tls_context=broker.tls,
            timeout=broker.patience,
        )
        try:
            await _reach(client)
            await client.__aenter__()
        except (aiomqtt.MqttError, OSError) as error:
            _give_up(client)
            raise _unconnected(error) from None
        except BaseException:  # a broker that accepts and says nothing, until time is up
            _give_up(client)
            raise
        try:
            for topic in self._dialect.states:
                await client.subscribe(topic, qos=1)
            yield client
        except aiomqtt.MqttError as error:
            raise NoAnswer(f"the broker: {error}") from None
        finally:
            with suppress(aiomqtt.MqttError):
                await client.__aexit__(None, None, None)

    async def _answers(self, client: aiomqtt.Client) -> AsyncGenerator[PowerState]:
        """Yield how the relay stands, by each answer that is no older than this connection."""
        async for message in client.messages:
            state = self._dialect.read(bytes(message.payload).decode(errors="replace"))
            if state is not None and not message.retain:
                yield state


async def _reach(client: aiomqtt.Client) -> None:
    """Connect in a thread of ours, and leave nothing of that to the client; raises OSError.

    Its own threads are everybody's, and few: name lookups would wait for a broker that is silent. A
    thread goes on when nobody waits for it any more: what it reaches then is closed.
    """
    connect = client._client_connect  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    client._client_connect = _nothing  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above
    loop, given_up = asyncio.get_running_loop(), threading.Event()

    def connected() -> None:
        connect()
        if given_up.is_set():
            loop.call_soon_threadsafe(_give_up, client)

    try:
        await loop.run_in_executor(_POOL, connected)
    finally:
        given_up.set()


def _nothing() -> None:
    """It is connected."""


def _give_up(client: aiomqtt.Client) -> None:
    """Close the connection of a client that was never entered: it would not do so itself."""
    client._client.disconnect()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - no other way
    client._client._sock_close()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as above


def _unconnected(error: Exception) -> Exception:
    """Return what it means that the broker was not entered."""
    code = getattr(error, "rc", None)
    number = getattr(code, "value", code)
    if number in _DENIED:
        return refused(Refusal.DENIED, "the broker refuses the login")
    return NotSent(f"the broker: {error}")
