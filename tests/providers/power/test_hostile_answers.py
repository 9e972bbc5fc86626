"""Whatever answers in a device's place: no method hangs, crashes, or takes it for an answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import msgspec
import pytest
from power_rig import DEADLINE, SECRET, SETTLES, MethodRig

from hostler.domain.model.calls import Done, Refusal, Refused
from hostler.ports.power import PowerAction, PowerMethod, PowerState
from hostler.providers.power.methods.proxmox import Proxmox, ProxmoxTable
from hostler.providers.power.methods.redfish import Redfish, RedfishTable
from hostler.providers.power.methods.shelly import Shelly, ShellyTable
from hostler.providers.power.methods.tasmota import Tasmota, TasmotaTable
from hostler.providers.power.methods.webhook import Webhook, WebhookTable
from hostler.providers.power.mqtt.dialects import zigbee2mqtt
from hostler.simulators.power.box import Box

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_head(reader: asyncio.StreamReader) -> None:
    await reader.readuntil(b"\r\n\r\n")


def saying(head: str, body: bytes = b"", more: int = 0) -> Behaviour:
    """Answer every request with this; `more` bytes are promised that never come."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        length = f"Content-Length: {len(body) + more}"
        writer.write(f"HTTP/1.1 {head}\r\n{length}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()

    return behave


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"[" * 65536 + b"\r\n")
        await writer.drain()


async def byte_by_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" * 100:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del writer
    await reader.read()


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_head(reader)
    writer.close()


ANSWERS: dict[str, Behaviour] = {
    "html": saying("200 OK", b"<html><body>Welcome to nginx!</body></html>"),
    "empty": saying("200 OK"),
    "null": saying("200 OK", b"null"),
    "list": saying("200 OK", b"[1, 2, 3]"),
    "other-vendor": saying("200 OK", b'{"device": "kettle", "version": 7}'),
    "wrong-types": saying("200 OK", b'{"POWER": 1, "output": "yes", "ison": 3, "data": []}'),
    "deep": saying("200 OK", b"[" * 200_000),
    "deep-inside": saying("200 OK", b'{"POWER": ' + b"[" * 200_000),
    "not-utf-8": saying("200 OK", b'{"POWER": "\xff\xfe"}'),
    "truncated": saying("200 OK", b'{"POWER": "ON"', more=100),
    "endless": endless,
    "byte-by-byte": byte_by_byte,
    "mute": mute,
    "hangs-up": hangs_up,
    "redirect": saying("302 Found\r\nLocation: http://127.0.0.1:1/"),
    "error": saying("500 Internal Server Error", b"oops"),
    "teapot": saying("418 I'm a teapot"),
    "no-http": saying("what?"),
}
COMMON = {"user": "admin", "password_env": "SECRET", "deadline": DEADLINE, "settles": SETTLES}
METHODS: dict[str, tuple[PowerMethod, type[object], dict[str, object]]] = {
    "shelly": (Shelly(), ShellyTable, {}),
    "shelly-1": (Shelly(), ShellyTable, {"generation": 1}),
    "shelly-2": (Shelly(), ShellyTable, {"generation": 2}),
    "tasmota": (Tasmota(), TasmotaTable, {}),
    "redfish": (Redfish(), RedfishTable, {}),
    "proxmox": (Proxmox(), ProxmoxTable, {"user": "a@pve!t", "node": "pve", "guest": 100}),
    "webhook": (
        Webhook(),
        WebhookTable,
        {"on": "POST /on", "query": "GET /", "accepted": "^accepted$"},
    ),
}


