"""A management controller that speaks Redfish: sessions, one system, its reset action."""

import json
import secrets
from dataclasses import dataclass, field

from aiohttp import web

from .box import DENIED, NONSENSE, Box
from .plugs import troubled

_RESETS = {
    "On": "on",
    "ForceOn": "on",
    "GracefulShutdown": "off_soft",
    "ForceOff": "off_hard",
    "PowerCycle": "cycle",
    "ForceRestart": "cycle",
}
_ROOT = "/redfish/v1"
_SESSIONS = f"{_ROOT}/SessionService/Sessions"
ALL = tuple(_RESETS)


@dataclass(slots=True, kw_only=True)
class Model:
    """How a controller of some vendor behaves.

    `resets` are what it offers, told in the system, or in a resource of its own (`by_info`), or
    nowhere (`silent`). `tagged`: a reset must name the version of its system. `sessions`: it has a
    session service, else it asks for basic authentication. `strict`: what stands already is an
    error.
    """

    resets: tuple[str, ...] = ALL
    by_info: bool = False
    silent: bool = False
    tagged: bool = False
    sessions: bool = True
    strict: bool = False
    systems: tuple[str, ...] = ("1",)


@dataclass(slots=True, kw_only=True)
class Bmc:
    """One controller over one box. `opened` counts the sessions that were opened."""

    box: Box
    password: str = ""
    model: Model = field(default_factory=Model)
    tokens: set[str] = field(default_factory=set[str])
    opened: int = 0

    def app(self) -> web.Application:
        """Return what serves it."""
        app = web.Application()
        system = f"{_ROOT}/Systems/{{system}}"
        app.router.add_get(f"{_ROOT}/", self._root)
        app.router.add_get(f"{_ROOT}/Systems", self._listed)
        app.router.add_get(system, self._system)
        app.router.add_get(f"{system}/ResetActionInfo", self._info)
        app.router.add_post(f"{system}/Actions/ComputerSystem.Reset", self._reset)
        if self.model.sessions:
            app.router.add_post(_SESSIONS, self._log_in)
            app.router.add_delete(f"{_SESSIONS}/{{session}}", self._log_out)
        return app

    async def _root(self, _: web.Request) -> web.Response:
        return web.json_response({"Systems": {"@odata.id": f"{_ROOT}/Systems"}})

    async def _log_in(self, request: web.Request) -> web.Response:
        posted = await request.json()
        self.opened += 1
        if self.box.script and self.box.script[0] == DENIED:
            self.box.script.popleft()
            self.box.journal.append("login")
            return _error(401, "the login is refused")
        if self.password and posted != {"UserName": "admin", "Password": self.password}:
            return _error(401, "the login is refused")
        token = secrets.token_hex(8)
        self.tokens.add(token)
        headers = {"X-Auth-Token": token, "Location": f"{_SESSIONS}/{token}"}
        return web.json_response({}, status=201, headers=headers)

    async def _log_out(self, request: web.Request) -> web.Response:
        if not self._knows(request):
            return _error(401, "no session")
        self.tokens.discard(request.match_info["session"])
        return web.Response(status=204)

    async def _listed(self, request: web.Request) -> web.Response:
        if not self._knows(request):
            return _error(401, "no session")
        members = [{"@odata.id": f"{_ROOT}/Systems/{name}"} for name in self.model.systems]
        return web.json_response({"Members": members, "Members@odata.count": len(members)})

    async def _system(self, request: web.Request) -> web.StreamResponse:
        if not self._knows(request):
            return _error(401, "no session")
        async with self.box.call("query", before=True) as fault:
            if fault == DENIED:
                return _error(403, "not allowed")
            if (answer := troubled(fault)) is not None:
                return answer
            return web.json_response(self._body(request), headers={"ETag": self._tag()})

    def _body(self, request: web.Request) -> dict[str, object]:
        path, model = f"{_ROOT}/Systems/{request.match_info['system']}", self.model
        reset: dict[str, object] = {"target": f"{path}/Actions/ComputerSystem.Reset"}
        if model.by_info:
            reset["@Redfish.ActionInfo"] = f"{path}/ResetActionInfo"
        elif not model.silent:
            reset["ResetType@Redfish.AllowableValues"] = list(model.resets)
        return {
            "@odata.id": path,
            "@odata.etag": self._tag(),
            "PowerState": "On" if self.box.has_power() else "Off",
            "Actions": {"#ComputerSystem.Reset": reset},
        }

    async def _info(self, request: web.Request) -> web.Response:
        if not self._knows(request):
            return _error(401, "no session")
        parameter = {"Name": "ResetType", "AllowableValues": list(self.model.resets)}
        return web.json_response({"Parameters": [parameter]})

    async def _reset(self, request: web.Request) -> web.StreamResponse:
        if not self._knows(request):
            return _error(401, "no session")
        try:
            name = str((await request.json())["ResetType"])
        except (json.JSONDecodeError, KeyError, TypeError):
            return _error(400, "malformed")
        if (wrong := self._wrong(request, name)) is not None:
            return wrong
        action = _RESETS[name]
        async with self.box.call(action) as fault:
            if (answer := troubled(fault)) is not None:
                if fault == NONSENSE:
                    answer.set_status(500)
                return answer
            self.box.obey(action, fault)
            return web.Response(status=204)

    def _wrong(self, request: web.Request, name: str) -> web.Response | None:
        """Return the answer to a reset that this model does not do as it is asked for."""
        model = self.model
        if name not in model.resets:
            return _error(400, f"{name} is none of {', '.join(model.resets)}")
        if model.tagged and request.headers.get("If-Match") != self._tag():
            return _error(412, "name the version")
        if model.strict and self.box.has_power() is (_RESETS[name] == "on"):
            return _error(409, "it is so already")
        return None

    def _tag(self) -> str:
        return f'"{int(self.box.has_power())}-{len(self.box.journal) // 1000}"'

    def _knows(self, request: web.Request) -> bool:
        if not self.password:
            return True
        if request.headers.get("X-Auth-Token") in self.tokens:
            return True
        return not self.model.sessions and "Authorization" in request.headers


def _error(status: int, text: str) -> web.Response:
    return web.json_response({"error": {"code": "Base.1.0.Error", "message": text}}, status=status)
