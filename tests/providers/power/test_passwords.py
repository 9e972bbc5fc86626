"""A password is in no text that a method returns, however a device writes what it was asked."""

import asyncio
import html
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from aiohttp import web
from yarl import URL

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.clock import SystemClock
from hostler.ports.power import PowerAction, PowerOpening, PowerState, Turn
from hostler.ports.secret import Secret
from hostler.providers.power.passwords import hidden_in
from hostler.providers.power.registry import METHODS

ODD = 'p@ss w/ü%r"d<\\\U0001f511'
WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "url": quote,
    "url whole": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "lower case": lambda text: quote(text).lower(),
    "json": lambda text: json.dumps(text)[1:-1],
    "json utf-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "json slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "html": html.escape,
    "numbers": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "query": lambda text: URL("http://a").with_query(a=text).raw_query_string.partition("=")[2],
    "repr": lambda text: repr(text)[1:-1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("secret", [ODD, "geheim-4711", "a.b*c", " + "])
def test_a_password_is_hidden_however_it_is_written(secret: str, way: str) -> None:
    written = WAYS[way](secret)
    assert hidden_in(f"<{written}>", Secret(secret)) == "<***>"


def test_without_a_password_nothing_is_hidden() -> None:
    assert hidden_in("abc", Secret("")) == "abc"


@asynccontextmanager
async def echo(status: int) -> AsyncGenerator[str]:
    """Serve whatever is asked with all that was asked, as it came."""

    async def answer(request: web.Request) -> web.Response:
        heard = {"asked": request.raw_path, "header": dict(request.headers)}
        return web.json_response(heard, status=status)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


METHOD_TABLES: dict[str, dict[str, object]] = {
    "tasmota": {"user": "admin"},
    "shelly": {"user": "admin", "generation": 1},
    "proxmox": {"user": "a@pve!t", "node": "pve", "guest": 100},
    "webhook": {"user": "admin", "on": "POST /on", "query": "GET /"},
}


@pytest.mark.parametrize("name", METHOD_TABLES)
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_a_device_that_sends_back_what_it_was_asked_gives_no_password_away(
    name: str, status: int
) -> None:
    secret = 'p@ss w/%r"d'
    method = METHODS[name]()
    async with echo(status) as url:
        known = {"url": url, "password_env": "SECRET"} | METHOD_TABLES[name]
        power = method.open(
            PowerOpening(
                settings=msgspec.convert(known, method.settings),
                turn=Turn(),
                folder=Path("/nonexistent"),
                environment={"SECRET": secret},
                clock=SystemClock(),
                shell=SshShell(),
                connect=AiohttpTransport,
            )
        )
        try:
            async with asyncio.timeout(timedelta(seconds=20).total_seconds()):
                reading, outcome = await power.query(), await power.act(PowerAction.ON)
        finally:
            await power.close()
    assert reading.state is PowerState.UNKNOWN
    displayed = f"{reading.text} {getattr(outcome, 'text', '')}"
    basic = b64encode(f"admin:{secret}".encode()).decode()
    for written in (basic, *(way(secret) for way in WAYS.values())):
        assert written not in displayed
