"""Server: a rack on loopback: its endpoints, its systems, its control endpoint and its page."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

from msgspec import Struct, field

from hostler.simulators.guests import Listeners
from hostler.simulators.ports import free_port

from . import fleet_file
from .control import control
from .fleet_file import Systems, Terms
from .machine import Machine, Spans
from .place import Keys, Place, fresh_keys, site
from .protocols import PROTOCOLS, Tables, spoken
from .rack import Rack
from .wake import Cards, listening

_SYSTEMS, _OUTLETS = IPv4Address("127.64.0.1"), IPv4Address("127.65.0.1")
_WATTS = ((1.5, 38.0), (4.0, 95.0), (0.8, 12.0))
"""What machines draw while they are off, and on: a desktop, a server, a small board."""
_TICK = 0.05
MOST = 1000


class Settings(Struct, frozen=True, kw_only=True):
    """How a rack is made; `boot` and `shutdown` in seconds, as its machines take them.

    All endpoints listen at `port`, the page at 127.0.0.1, every controller, plug and login at an
    address of its own; while a system is up, its `guest_port` is open. 0 takes free ports.
    """

    machines: int = 12
    port: int = 8200
    guest_port: int = 2222
    boot: float = 20.0
    shutdown: float = 3.0
    protocols: tuple[str, ...] = field(default_factory=spoken)
    terms: Terms = Terms()

    def __post_init__(self) -> None:
        if not 1 <= self.machines <= MOST:
            raise ValueError(f"machines: expected 1 to {MOST}, not {self.machines}")
        if unknown := [name for name in self.protocols if name not in PROTOCOLS]:
            known = ", ".join(PROTOCOLS)
            raise ValueError(f"protocols: expected some of {known}, not {', '.join(unknown)}")


class RackServer(Struct, kw_only=True):
    """A rack that is being served."""

    rack: Rack
    keys: Keys
    settings: Settings
    port: int
    guest_port: int
    tables: dict[str, Tables] = field(default_factory=dict[str, Tables])

    @property
    def url(self) -> str:
        """Where its page is."""
        return f"http://127.0.0.1:{self.port}"

    def fleet_file(self) -> str:
        """Return a fleet file for it."""
        boxes = {name: (self.rack.machines[name], table) for name, table in self.tables.items()}
        boot, shutdown = self.settings.boot, self.settings.shutdown
        systems = Systems(port=self.guest_port, boot=boot, shutdown=shutdown)
        return fleet_file.text(boxes, systems, self.settings.terms)


@asynccontextmanager
async def serve(settings: Settings) -> AsyncGenerator[RackServer]:
    """Serve a rack until the block is left; raises OSError where a port is taken."""
    loop = asyncio.get_running_loop()
    spans = Spans(time=loop.time, boot=settings.boot, shutdown=settings.shutdown)
    port, guest_port = settings.port or free_port(), settings.guest_port or free_port()
    keys = fresh_keys()
    server = RackServer(
        rack=Rack(loop.time), keys=keys, settings=settings, port=port, guest_port=guest_port
    )
    try:
        async with AsyncExitStack() as stack:
            await _open(server, stack, spans)
            yield server
    except BaseExceptionGroup as group:  # what went wrong, as it was
        raise _alone(group) from None


async def _open(server: RackServer, stack: AsyncExitStack, spans: Spans) -> None:
    """Let everything listen until the stack is left."""
    settings, port = server.settings, server.port
    await stack.enter_async_context(site(control(server.rack), "127.0.0.1", port))
    cards = Cards(spans.time)
    for number in range(1, settings.machines + 1):
        machine, place = _machine(settings, number, spans), _place(number, server, cards)
        entry = PROTOCOLS[machine.method](machine, place)
        server.tables[machine.name] = await stack.enter_async_context(entry)
        server.rack.machines[machine.name] = machine
    await stack.enter_async_context(listening(cards, port))
    listeners = Listeners(server.guest_port)
    stack.callback(listeners.close)
    group = await stack.enter_async_context(asyncio.TaskGroup())
    follower = group.create_task(_follow(listeners, server.rack))
    stack.callback(follower.cancel)


def _alone(error: BaseException) -> BaseException:
    """Return the only error of a group, however deep it stands; what is no such group as it is."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _alone(inner[0]) if len(inner) == 1 else error


def write_fleet(server: RackServer, path: Path) -> None:
    """Write the fleet file and its secrets; raise OSError, or `NotOurs` for somebody's file."""
    fleet_file.write(path, server.fleet_file(), server.keys)


def _machine(settings: Settings, number: int, spans: Spans) -> Machine:
    protocols = settings.protocols
    return Machine(
        f"node-{number:0{len(str(settings.machines))}}",
        protocols[(number - 1) % len(protocols)],
        str(_SYSTEMS + number - 1),
        spans,
        _WATTS[number % len(_WATTS)],
    )


def _place(number: int, server: RackServer, cards: Cards) -> Place:
    outlet = str(_OUTLETS + number - 1)
    return Place(number=number, outlet=outlet, port=server.port, keys=server.keys, cards=cards)


async def _follow(listeners: Listeners, rack: Rack) -> None:
    """Let a listener stand for as long as a system is up."""
    while True:
        listeners.follow(rack.up())
        await asyncio.sleep(_TICK)
