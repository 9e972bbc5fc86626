"""The real adapters, put together."""

import asyncio
import socket
from http import HTTPStatus
from pathlib import Path

import aiohttp

from hostler.app.compose import Composed

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
