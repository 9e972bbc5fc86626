"""Owned machines: a pass over 500 controllers of which 5 hang, 1,000 boxes in memory, a packet.

The controllers are simulated, over real sockets on loopback in the same process: their own work is
in every figure.
"""

import asyncio
import os
import socket
import time
from contextlib import AsyncExitStack
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path

from aiohttp import web
from figures import Figure, resident, show, silence
from msgspec.structs import replace

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.app.null_metrics import NullMetrics
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone, machine_id
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition, Scope
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.ports.kind import Opening
from hostler.ports.power import PowerAction, PowerOpening, Turn
from hostler.ports.provider import Provider
from hostler.providers.power.kind import PowerKind
from hostler.providers.power.methods.redfish import RedfishTable
from hostler.providers.power.methods.wake_on_lan import WakeOnLan, WakeOnLanTable
from hostler.providers.power.provider import Box, PowerBoxes, Rack
from hostler.providers.power.settings import BoxTable, PowerTable, PowerTemplate
from hostler.providers.power.ways import Ways
from hostler.simulators.power import box as simulated
from hostler.simulators.power.redfish import Bmc
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.power import EVERYTHING, FakeOutlet, FakePower
from hostler.testing.fakes.prober import FakeProber

MANY, HANGING, BOXES = 500, 5, 1000
FIRST = IPv4Address("127.66.0.1")
RACK, FLEET = AccountName("rack"), FleetName("nodes")


def opened(boxes: tuple[BoxTable, ...]) -> Provider:
    """Return a rack of these boxes."""
    return PowerKind().open(
        Opening(
            name=RACK,
            settings=PowerTable(boxes=boxes, cleaning="trusted"),
            templates={FLEET: PowerTemplate()},
            installation=InstallationId("home1234"),
            folder=Path("/"),
            environment={"PATH": os.environ["PATH"]},
            clock=SystemClock(),
            shell=SshShell(),
            connect=AiohttpTransport,
        )
    )


def bmc(number: int, port: int) -> BoxTable:
    """Return a box with a controller at an address of its own."""
    url = f"http://{FIRST + number}:{port}"
    return BoxTable(name=f"node-{number}", redfish=RedfishTable(url=url))


async def passes() -> list[Figure]:
    """Observe 500 controllers, all well and with five that hang."""
    async with AsyncExitStack() as stack:
        boxes, port = list[simulated.Box](), free_port()
        for number in range(MANY):
            box = simulated.Box(name=f"node-{number}", time=asyncio.get_running_loop().time)
            runner = web.AppRunner(Bmc(box=box, password="").app(), shutdown_timeout=0.1)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            await web.TCPSite(runner, str(FIRST + number), port).start()
            boxes.append(box)
        rack = opened(tuple(bmc(number, port) for number in range(MANY)))
        stack.push_async_callback(rack.close)
        await observe(rack)
        well, _ = await observe(rack)
        for box in boxes[:HANGING]:
            box.script.extend([simulated.HUNG] * 10)
        hung, known = await observe(rack)
    return [
        Figure(f"power: a pass over {MANY} BMCs of which {HANGING} hang", 10, hung, "s"),
        Figure(f"power: a pass over {MANY} BMCs that are well", None, well, "s"),
        Figure(
            "power: BMCs that do not hang, and were not told", 0, MANY - HANGING - known, "BMCs"
        ),
    ]


async def observe(rack: Provider) -> tuple[float, int]:
    """Return how long an observation of all boxes took, and of how many it told."""
    begun = time.monotonic()
    found = await rack.observe((Scope(Zone("rack"), "host"),))
    known = sum(one.condition is not Condition.UNKNOWN for one in found.resources)
    return time.monotonic() - begun, known


async def packet() -> tuple[float, float]:
    """Return the seconds from a request to the packet, and the memory with 1,000 boxes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.setblocking(False)
        port = heard.getsockname()[1]
        card = WakeOnLanTable(mac="52:54:00:12:34:56", broadcast="127.0.0.1", port=port)
        return await _woken(heard, card)


def woken_by(card: WakeOnLanTable) -> Provider:
    """Return a rack whose boxes are switched on by real packets, and asked in memory."""
    clock, able = SystemClock(), replace(EVERYTHING, actions=frozenset[PowerAction]())

    def ways() -> Ways:
        opening = PowerOpening(
            settings=card,
            turn=Turn(),
            folder=Path("/"),
            environment={},
            clock=clock,
            shell=SshShell(),
            connect=AiohttpTransport,
        )
        outlet = FakeOutlet(clock, answer=timedelta(milliseconds=5))
        methods = {"card": WakeOnLan().open(opening), "asked": FakePower(outlet, able)}
        return Ways(methods, dict.fromkeys((*PowerAction, None), tuple(methods)))

    boxes = (
        Box(name=f"node-{n}", zone=Zone("rack"), type="box", ways=ways()) for n in range(BOXES)
    )
    rack = Rack(
        boxes=tuple(boxes),
        fleets={},
        cleaning=Cleaning.TRUSTED,
        limits=PowerLimits(),
        settles=timedelta(seconds=15),
        deadline=timedelta(seconds=20),
        soft_wait=timedelta(minutes=5),
        patience=timedelta(seconds=8),
    )
    return PowerBoxes(rack, clock)


async def _woken(heard: socket.socket, card: WakeOnLanTable) -> tuple[float, float]:
    rack, clock = woken_by(card), SystemClock()
    fleet = Fleet(
        name=FLEET, account=RACK, size=0, maximum=BOXES, offers=(Offer("box", Zone("rack")),)
    )
    store, loop = MemoryStore(InstallationId("home1234")), asyncio.get_running_loop()
    numbers = iter(range(1, 10_000))
    ports = Ports(
        store=store,
        clock=clock,
        prober=FakeProber(),
        metrics=NullMetrics(),
        fresh=lambda: machine_id(next(numbers)),
    )
    engine = Engine(ports, (Account(name=RACK, provider=rack, fleets=(fleet,)),), "a", Settings())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(engine.run())
        await clock.sleep(timedelta(seconds=8))
        size = resident()
        now = clock.now()
        begun = time.monotonic()
        await store.request(
            Request(number=0, kind=RequestKind.SCALE, fleet=FLEET, at=now, actor="b", size=1)
        )
        engine.hear()
        async with asyncio.timeout(20):
            await loop.sock_recv(heard, 200)
        took = time.monotonic() - begun
        running.cancel()
    await rack.close()
    return took, size


def free_port() -> int:
    """Return a port of loopback that nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def main() -> None:
    """Measure, and print."""
    silence()
    figures = asyncio.run(passes())
    took, size = asyncio.run(packet())
    show(
        (
            *figures,
            Figure(f"power: memory with {BOXES} boxes", 120, size, "MB"),
            Figure("power: from a request to the packet", 100, took * 1000, "ms"),
        )
    )


if __name__ == "__main__":
    main()
