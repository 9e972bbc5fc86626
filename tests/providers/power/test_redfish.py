"""Redfish keeps the promises of the power port, against controllers of several manners."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import msgspec
import pytest
from aiohttp import web
from power_rig import DEADLINE, NO_WAY, SECRET, SETTLES, MethodRig, serving, worlds

from hostler.domain.model.calls import Done, Refusal, Refused
from hostler.ports.power import Power, PowerAction, PowerState
from hostler.providers.power.methods.redfish import Redfish, RedfishTable
from hostler.simulators.power.box import Box
from hostler.simulators.power.redfish import Bmc, Model
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check


def table(url: str, system: str | None = None) -> RedfishTable:
    return RedfishTable(
        url=url,
        user="admin",
        password_env="SECRET",
        system=system,
        deadline=DEADLINE,
        settles=SETTLES,
    )


def server(model: Model, box: Box) -> web.Application:
    return Bmc(box=box, password=SECRET, model=model).app()


MODELS = {
    "usual": Model(),
    "by-info": Model(by_info=True, tagged=True),
    "silent": Model(silent=True, sessions=False, strict=True),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_redfish_keeps_the_promise_that(check: Check, model: Model) -> None:
    left_out = await run_check(check, worlds(Redfish(), partial(server, model), table))
    assert left_out in {"", NO_WAY, "it can do everything", "it can be asked"}


@asynccontextmanager
async def opened(model: Model, system: str | None = None) -> AsyncGenerator[tuple[MethodRig, Bmc]]:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=model)
    async with serving(bmc.app()) as url:
        rig = MethodRig(Redfish(), box, table(url, system))
        yield rig, bmc
        for power in rig.opened:
            await power.close()


async def test_a_reset_that_a_controller_does_not_offer_is_refused_with_what_it_offers() -> None:
    async with opened(Model(resets=("On", "ForceOff"))) as (rig, bmc):
        bmc.box.on = True
        outcome = await rig.open().act(PowerAction.OFF_SOFT)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.INVALID
        assert outcome.text == "it offers no GracefulShutdown, only ForceOff, On"
        assert bmc.box.has_power()


async def test_on_is_never_a_cycle() -> None:
    async with opened(Model(resets=("PowerCycle", "ForceRestart"))) as (rig, bmc):
        outcome = await rig.open().act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert "on" not in bmc.box.journal
        assert "cycle" not in bmc.box.journal


async def test_a_session_is_kept_and_opened_again_once_it_has_ended() -> None:
    async with opened(Model()) as (rig, bmc):
        power = rig.open()
        await power.query()
        await power.query()
        assert bmc.opened == 1
        bmc.tokens.clear()
        assert (await power.query()).state is PowerState.OFF
        assert bmc.opened == 2


async def test_a_session_is_ended_with_its_way_for_a_controller_has_few() -> None:
    async with opened(Model()) as (rig, bmc):
        power = rig.open()
        await power.query()
        assert len(bmc.tokens) == 1
        await power.close()
        assert not bmc.tokens
        await power.close()


@asynccontextmanager
async def moody(bmc: Bmc) -> AsyncGenerator[tuple[Power, set[str]]]:
    """Serve a controller that has nothing at paths that begin with what is in the set."""
    away = set[str]()

    @web.middleware
    async def found(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if any(request.path.startswith(path) for path in away):
            return web.Response(status=404)
        return await handler(request)

    app = bmc.app()
    app.middlewares.append(found)
    async with serving(app) as url:
        power = MethodRig(Redfish(), bmc.box, table(url)).open()
        yield power, away
        await power.close()


async def test_a_system_that_is_called_otherwise_by_now_is_sought_again() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=Model())
    async with moody(bmc) as (power, away):
        assert (await power.query()).state is PowerState.OFF
        away.add("/redfish/v1/Systems/1")
        assert (await power.query()).state is PowerState.UNKNOWN
        bmc.model = Model(systems=("Self",))
        assert (await power.query()).state is PowerState.OFF
        assert isinstance(await power.act(PowerAction.ON), Done)
        assert box.has_power()


async def test_a_controller_that_only_begins_to_answer_is_not_without_sessions_for_ever() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    async with moody(Bmc(box=box, password=SECRET, model=Model())) as (power, away):
        away.add("/")
        assert (await power.query()).state is PowerState.UNKNOWN
        away.clear()
        assert (await power.query()).state is PowerState.OFF


async def test_a_controller_that_is_silent_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostler.providers.power.methods.redfish._PARTING", 0.1)
    left = asyncio.Event()

    @web.middleware
    async def silent(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.method == "DELETE":
            await left.wait()
        return await handler(request)

    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    app = Bmc(box=box, password=SECRET, model=Model()).app()
    app.middlewares.append(silent)
    async with serving(app) as url:
        settings = msgspec.structs.replace(table(url), deadline=timedelta(seconds=40))
        power = MethodRig(Redfish(), box, settings).open()
        assert (await power.query()).state is PowerState.OFF
        async with asyncio.timeout(3):
            await power.close()
            await power.close()
        left.set()


async def test_a_login_that_has_no_end_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostler.providers.power.methods.redfish._PARTING", 0.1)
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=Model())
    async with slow_to_log_in(bmc) as (power, may):
        await given_up(power)
        async with asyncio.timeout(3):
            await power.close()
            await power.close()
        may.set()


async def test_who_may_look_and_not_reset_is_let_in_all_the_same() -> None:
    """A controller that opened a session does not mean the login by its 403."""

    @web.middleware
    async def guarded(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path.endswith("ComputerSystem.Reset"):
            return web.json_response({"error": {"message": "read only"}}, status=403)
        return await handler(request)

    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    app = Bmc(box=box, password=SECRET, model=Model()).app()
    app.middlewares.append(guarded)
    async with serving(app) as url:
        power = MethodRig(Redfish(), box, table(url)).open()
        outcome = await power.act(PowerAction.ON)
        assert (await power.query()).state is PowerState.OFF
        await power.close()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert outcome.text.startswith("403: the user lacks the privilege to reset it: ")


@asynccontextmanager
async def slow_to_log_in(bmc: Bmc) -> AsyncGenerator[tuple[Power, asyncio.Event]]:
    """Serve a controller that opens a session no sooner than it may."""
    may = asyncio.Event()

    @web.middleware
    async def slow(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.method == "POST" and request.path.endswith("/Sessions"):
            await asyncio.shield(may.wait())
        return await asyncio.shield(handler(request))

    app = bmc.app()
    app.middlewares.append(slow)
    async with serving(app) as url:
        settings = msgspec.structs.replace(table(url), deadline=timedelta(seconds=40))
        power = MethodRig(Redfish(), bmc.box, settings).open()
        yield power, may
        await power.close()


async def given_up(power: Power) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            await power.query()


async def test_readings_that_are_given_up_while_a_controller_logs_in_leave_one_session() -> None:
    """Each would leave one that nobody knows, and soon there would be none left to open."""
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=Model())
    async with slow_to_log_in(bmc) as (power, may):
        for _ in range(5):
            await given_up(power)
        may.set()
        assert (await power.query()).state is PowerState.OFF
        assert (bmc.opened, len(bmc.tokens)) == (1, 1)
    assert not bmc.tokens


async def test_a_session_that_ended_before_anybody_used_it_does_not_deny_the_login() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=Model())
    async with slow_to_log_in(bmc) as (power, may):
        await given_up(power)
        may.set()
        while not bmc.tokens:  # noqa: ASYNC110 - it is the controller that opens it
            await asyncio.sleep(0.01)
        bmc.tokens.clear()
        assert (await power.query()).state is PowerState.OFF


async def test_a_session_that_is_being_opened_is_ended_with_its_way() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    bmc = Bmc(box=box, password=SECRET, model=Model())
    async with slow_to_log_in(bmc) as (power, may):
        await given_up(power)
        asyncio.get_running_loop().call_later(0.1, may.set)
    assert (bmc.opened, len(bmc.tokens)) == (1, 0)


async def test_of_several_systems_one_is_named() -> None:
    async with opened(Model(systems=("1", "2"))) as (rig, _):
        reading = await rig.open().query()
        assert reading.state is PowerState.UNKNOWN
        assert "name it as `system`" in reading.text
    async with opened(Model(systems=("1", "2")), system="2") as (rig, _):
        assert isinstance(await rig.open().act(PowerAction.ON), Done)
    async with opened(Model(), system="9") as (rig, _):
        assert "no 9" in (await rig.open().query()).text


@asynccontextmanager
async def played(
    more: dict[str, object] | None = None,
    *,
    link: str = "/redfish/v1/Systems/1",
    login: tuple[int, object] | None = None,
    settings: dict[str, object] | None = None,
) -> AsyncGenerator[tuple[Power, list[str]]]:
    """Play a controller of one system, which has `more` in it; yield the way, and its resets."""
    resets = list[str]()
    status, body = login or (201, {})

    async def log_in(request: web.Request) -> web.Response:
        del request
        return web.json_response(body, status=status, headers={"X-Auth-Token": "t"})

    async def answer(request: web.Request) -> web.Response:
        path = request.raw_path
        if request.method == "POST":
            resets.append((await request.json())["ResetType"])
            return web.Response(status=204)
        if path == "/redfish/v1/":
            return web.json_response({"Systems": {"@odata.id": "/redfish/v1/Systems"}})
        if path == "/redfish/v1/Systems":
            return web.json_response({"Members": [{"@odata.id": link}]})
        if path != link:
            return web.Response(status=404, text=path)
        reset = {"target": f"{link}/Actions/ComputerSystem.Reset"}
        actions = {"#ComputerSystem.Reset": reset}
        system = {"PowerState": "Off", "UUID": "4c4c4544-AAAA", "Actions": actions}
        return web.json_response(system | (more or {}))

    app = web.Application()
    app.router.add_post("/redfish/v1/SessionService/Sessions", log_in)
    app.router.add_route("*", "/{tail:.*}", answer)
    async with serving(app) as url:
        known = {"url": url, "user": "admin", "password_env": "SECRET"} | (settings or {})
        box = Box(name="box-1", time=asyncio.get_running_loop().time)
        power = MethodRig(Redfish(), box, msgspec.convert(known, RedfishTable)).open()
        yield power, resets
        await power.close()


@pytest.mark.parametrize(
    ("more", "identity", "same"),
    [
        ({}, "4C4C4544-aaaa", True),
        ({"SerialNumber": "CN-7"}, "cn-7", True),
        ({"SerialNumber": 7, "UUID": []}, "7", True),
        ({"UUID": "4c4c4544-BBBB"}, "4c4c4544-AAAA", False),
        ({"UUID": None}, "4c4c4544-AAAA", False),
        ({"UUID": ""}, "4c4c4544-AAAA", False),
        ({"UUID": "4c4c4544-BBBB"}, None, True),
    ],
)
async def test_another_machine_behind_the_address_is_neither_believed_nor_switched(
    more: dict[str, object], identity: str | None, *, same: bool
) -> None:
    """Controllers change their addresses; what is off there says nothing of the box meant."""
    settings: dict[str, object] = {"identity": identity} if identity is not None else {}
    async with played(more, settings=settings) as (power, resets):
        reading, outcome = await power.query(), await power.act(PowerAction.ON)
    assert (reading.state is PowerState.OFF) is same
    assert isinstance(outcome, Done) is same
    assert resets == (["On"] if same else [])
    if not same:
        assert reading.state is PowerState.UNKNOWN
        assert "it is another machine" in reading.text


async def test_a_system_whose_name_is_escaped_in_its_link_is_found() -> None:
    async with played(link="/redfish/v1/Systems/blade%201") as (power, resets):
        assert (await power.query()).state is PowerState.OFF
        assert isinstance(await power.act(PowerAction.ON), Done)
    assert resets == ["On"]


@pytest.mark.parametrize(
    "text", ["Base.1.8.SessionLimitExceeded", "The maximum number of user sessions is reached."]
)
async def test_a_controller_without_a_session_left_does_not_say_that_a_login_is_wrong(
    text: str,
) -> None:
    """It was not asked for an hour, and `explain` named the wrong cause."""
    body = {"error": {"code": "x" * 200, "message": text}}
    async with played(login=(400, body)) as (power, _):
        reading, outcome = await power.query(), await power.act(PowerAction.ON)
    assert reading.text == "400: it has no session left"
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.BUSY


async def test_a_controller_that_leads_elsewhere_is_named_with_where() -> None:
    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPMovedPermanently(f"https://bmc.lan{request.path}")

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", elsewhere)
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    async with serving(app) as url:
        power = MethodRig(Redfish(), box, RedfishTable(url=url)).open()
        reading = await power.query()
        await power.close()
    assert reading.state is PowerState.UNKNOWN
    assert reading.text == "301: it leads to https://bmc.lan/redfish/v1/: is that its `url`?"
