"""A world behind a loopback socket, with its fates as real behaviour of the connection."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from random import Random

import structlog
from aiohttp import web
from msgspec import Struct

from hostler.ports.http import HttpRequest, Response
from hostler.simulators.guests import Listeners

from .faults.rates import load
from .inspection import inspect, is_view
from .state.calls import Fate, Reply
from .state.options import ORGANIZATION, MacOptions, Options, stock_of
from .world import World

PATIENCE = 120.0  # real seconds after which a hung connection is broken
TICK = 0.05  # real seconds between two looks at the guests
log = structlog.get_logger()


class Settings(Struct, frozen=True, kw_only=True):
    """How a simulator is run.

    speed: seconds of world time in a real second; dates are those of the wall clock all the same.
    fault_rates: the name of a preset or of a TOML file.
    guest_port: where the guests of running servers listen, at the servers' IPv4 addresses, which
        are then in 127.64.0.0/10; None for no guests.
    rate: the gateway's limit in requests a (world) second; 0 means none.
    project: whose everything is of which nobody says whose it is.
    macs: Macs that are there from the start, delivered and ready, as `N[:TYPE[:ZONE[:PREFIX]]]`.
    mac_options: how Macs behave.
    ssh_port: where SSH on Macs listens, at the Macs' addresses, which are then in 127.64.0.0/10;
        0 takes a free one, None serves none.
    """

    host: str = "127.0.0.1"
    port: int = 8100
    speed: float = 1.0
    seed: int = 1
    fault_rates: str = "calm"
    guest_port: int | None = None
    rate: float = 0.0
    project: str = ORGANIZATION
    macs: tuple[str, ...] = ()
    mac_options: MacOptions = MacOptions()
    ssh_port: int | None = None


def nothing() -> None:
    """Do nothing."""


class SimulatorServer:
    """Serves one world over HTTP, on loopback only. Start it once, stop it once."""

    def __init__(
        self, world: World, host: str, port: int, speed: float, guest_port: int | None
    ) -> None:
        if host != "localhost" and not ip_address(host).is_loopback:
            raise ValueError(f"a simulator serves loopback only, not {host}")
        self.world = world
        self._host, self._port, self._speed = host, port, speed
        self._runner = web.ServerRunner(
            web.Server(self._answer, access_log=None),
            handler_cancellation=True,
            shutdown_timeout=0.2,
        )
        self._listeners = None if guest_port is None else Listeners(guest_port)
        self._tick: asyncio.TimerHandle | None = None
        self.after_request: Callable[[], None] = nothing

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end; valid once it is started."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._runner.addresses[0][1]}"

    async def start(self) -> None:
        """Listen; raise OSError where the port is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._look()

    async def stop(self) -> None:
        """Stop listening, break what hangs, and close the guests' listeners."""
        if self._tick:
            self._tick.cancel()
        if self._listeners:
            self._listeners.close()
        await self._runner.cleanup()

    def _look(self) -> None:
        if self._listeners is None:
            return
        self.world.advance()
        self._listeners.follow(self.world.guests)
        self._tick = asyncio.get_running_loop().call_later(TICK, self._look)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = await read(request)
        if is_view(asked):
            return web_response(inspect(self.world, asked))
        reply = self.world.handle(asked, request.remote or "")
        self.after_request()
        if reply.fate is Fate.HUNG:
            await asyncio.sleep(PATIENCE)  # cancelled when the client leaves
        elif reply.delay:
            await asyncio.sleep(reply.delay / self._speed)
        return await carried_out(request, reply)


async def read(request: web.BaseRequest) -> HttpRequest:
    """Return a request as the world reads it."""
    return HttpRequest(
        method=request.method,
        path=request.path,
        query=tuple(request.query.items()),
        headers=tuple(request.headers.items()),
        body=await request.read(),
    )


async def carried_out(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    """Give an answer its fate on the real connection."""
    if reply.response is not None and reply.fate is Fate.ANSWERED:
        return web_response(reply.response)
    partial = web.StreamResponse()
    if reply.response is not None and reply.fate is Fate.TRUNCATED:
        partial = await half(request, reply.response)
    if request.transport is not None:
        request.transport.abort()
    return partial


async def half(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Send half of a body under the length of the whole."""
    partial = web.StreamResponse(status=response.status, headers=dict(response.headers))
    partial.content_length = len(response.body)
    await partial.prepare(request)
    await partial.write(response.body[: len(response.body) // 2])
    return partial


def web_response(response: Response) -> web.Response:
    """Return an answer of the world as one of the web server, with no content type added."""
    found = web.Response(status=response.status, body=response.body or None)
    found.headers.update(dict(response.headers))
    if response.header("Content-Type") is None:
        found.headers.pop("Content-Type", None)
    return found


@asynccontextmanager
async def serve(  # noqa: PLR0913 - two of them are left out as a rule
    world: World,
    host: str,
    port: int,
    speed: float,
    guest_port: int | None = None,
    *,
    ssh_port: int | None = None,
) -> AsyncGenerator[SimulatorServer]:
    """Serve a world until the block is left; port 0 takes a free one (see `url`, `ssh_port`)."""
    async with AsyncExitStack() as stack:
        server = SimulatorServer(world, host, port, speed, guest_port)
        if ssh_port is not None:
            server.after_request = await followed(stack, world, ssh_port)
        stack.push_async_callback(server.stop)
        await server.start()
        yield server


async def followed(stack: AsyncExitStack, world: World, port: int) -> Callable[[], None]:
    """Serve SSH on Macs until a stack is left; return what must be called when Macs change."""
    from .listeners.sshd import shells  # noqa: PLC0415 - asyncssh takes a quarter of a second

    found = await stack.enter_async_context(shells(world, port))
    return found.follow


def world_of(settings: Settings) -> World:
    """Make the world of some settings, whose clock is the running loop's, times the speed."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    options = Options(
        epoch=datetime.now(tz=UTC),  # noqa: TID251 - a server on a socket shows real dates
        date_pace=settings.speed,
        guests=settings.guest_port is not None or settings.ssh_port is not None,
        rate=settings.rate,
        project=settings.project,
        macs=settings.mac_options,
    )

    def clock() -> float:
        return (loop.time() - start) * settings.speed

    world = World(clock, Random(settings.seed), options, load(settings.fault_rates))
    for text in settings.macs:
        world.console.stock(stock_of(text))
    return world


def unheard(_server: SimulatorServer) -> None:
    """Do nothing when a simulator has started."""


async def run_simulator(
    settings: Settings, started: Callable[[SimulatorServer], None] = unheard
) -> None:
    """Run a simulator until cancelled; `started` is told once it listens.

    Raises `BadFaultRates` where they are none, and OSError where the port is taken.
    """
    world = world_of(settings)
    async with serve(
        world,
        settings.host,
        settings.port,
        settings.speed,
        settings.guest_port,
        ssh_port=settings.ssh_port,
    ) as server:
        log.info(
            "simulator.listening",
            url=server.url,
            speed=settings.speed,
            seed=settings.seed,
            fault_rates=settings.fault_rates,
            guest_port=settings.guest_port,
            ssh_port=world.ssh_port or None,
            macs=len(world.cloud.macs),
        )
        started(server)
        await asyncio.Event().wait()
