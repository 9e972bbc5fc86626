"""Serving: a plugin's whole life, from the handshake to the last breath."""

import asyncio
import os
import signal
import threading
from types import FrameType

from grpclib.const import Status
from grpclib.exceptions import GRPCError
from msgspec import Struct

from .exchange import Calls, Exchange, Route
from .launch import Launch, line, shake
from .life import Host, Life
from .logging.hostlog import HostLog, Now, capture, in_loop
from .offer import Make, Making, Offer, in_thread
from .place import Place, listening, sweep
from .server import Routes, Server
from .services import services
from .tls.mutual import Tls, mutual

_TO_HANG_UP = 0.1
"""Seconds for a host to read the last answer and hang up, as go-plugin's does at once."""

_TO_END = 1.0
"""Seconds for what ends with us; a host kills two seconds after it asked for the end."""

_AT_LAST = 1.4

_AFTER_AN_ANSWER, _AT_REST = 0.005, 0.2
"""Seconds until what is served is made: after an answer is on its way, or where nobody asks."""


def serve(launch: Launch, make: Make, now: Now) -> int:
    """Serve until the end, and return the exit code; nothing but a handshake can fail."""
    parent = os.getppid()
    _until_the_loop_listens()
    log = HostLog(now)
    try:
        place, tls = _opened(launch, now)
    except (OSError, ValueError, LookupError) as error:
        log.failure(f"the plugin cannot serve: {error}", error)
        return 1
    try:
        certificate = b"" if tls is None else tls.certificate
        host = Host(parent, shake(line(launch, place.path, certificate)))
        capture(log)
        log.event("debug", "serving", protocol=launch.version, address=str(place.path))
        return asyncio.run(_live(_Plugin(place, tls, host, log, now), make))
    except OSError as error:
        log.failure(f"the plugin cannot serve: {error}", error)
        return 1
    finally:
        place.remove()


def _until_the_loop_listens() -> None:
    """Let Ctrl-C pass from the first moment, and clean up behind a SIGTERM."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def stay(_: int, __: FrameType | None) -> None:
        """Do nothing; a child that is started later does not inherit this, as it would SIG_IGN."""

    signal.signal(signal.SIGINT, stay)
    signal.signal(signal.SIGTERM, leave)


def _opened(launch: Launch, now: Now) -> tuple[Place, Tls | None]:
    place = listening(launch)
    if not launch.client_certificate:
        return place, None
    try:
        return place, mutual(launch.client_certificate, place.folder, now())
    except BaseException:
        place.remove()
        raise


class _Plugin(Struct, frozen=True):
    place: Place
    tls: Tls | None
    host: Host
    log: HostLog
    now: Now


async def _live(plugin: _Plugin, make: Make) -> int:
    """Answer calls until the end has a reason, then end in order and in time."""
    asyncio.get_running_loop().set_exception_handler(in_loop(plugin.log))
    calls = Calls(plugin.log)
    life = Life(plugin.host, calls, plugin.log)
    making = Making(make, plugin.log)
    async with asyncio.TaskGroup() as tasks:
        server = Server(routes(making, calls, life), tasks, plugin.log)
        await server.start(plugin.place.socket, plugin.tls.context if plugin.tls else None)
        making.start_in(_AT_REST)
        in_thread(lambda: _swept(plugin), plugin.log)
        reason = await life.lived()
        plugin.log.event("info", "the plugin ends", reason=reason)
        _end_at_last(plugin.place)
        await server.left(_TO_HANG_UP)
        server.close()
    await _ended(in_thread(making.end, plugin.log), plugin.log)
    return 0


def _swept(plugin: _Plugin) -> None:
    for folder in sweep(plugin.now()):
        plugin.log.event("info", "the folder of a plugin that was killed is removed", folder=folder)


def routes(making: Making, calls: Calls, life: Life) -> Routes:
    """Return every route: go-plugin's own services at once, the rest when the offer is there."""
    known = services(life.stop)

    def route(path: str) -> Route:
        async def own(exchange: Exchange) -> None:
            await known[path](exchange)
            making.start_in(_AFTER_AN_ANSWER)

        async def offered(exchange: Exchange) -> None:
            with calls.counted():
                await _answer(path, await making.offer(), calls, exchange)

        return own if path in known else offered

    return route


async def _answer(path: str, offer: Offer, calls: Calls, exchange: Exchange) -> None:
    for method in offer.methods:
        if method.path == path:
            return await calls.answer(method, exchange)
    await exchange.request()
    if offer.refusal and path.endswith("/Init"):
        raise GRPCError(Status.UNKNOWN, offer.refusal)
    raise GRPCError(Status.UNIMPLEMENTED, f"unknown method {path}")


async def _ended(done: threading.Event, log: HostLog) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + _TO_END
    while not done.is_set():
        if loop.time() > end:
            log.event("warn", "the group did not end in time; its records are safe")
            return
        await asyncio.sleep(0.005)


def _end_at_last(place: Place) -> None:
    """End in time whatever hangs: a thread that does not stop must not cost a SIGKILL."""

    def exit_now() -> None:
        place.remove()
        os._exit(0)

    timer = threading.Timer(_AT_LAST, exit_now)
    timer.daemon = True
    timer.start()
