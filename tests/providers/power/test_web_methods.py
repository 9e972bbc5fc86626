"""Methods over HTTP keep the promises of the power port, against real servers on loopback."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec
import pytest
from aiohttp import web
from power_rig import DEADLINE, NO_WAY, SECRET, SETTLES, MethodRig, serving, worlds

from hostler.domain.model.calls import Refusal, Refused, Unknown
from hostler.ports.power import PowerAction, PowerMethod, PowerState
from hostler.providers.power.methods.proxmox import Proxmox, ProxmoxTable
from hostler.providers.power.methods.shelly import Shelly, ShellyTable
from hostler.providers.power.methods.tasmota import Tasmota, TasmotaTable
from hostler.providers.power.methods.webhook import Webhook, WebhookTable
from hostler.providers.power.web import WebTable
from hostler.simulators.power.box import Box
from hostler.simulators.power.plugs import own, shelly, tasmota
from hostler.simulators.power.proxmox import TOKEN_ID, proxmox
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check


@dataclass(frozen=True)
class Case:
    """A method, what it is tried against, and its settings for an address."""

    name: str
    method: PowerMethod
    server: Callable[[Box], web.Application]
    settings: Callable[[str], object]


def webhook_table(url: str) -> WebhookTable:
    return WebhookTable(
        url=url,
        on="POST /power/on",
        off_soft="POST /power/off_soft",
        off_hard="POST /power/off_hard",
        query="GET /power",
        accepted=r"^\{\}$",
        user="anybody",
        password_env="SECRET",
        token_header="X-Token",
        deadline=DEADLINE,
        settles=SETTLES,
    )


CANNOT = {"it can do everything", "it cannot do off_soft", "it cannot do cycle"}
LOGIN = {"user": "admin", "password_env": "SECRET", "deadline": DEADLINE, "settles": SETTLES}


def as_admin(kind: type[WebTable], url: str, **more: object) -> WebTable:
    return msgspec.convert({"url": url} | LOGIN | more, kind)


CASES = (
    Case(
        "shelly-1",
        Shelly(),
        partial(shelly, password=SECRET, generation=1),
        partial(as_admin, ShellyTable),
    ),
    Case(
        "shelly-2",
        Shelly(),
        partial(shelly, password=SECRET, generation=2),
        partial(as_admin, ShellyTable),
    ),
    Case(
        "tasmota",
        Tasmota(),
        partial(tasmota, password=SECRET),
        partial(as_admin, TasmotaTable, watts=True),
    ),
    Case(
        "proxmox",
        Proxmox(),
        partial(proxmox, secret=SECRET),
        partial(as_admin, ProxmoxTable, user=TOKEN_ID, node="pve", guest=100),
    ),
    Case("webhook", Webhook(), partial(own, token=SECRET), webhook_table),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_method_keeps_the_promise_that(check: Check, case: Case) -> None:
    left_out = await run_check(check, worlds(case.method, case.server, case.settings))
    assert left_out in {
        "",
        NO_WAY,
        "it can be asked",
        "it can do everything",
        "it cannot do off_soft",
        "it cannot do cycle",
    }


async def test_a_token_that_may_only_read_is_no_wrong_one() -> None:
    """Else the node would be asked nothing more for a while, and no guest of it be seen."""
    box = Box(name="box-1", time=float, on=True)
    async with serving(proxmox(box, SECRET, may_switch=False)) as url:
        table = as_admin(ProxmoxTable, url, user=TOKEN_ID, node="pve", guest=100)
        power = MethodRig(Proxmox(), box, table).open()
        outcome = await power.act(PowerAction.OFF_HARD)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert "Permission check failed (/vms/100, VM.PowerMgmt)" in outcome.text
        assert (await power.query()).state is PowerState.ON
        await power.close()


async def test_another_shelly_that_hangs_there_is_asked_which_one_it_is() -> None:
    """Unless the file names its generation, it needs no new start of the engine."""
    box = Box(name="box-1", time=float, on=True)
    first, later = (shelly(box, generation=number) for number in (1, 2))
    now = [first]

    async def forward(request: web.Request) -> web.StreamResponse:
        found = await now[0].router.resolve(request)
        return await found.handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    async with serving(app) as url:
        settings = ShellyTable(url=url, deadline=DEADLINE, settles=SETTLES)
        power = MethodRig(Shelly(), box, settings).open()
        assert (await power.query()).state is PowerState.ON
        now[0] = later
        assert (await power.query()).state is PowerState.UNKNOWN
        assert (await power.query()).state is PowerState.ON
        await power.close()


async def test_a_page_that_leads_elsewhere_after_a_command_does_not_say_that_it_had_no_effect() -> (
    None
):
    """So pages of devices answer what they have done: *see other*."""
    box = Box(name="box-1", time=asyncio.get_running_loop().time)

    async def on(_: web.Request) -> web.Response:
        box.on = True
        return web.Response(status=302, headers={"Location": "/power"})

    app = web.Application()
    app.router.add_post("/power/on", on)
    async with serving(app) as url:
        power = MethodRig(Webhook(), box, webhook_table(url)).open()
        outcome = await power.act(PowerAction.ON)
        await power.close()
    assert outcome == Unknown(text="302: its answer leads elsewhere, and says nothing")
    assert box.on
