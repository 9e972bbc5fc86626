"""Plugs and relays over HTTP: Shelly of both generations, Tasmota, and a device of one's own."""

import base64
import hashlib
from collections.abc import Callable

from aiohttp import web
from msgspec import Struct

from .box import BUSY, DENIED, NONSENSE, Box

REALM, NONCE = "shellyplus1-a8032ab636ec", "60dc2c69"
_HTML = "<html><body><h1>It works!</h1></body></html>"
_BUSY_FOR = "2"


def troubled(fault: str) -> web.Response | None:
    """Return the answer to a call that something befalls, as these devices give it."""
    if fault == NONSENSE:
        return web.Response(text=_HTML, content_type="text/html")
    if fault == BUSY:
        headers = {"Retry-After": _BUSY_FOR}
        return web.Response(status=503, text="Service Unavailable", headers=headers)
    return None


def shelly(box: Box, password: str = "", *, generation: int = 2) -> web.Application:
    """Return a Shelly with one outlet; with a password it asks for a login, as `admin`."""
    first = generation == 1
    outlet = _Outlet(box, password, _basic if first else _digest)

    async def identify(_: web.Request) -> web.Response:
        if first:
            return web.json_response({"type": "SHPLG-S", "auth": bool(password)})
        return web.json_response({"id": REALM, "gen": generation, "auth_en": bool(password)})

    async def relay(request: web.Request) -> web.StreamResponse:
        action, timer = request.query.get("turn"), request.query.get("timer")
        what = _named(action == "on", timer) if action else "query"
        return await outlet.served(request, what, lambda: {"ison": box.has_power()})

    async def meter(_: web.Request) -> web.Response:
        return web.json_response({"power": box.draw(), "is_valid": True})

    async def switch(request: web.Request) -> web.StreamResponse:
        was, timer = box.has_power(), request.query.get("toggle_after")
        what = _named(request.query.get("on") == "true", timer)
        return await outlet.served(request, what, lambda: {"was_on": was})

    async def status(request: web.Request) -> web.StreamResponse:
        def body() -> dict[str, object]:
            return {"id": 0, "output": box.has_power(), "apower": box.draw()}

        return await outlet.served(request, "query", body)

    app = web.Application()
    app.router.add_get("/shelly", identify)
    if first:
        app.router.add_get("/relay/0", relay)
        app.router.add_get("/meter/0", meter)
    else:
        app.router.add_get("/rpc/Switch.Set", switch)
        app.router.add_get("/rpc/Switch.GetStatus", status)
    return app


def tasmota(box: Box, password: str = "") -> web.Application:
    """Return a plug with Tasmota; with a password it asks for a login, as `admin`."""

    async def command(request: web.Request) -> web.StreamResponse:
        words = request.query.get("cmnd", "").split()
        name, value = words[0].upper() if words else "", words[1].upper() if words[1:] else ""
        if name == "STATUS":
            return web.json_response({"StatusSNS": {"ENERGY": {"Power": box.draw()}}})
        if name not in {"POWER", "POWER1"}:
            return web.json_response({"Command": "Unknown"})
        what = {"ON": "on", "OFF": "off_hard"}.get(value, "query")

        def known(_: web.Request) -> bool:
            login = request.query.get("user"), request.query.get("password")
            return login == ("admin", password)

        async with box.call(what) as fault:
            if fault == DENIED or (password and not known(request)):
                text = "Need user=<username>&password=<password>"
                return web.json_response({"WARNING": text}, status=401)
            if (answer := troubled(fault)) is not None:
                return answer
            if what != "query":
                box.obey(what, fault)
            is_on = what == "on" if what != "query" else box.has_power()
            return web.json_response({"POWER": "ON" if is_on else "OFF"})

    app = web.Application()
    app.router.add_get("/cm", command)
    return app


def own(box: Box, token: str = "") -> web.Application:
    """Return a device with an interface of its own: POST /power/ACTION, GET /power."""
    outlet = _Outlet(box, token, _bearer)

    async def act(request: web.Request) -> web.StreamResponse:
        return await outlet.served(request, request.match_info["action"], dict)

    async def query(request: web.Request) -> web.StreamResponse:
        def body() -> dict[str, object]:
            return {"power": "on" if box.has_power() else "off"}

        return await outlet.served(request, "query", body)

    app = web.Application()
    app.router.add_post("/power/{action}", act)
    app.router.add_get("/power", query)
    return app


def _named(on: bool, timer: str | None) -> str:
    if on:
        return "on"
    return "cycle" if timer else "off_hard"


class _Outlet(Struct, frozen=True):
    """One box behind a login."""

    box: Box
    password: str
    lets_in: Callable[[web.Request, str], bool]

    async def served(
        self, request: web.Request, what: str, answer: Callable[[], dict[str, object]]
    ) -> web.StreamResponse:
        """Answer one call. Whoever only fetches a challenge has not called yet."""
        digests = self.lets_in is _digest
        if self.password and digests and "Authorization" not in request.headers:
            return _challenged()
        async with self.box.call(what) as fault:
            known = not self.password or self.lets_in(request, self.password)
            if fault == DENIED or not known:
                return web.Response(status=401, text="Unauthorized")
            if (trouble := troubled(fault)) is not None:
                return trouble
            if what != "query":
                self.box.obey(what, fault)
            return web.json_response(answer())


def _challenged() -> web.Response:
    text = f'Digest qop="auth", realm="{REALM}", nonce="{NONCE}", algorithm=SHA-256'
    return web.Response(status=401, headers={"WWW-Authenticate": text})


def _basic(request: web.Request, password: str) -> bool:
    wanted = base64.b64encode(f"admin:{password}".encode()).decode()
    return request.headers.get("Authorization") == f"Basic {wanted}"


def _bearer(request: web.Request, token: str) -> bool:
    return request.headers.get("X-Token") == token


def _digest(request: web.Request, password: str) -> bool:
    text = request.headers.get("Authorization", "").removeprefix("Digest ")
    pairs = (part.strip().partition("=") for part in text.split(", "))
    fields = {name: value.strip('"') for name, _, value in pairs}
    who = _hashed(f"admin:{REALM}:{password}")
    what = _hashed(f"{request.method}:{request.path_qs}")
    middle = f"{NONCE}:{fields.get('nc')}:{fields.get('cnonce')}:auth"
    return fields.get("response") == _hashed(f"{who}:{middle}:{what}")


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
