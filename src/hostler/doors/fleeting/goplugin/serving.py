"""Serving: a plugin's whole life, from the handshake to the last breath."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from hostler.doors.fleeting.served import Method

from .calls import Calls
from .exchange import Exchange, Route
from .handshake import line, shake
from .hostlog import HostLog, Now, capture, in_loop
from .launch import Launch
from .life import Host, Life
from .place import Place, listening
from .server import Routes, Server
from .services import services
from .tls import Tls, mutual

_TO_END = 1.1
"""Seconds for what ends with us; a host kills two seconds after it asked for the end."""

_AT_LAST = 1.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is served: methods, or why there are none.

    A `refusal` is what Init of any service is answered: a host shows it to its operator, where the
    text of a process that ended would be lost. `warm` is run in a thread once calls are accepted,
    to import what Init will need; `end` is run in a thread when the plugin ends.
    """

    methods: Sequence[Method] = ()
    refusal: str = ""
    warm: Callable[[], None] = lambda: None
    end: Callable[[], None] = lambda: None


Make = Callable[[HostLog], Offer]
"""Makes what is served, after the handshake; what it raises becomes the refusal."""


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
        return asyncio.run(_live(_Plugin(place, tls, host, log), _made(make, log)))
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


def _made(make: Make, log: HostLog) -> Offer:
    try:
        return make(log)
    except Exception as error:  # noqa: BLE001 - the host is to read why, so it is served an answer
        log.failure("this is a bug in hostler: nothing can be served", error)
        return Offer(refusal=f"this is a bug in hostler: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class _Plugin:
    place: Place
    tls: Tls | None
    host: Host
    log: HostLog


async def _live(plugin: _Plugin, offer: Offer) -> int:
    """Answer calls until the end has a reason, then end in order and in time."""
    asyncio.get_running_loop().set_exception_handler(in_loop(plugin.log))
    calls = Calls(plugin.log)
    life = Life(plugin.host, calls, plugin.log)
    async with asyncio.TaskGroup() as tasks:
        server = Server(routes(offer, calls, life), tasks, plugin.log)
        await server.start(plugin.place.socket, plugin.tls.context if plugin.tls else None)
        _in_thread(offer.warm, plugin.log)
        reason = await life.lived()
        plugin.log.event("info", "the plugin ends", reason=reason)
        _end_at_last(plugin.place)
        server.close()
    await _ended(_in_thread(offer.end, plugin.log), plugin.log)
    return 0


def routes(offer: Offer, calls: Calls, life: Life) -> Routes:
    """Return every route: what is offered, go-plugin's own services, and a word on the rest."""
    known: Mapping[str, Route] = {
        **{method.path: calls.route(method) for method in offer.methods},
        **services(life.stop),
    }

    def route(path: str) -> Route:
        return known.get(path) or _unknown(path, offer.refusal)

    return route


def _unknown(path: str, refusal: str) -> Route:
    async def refused(exchange: Exchange) -> None:
        await exchange.request()
        if refusal and path.endswith("/Init"):
            raise GRPCError(Status.UNKNOWN, refusal)
        raise GRPCError(Status.UNIMPLEMENTED, f"unknown method {path}")

    return refused


def _in_thread(work: Callable[[], None], log: HostLog) -> threading.Event:
    """Run this in a thread that nobody has to wait for; the event tells that it is done."""
    done = threading.Event()

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the edge of a thread
            log.failure("this is a bug in hostler: a thread failed", error)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True).start()
    return done


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

    def gone() -> None:
        place.remove()
        os._exit(0)

    timer = threading.Timer(_AT_LAST, gone)
    timer.daemon = True
    timer.start()
