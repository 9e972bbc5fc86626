"""A rig of a simulated machine behind a real server on loopback, which a method is opened to."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from aiohttp import web

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.ports.power import Power, PowerMethod, PowerOpening, Turn
from hostler.simulators.power.box import FAULTS, Box
from hostler.testing.conformance.power.rig import PowerRig
from hostler.testing.fakes.power import PowerFault

DEADLINE, SETTLES = timedelta(seconds=0.5), timedelta(seconds=0.2)
SECRET = "geheim-4711"
NO_WAY = "it is tried apart, with a port at which nothing listens"


@dataclass
class MethodRig:
    """One box, and a method that leads there by the settings that `table` makes of its port."""

    method: PowerMethod
    box: Box
    settings: object
    secrets: tuple[str, ...] = (SECRET,)
    turn: Turn = field(default_factory=Turn)
    opened: list[Power] = field(default_factory=list[Power])
    clock: SystemClock = field(default_factory=SystemClock)

    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        return {PowerFault.UNREACHABLE: NO_WAY}

    def opening(self) -> PowerOpening:
        return PowerOpening(
            settings=self.settings,
            turn=self.turn,
            folder=Path("/nonexistent"),
            environment={"SECRET": SECRET, "PATH": os.environ["PATH"]},
            clock=self.clock,
            shell=SshShell(),
            connect=AiohttpTransport,
        )

    def open(self) -> Power:
        power = self.method.open(self.opening())
        self.opened.append(power)
        return power

    def now(self) -> datetime:
        return self.clock.now()

    def has_power(self) -> bool:
        return self.box.has_power()

    def set_power(self, *, on: bool) -> None:
        self.box.on = on

    def befall(self, fault: PowerFault) -> None:
        assert fault.value in FAULTS
        self.box.script.append(fault.value)

    def arrived(self) -> tuple[str, ...]:
        return tuple(self.box.journal)

    def most_at_once(self) -> int:
        return self.box.most_at_once

    async def pass_by(self, time: timedelta) -> None:
        await self.clock.sleep(time)


def worlds(
    method: PowerMethod,
    server: Callable[[Box], web.Application],
    settings: Callable[[str], object],
) -> Callable[[], AbstractAsyncContextManager[PowerRig]]:
    """Return what makes a rig for each check: `settings` are those for the server's address."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[PowerRig]:
        box = Box(name="box-1", time=asyncio.get_running_loop().time)
        async with serving(server(box)) as url:
            rig = MethodRig(method, box, settings(url))
            try:
                yield rig
            finally:
                for power in rig.opened:
                    await power.close()

    return opened


@asynccontextmanager
async def serving(app: web.Application) -> AsyncGenerator[str]:
    """Serve an application on a free port of loopback; give its address."""
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ((_, port),) = runner.addresses
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
