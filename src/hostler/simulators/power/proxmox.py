"""A node of Proxmox VE with one guest, which a token may switch."""

from aiohttp import web

from .box import DENIED, Box
from .plugs import troubled

TOKEN_ID = "hostler@pve!power"  # noqa: S105 - an id, and no secret
_VERBS = {"start": "on", "shutdown": "off_soft", "stop": "off_hard", "reset": "cycle"}
_GUEST = "/api2/json/nodes/pve/qemu/100/status"


def proxmox(box: Box, secret: str, *, may_switch: bool = True) -> web.Application:
    """Return the node; its one guest has the number 100. A token may be one that only reads."""

    def knows(request: web.Request) -> bool:
        return request.headers.get("Authorization") == f"PVEAPIToken={TOKEN_ID}={secret}"

    async def current(request: web.Request) -> web.StreamResponse:
        async with box.call("query", before=True) as fault:
            if fault == DENIED or not knows(request):
                return web.Response(status=401, reason="permission denied - invalid token")
            if (answer := troubled(fault)) is not None:
                return answer
            word = "running" if box.has_power() else "stopped"
            return web.json_response({"data": {"status": word, "qmpstatus": word, "vmid": 100}})

    async def act(request: web.Request) -> web.StreamResponse:
        verb = request.match_info["verb"]
        if verb not in _VERBS:
            return web.json_response({"data": None}, status=501)
        async with box.call(_VERBS[verb]) as fault:
            if fault == DENIED or not knows(request):
                return web.Response(status=401, reason="permission denied - invalid token")
            if not may_switch:
                message = "Permission check failed (/vms/100, VM.PowerMgmt)\n"
                return web.json_response({"data": None, "message": message}, status=403)
            if (answer := troubled(fault)) is not None:
                return answer
            box.obey(_VERBS[verb], fault)
            return web.json_response({"data": f"UPID:pve:0000A1B2:00C3D4E5:6718:qm{verb}:100:x:"})

    app = web.Application()
    app.router.add_get(f"{_GUEST}/current", current)
    app.router.add_post(f"{_GUEST}/{{verb}}", act)
    return app
