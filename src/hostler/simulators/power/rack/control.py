"""Control: what a person or a test sees of a rack, and does to it, under `/_sim/`, and its page."""

import msgspec
from aiohttp import web

from .faults import Order
from .page import page
from .rack import Rack

Answer = web.Response


def control(rack: Rack) -> web.Application:
    """Return what serves it: `/`, `/_sim/state`, `/_sim/journal`, and `/_sim/faults`."""

    async def lights(_: web.Request) -> Answer:
        return web.Response(text=page(rack), content_type="text/html")

    async def state(_: web.Request) -> Answer:
        return web.json_response(rack.state())

    async def journal(_: web.Request) -> Answer:
        return web.json_response({"journal": rack.journal()})

    async def faults(_: web.Request) -> Answer:
        return web.json_response(rack.faults())

    async def arm(request: web.Request) -> Answer:
        try:
            _done(rack, await request.read())
        except ValueError as error:
            body = {"type": "invalid_arguments", "message": str(error)}
            return web.json_response(body, status=400)
        return web.json_response(rack.faults())

    app = web.Application(client_max_size=1 << 16)
    app.router.add_get("/", lights)
    app.router.add_get("/_sim/state", state)
    app.router.add_get("/_sim/journal", journal)
    app.router.add_get("/_sim/faults", faults)
    app.router.add_post("/_sim/faults", arm)
    return app


def _done(rack: Rack, sent: bytes) -> None:
    """Arm the fault that was sent, or clear all; raise ValueError for what is neither."""
    keys = Order.__struct_fields__
    try:
        body = msgspec.json.decode(sent, type=dict[str, object])
        unknown = sorted(set(body) - {*keys, "clear"})
        if unknown or not body:
            raise ValueError(f"expected clear, or {', '.join(keys)}, not {', '.join(unknown)}")
        if body.pop("clear", False):
            rack.clear()
        if body:
            rack.arm(msgspec.convert(body, Order))
    except msgspec.MsgspecError as error:
        raise ValueError(f"of {', '.join(keys)}: {error}") from None
