"""The method `redfish` against sushy-tools' emulator, with the client sushy as an oracle."""

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from power_servers import listens, running

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.domain.model.calls import Done
from hostler.ports.power import Power, PowerAction, PowerOpening, PowerState, Turn
from hostler.providers.power.methods.redfish import Redfish
from hostler.simulators.ports import free_port

sushy: Any = importlib.import_module("sushy")
"""Another client of Redfish; it has no types."""
importlib.import_module("sushy.auth")

EMULATOR = Path(sys.executable).parent / "sushy-emulator"
ON, SOFT, HARD, CYCLE = PowerAction
_STATES = {sushy.PowerState.ON: PowerState.ON, sushy.PowerState.OFF: PowerState.OFF}
_SETTLES = timedelta(seconds=15)
"""The emulator lets effects come 1 to 11 seconds after its answer, as controllers do."""


@pytest.fixture
def url(tmp_path: Path) -> Generator[str]:
    port = free_port()
    words = (str(EMULATOR), "--fake", "-i", "127.0.0.1", "-p", str(port))
    with running(
        words, tmp_path, {**os.environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    ) as process:
        listens(port, process)
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Power]:
    power = Redfish().open(
        PowerOpening(
            settings=msgspec.convert({"url": url, "deadline": "PT5S"}, Redfish.settings),
            turn=Turn(),
            folder=Path("/nonexistent"),
            environment={},
            clock=SystemClock(),
            shell=SshShell(),
            connect=AiohttpTransport,
        )
    )
    try:
        yield power
    finally:
        await power.close()


def oracle(url: str) -> PowerState | None:
    """Return how the only system stands, as another client reads it."""
    root: Any = sushy.Sushy(url, auth=sushy.auth.BasicAuth("anybody", "anything"), verify=False)
    (system,) = root.get_system_collection().get_members()
    return _STATES.get(system.power_state)


async def settled(power: Power, url: str, wanted: PowerState) -> None:
    """Wait for an effect; both clients see it, and they agree whenever it is there."""
    clock = SystemClock()
    end = clock.boot() + _SETTLES.total_seconds()
    while clock.boot() < end:
        seen = await power.query()
        if seen.state is wanted and await asyncio.to_thread(oracle, url) is wanted:
            return
        await clock.sleep(timedelta(milliseconds=200))
    raise AssertionError(f"it is not {wanted}: {await power.query()}")


@pytest.mark.timeout(120)
async def test_a_system_is_switched_every_way_and_another_client_agrees(url: str) -> None:
    async with opened(url) as power:
        assert (await power.query()).state is await asyncio.to_thread(oracle, url)
        for action, wanted in (
            (ON, PowerState.ON),
            (SOFT, PowerState.OFF),
            (CYCLE, PowerState.ON),
            (HARD, PowerState.OFF),
        ):
            assert await power.act(action) == Done()
            await settled(power, url, wanted)


@pytest.mark.timeout(60)
async def test_what_stands_already_is_done(url: str) -> None:
    async with opened(url) as power:
        first = (await power.query()).state
        assert await power.act(ON if first is PowerState.ON else HARD) == Done()
        await settled(power, url, first)