@asynccontextmanager
async def listening(behaviour: Behaviour) -> AsyncGenerator[str]:
    tasks = set[asyncio.Task[object]]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await behaviour(reader, writer)
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def rig(name: str, url: str) -> MethodRig:
    method, kind, more = METHODS[name]
    settings = msgspec.convert({"url": url} | COMMON | more, kind)
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    return MethodRig(method, box, settings)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_answer_of_another_sort_is_taken_for_one(name: str, answer: str) -> None:
    async with listening(ANSWERS[answer]) as url:
        power = rig(name, url).open()
        try:
            async with asyncio.timeout(10):
                reading, outcome = await power.query(), await power.act(PowerAction.ON)
        finally:
            await power.close()
    assert reading.state is PowerState.UNKNOWN, reading
    assert reading.text
    assert not isinstance(outcome, Done)
    assert SECRET not in f"{reading}{outcome}"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("on", PowerState.ON),
        ("OFF\r\n", PowerState.OFF),
        ('"off"', PowerState.OFF),
        ('{"power": "on"}', PowerState.ON),
        ('{"a": 1, "state":"OFF", "watts": 3}', PowerState.OFF),
        ("uptime: 3\npower = off\nmode: auto", PowerState.OFF),
        ("Power: On.", PowerState.ON),
        ('["on"]', PowerState.ON),
        ('{"on": false}', PowerState.UNKNOWN),
        ('{"a": 1, "off": false}', PowerState.UNKNOWN),
        ('{"error": "you were logged off"}', PowerState.UNKNOWN),
        ("you were logged off", PowerState.UNKNOWN),
        ("<html><h1>Log on</h1></html>", PowerState.UNKNOWN),
        ('<a href="/x?do=off">switch it off</a>', PowerState.UNKNOWN),
        ("<button>Off</button>", PowerState.UNKNOWN),
        ("<p>error: power off failed</p>", PowerState.UNKNOWN),
        ('{"relay1": "on", "relay2": "off"}', PowerState.UNKNOWN),
        ("offline", PowerState.UNKNOWN),
        ("status: online", PowerState.UNKNOWN),
        ("", PowerState.UNKNOWN),
        (":" * 16_000, PowerState.UNKNOWN),
        ("=\n" * 8_000, PowerState.UNKNOWN),
        (" " * 16_000, PowerState.UNKNOWN),
        ("\n" * 16_000, PowerState.UNKNOWN),
    ],
)
async def test_a_webhook_takes_no_page_and_no_name_for_a_state(
    answer: str, state: PowerState
) -> None:
    """As a word anywhere *off* stood in the answer of a device that asked to log in again."""
    async with listening(saying("200 OK", answer.encode())) as url:
        power = rig("webhook", url).open()
        try:
            assert (await power.query()).state is state
        finally:
            await power.close()


async def test_a_link_of_a_controller_that_is_none_is_no_answer() -> None:
    async with listening(saying("200 OK", b'{"Systems": {"@odata.id": "http://["}}')) as url:
        settings = RedfishTable(url=url, deadline=DEADLINE, settles=SETTLES)
        box = Box(name="box-1", time=asyncio.get_running_loop().time)
        power = MethodRig(Redfish(), box, settings).open()
        reading = await power.query()
        await power.close()
    assert reading.state is PowerState.UNKNOWN
    assert reading.text == "one of its links is none"


def test_a_message_of_a_broker_that_is_nested_too_deep_says_nothing() -> None:
    assert zigbee2mqtt("plug", 1).read('{"state": ' + "[" * 200_000) is None


@pytest.mark.parametrize("name", METHODS)
async def test_where_nothing_listens_nothing_was_sent(name: str) -> None:
    async with listening(mute) as url:
        closed = url
    power = rig(name, closed).open()
    outcome = await power.act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT
    assert (await power.query()).state is PowerState.UNKNOWN
    await power.close()


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no scheme": ({"url": "10.0.0.7"}, "url"),
    "another scheme": ({"url": "ftp://10.0.0.7"}, "url"),
    "no host": ({"url": "http://"}, "url"),
    "a path of another system": ({"url": "http://10.0.0.7\\on"}, "url"),
    "a blank in it": ({"url": "http://10.0.0 .7"}, "url"),
    "no port": ({"url": "http://a:99999"}, "url"),
    "a password in it": ({"url": "http://admin:geheim@10.0.0.7"}, "url"),
    "two passwords": ({"password_file": "password"}, "password_file"),
    "no user": ({"user": None}, "user"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", METHODS)
def test_check_names_the_key_that_is_wrong(name: str, wrong: str) -> None:
    method, kind, more = METHODS[name]
    changed, key = WRONG[wrong]
    settings = msgspec.convert({"url": "http://a"} | COMMON | more | changed, kind)
    faults = method.check(settings)
    assert any(fault.startswith(f"{key}: expected ") for fault in faults), faults
    assert not any("geheim" in fault for fault in faults)
    right = msgspec.convert({"url": "http://a"} | COMMON | more, kind)
    assert method.check(right) == ()


webhook = partial(msgspec.convert, type=WebhookTable)


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({}, "on"),
        ({"on": "/power/on"}, "on"),
        ({"query": "LOOK /"}, "query"),
        ({"query": "GET /", "is_on": "("}, "is_on"),
        ({"on": "POST /", "accepted": "["}, "accepted"),
    ],
)
def test_check_names_every_request_and_expression_that_is_none(
    more: dict[str, object], key: str
) -> None:
    (fault,) = Webhook().check(webhook({"url": "http://a"} | more))
    assert fault.startswith(f"{key}: expected ")
