"""Place: where the endpoints of one machine listen, and how each is served there."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import asyncssh
from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct

from hostler.simulators.power.box import Closes

from .wake import Cards

SECRET_FILE, KEY_FILE = "rack.secret", "rack.key"
USER = "poweroff"
_LONGEST = 20
"""So many characters a password of IPMI has at most."""


class Keys(Struct, frozen=True, kw_only=True):
    """What lets a client in: a secret of all devices, and a key of all systems."""

    secret: str
    user: asyncssh.SSHKey
    host: asyncssh.SSHKey


def fresh_keys() -> Keys:
    """Return keys that nobody else has."""
    user, host = (
        asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
        for _ in range(2)
    )
    return Keys(secret=secrets.token_hex(_LONGEST // 2), user=user, host=host)


class Place(Struct, frozen=True, kw_only=True):
    """Where one machine is: `outlet` is the address of its controller or plug.

    All endpoints have the same port, each at an address of its own.
    """

    number: int
    outlet: str
    port: int
    keys: Keys
    cards: Cards


@asynccontextmanager
async def serving(app: web.Application, place: Place) -> AsyncGenerator[str]:
    """Serve a device at its outlet; give its URL. Raises OSError where the port is taken."""
    app.middlewares.append(_closing)
    async with site(app, place.outlet, place.port):
        yield f"http://{place.outlet}:{place.port}"


@asynccontextmanager
async def site(app: web.Application, host: str, port: int) -> AsyncGenerator[None]:
    """Serve an application; raises OSError where the port is taken."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield
    finally:
        await runner.cleanup()


@web.middleware
async def _closing(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Break the connection of a call that is to have no answer."""
    try:
        return await handler(request)
    except Closes:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
