"""The real adapters, put together."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest

from hostler.app.compose import Composed
from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account
from hostler.domain.ids import AccountName
from hostler.domain.model.phases import Phase
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.scenes.builders import FLEET, MIN

FILE = """
[provider.scaleway]
project = "22222222-2222-2222-2222-222222222222"

[fleet.web]
size = 1
types = ["DEV1-S"]

[metrics]
listen = "127.0.0.1:{port}"
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_a_process_is_not_ready_before_its_engine_is_composed(tmp_path: Path) -> None:
    port = _free_port()
    file = tmp_path / "web.toml"
    file.write_text(FILE.format(port=port))

    async def asked() -> tuple[int, str]:
        composed = Composed()
        async with (
            composed.metrics(composed.load(file)),
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            return answer.status, await answer.text()

    answer = asyncio.run(asked())
    assert answer == (HTTPStatus.SERVICE_UNAVAILABLE, "not yet: no cycle of web\n")


@pytest.fixture
def _collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


@pytest.mark.looptime
@pytest.mark.usefixtures("_collector")
async def test_of_engines_that_ended_one_is_remembered_at_most(tmp_path: Path) -> None:
    """Whoever reads a file again has another engine each time, and all its records with it."""
    file = tmp_path / "web.toml"
    file.write_text(FILE.format(port=1))
    composed, rig, loops = Composed(), FakeScene(FLEET), list[weakref.ref[object]]()
    config = composed.load(file)
    account = Account(name=AccountName("main"), provider=rig.provider, fleets=(FLEET,))
    for _ in range(4):
        engine = composed.engine(config, rig.ports(), (account,))
        assert isinstance(engine, Engine)
        loops.append(weakref.ref(engine.loops[0]))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(engine.run())
            await rig.until([Phase.READY] * FLEET.size, 2 * MIN)
            running.cancel()
        del engine, running, group
    await asyncio.sleep(1)
    composed.engine(config, rig.ports(), (account,))
    assert sum(loop() is not None for loop in loops) <= 1
