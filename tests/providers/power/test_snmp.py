"""SNMP keeps the promises of the power port, against agents on loopback over real UDP."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false
# pysnmp has no types.

import asyncio
import re
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace
from power_rig import DEADLINE, NO_WAY, SECRET, SETTLES, MethodRig
from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config
from pysnmp.entity.engine import SnmpEngine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto.rfc1902 import Integer32

from hostler.domain.errors import ConfigError
from hostler.domain.model.calls import Done, Refusal, Refused, Unknown
from hostler.ports.power import Power, PowerAction, PowerState, Turn
from hostler.providers.power.methods.snmp import Snmp, SnmpTable
from hostler.providers.power.snmp import agent
from hostler.providers.power.snmp.models import MODELS, model_of
from hostler.simulators.power.box import Box
from hostler.simulators.power.snmp import Strip, listening
from hostler.testing.conformance.power.rig import PowerRig
from hostler.testing.conformance.power.suite import CHECKS, Check, run_check
from hostler.testing.fakes.power import PowerFault

VENDORS = (1, 3, 6, 1, 4, 1)
EATON = Strip(
    product=(*VENDORS, 534, 10, 2),
    write=(*VENDORS, 534, 6, 6, 7, 6, 6, 1, 3, 5),
    write_off=(*VENDORS, 534, 6, 6, 7, 6, 6, 1, 4, 5),
    numbers=(0, 0),
    read=(*VENDORS, 534, 6, 6, 7, 6, 6, 1, 2, 5),
    reads=(1, 0),
    community=SECRET.encode(),
)
GEIST = Strip(
    product=(*VENDORS, 21239, 2),
    write=(*VENDORS, 21239, 5, 2, 3, 5, 1, 6, 5),
    write_off=(*VENDORS, 21239, 5, 2, 3, 5, 1, 6, 5),
    numbers=(2, 4),
    read=(*VENDORS, 21239, 5, 2, 3, 5, 1, 4, 5),
    reads=(1, 2),
    community=SECRET.encode(),
)
SILENT = "who names another community gets no answer"
NEVER_BUSY = "version 1 has no such answer"


AS_USER: dict[str, object] = {
    "version": "3",
    "community_env": None,
    "user": "hostler",
    "password_env": "SECRET",
}


@dataclass
class SnmpRig(MethodRig):
    @property
    def lacks(self) -> Mapping[PowerFault, str]:
        busy = {PowerFault.BUSY: NEVER_BUSY} if version(self.settings) == "1" else {}
        return {PowerFault.UNREACHABLE: NO_WAY, PowerFault.DENIED: SILENT} | busy


def version(settings: object) -> str:
    assert isinstance(settings, SnmpTable)
    return settings.version


def table(port: int, **more: object) -> SnmpTable:
    known = {
        "address": "127.0.0.1",
        "port": port,
        "outlet": 5,
        "community_env": "SECRET",
        "deadline": DEADLINE,
        "settles": SETTLES,
    }
    return msgspec.convert(known | more, SnmpTable)


@asynccontextmanager
async def world(strip: Strip, **more: object) -> AsyncGenerator[SnmpRig]:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    async with listening(box, strip) as port:
        rig = SnmpRig(Snmp(), box, table(port, **more))
        try:
            yield rig
        finally:
            for power in rig.opened:
                await power.close()


@asynccontextmanager
async def as_port(strip: Strip, **more: object) -> AsyncGenerator[PowerRig]:
    async with world(strip, **more) as rig:
        yield rig


WORLDS = {
    "eaton-2c": partial(as_port, EATON, model="eaton"),
    "geist-2c": partial(as_port, GEIST, model="vertiv-geist"),
    "geist-1": partial(as_port, GEIST, model="vertiv-geist", version="1"),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_method_keeps_the_promise_that(check: Check, name: str) -> None:
    left_out = await run_check(check, WORLDS[name])
    assert left_out in {
        "",
        NO_WAY,
        SILENT,
        NEVER_BUSY if name == "geist-1" else "",
        "it can be asked",
        "it cannot do off_soft",
        "it cannot do cycle",
    }


@pytest.mark.parametrize("strip", [EATON, GEIST], ids=["eaton", "geist"])
async def test_a_strip_is_asked_once_which_model_it_is(strip: Strip) -> None:
    async with world(strip) as rig:
        power = rig.open()
        assert isinstance(await power.act(PowerAction.ON), Done)
        assert (await power.query()).state is PowerState.ON
        assert isinstance(await power.act(PowerAction.OFF_HARD), Done)
        assert (await power.query()).state is PowerState.OFF
    assert rig.box.journal == ["on", "query", "off_hard", "query"]


async def test_another_strip_at_the_same_address_is_asked_which_model_it_is() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    async with listening(box, EATON) as port:
        power = SnmpRig(Snmp(), box, table(port)).open()
        assert (await power.query()).state is PowerState.OFF
    await asyncio.sleep(0)  # until the first one's socket is closed
    async with listening(box, GEIST, ("127.0.0.1", port)):
        assert (await power.query()).state is PowerState.UNKNOWN
        assert (await power.query()).state is PowerState.OFF
        await power.close()


async def test_a_strip_of_an_unknown_vendor_is_refused_and_named() -> None:
    strip = replace(GEIST, product=(*VENDORS, 99999, 1))
    async with world(strip) as rig:
        outcome = await rig.open().act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert "1.3.6.1.4.1.99999.1" in outcome.text
    assert rig.box.journal == []


async def test_a_wrong_community_is_silence_and_silence_is_unknown() -> None:
    strip = replace(GEIST, community=b"another")
    async with world(strip, model="vertiv-geist") as rig:
        power = rig.open()
        assert isinstance(await power.act(PowerAction.ON), Unknown)
        assert (await power.query()).state is PowerState.UNKNOWN
    assert rig.box.journal == []


async def test_an_outlet_that_is_not_there_is_refused() -> None:
    async with world(GEIST, model="vertiv-geist", outlet=6) as rig:
        power = rig.open()
        outcome = await power.act(PowerAction.ON)
        reading = await power.query()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    assert reading.state is PowerState.UNKNOWN


async def test_an_outlet_of_a_strip_that_the_model_does_not_count_is_nobody_elses() -> None:
    """The first strip of the chain has an outlet of that number too: another machine's."""
    async with world(GEIST, unit=2) as rig:
        rig.set_power(on=True)
        power = rig.open()
        outcome = await power.act(PowerAction.OFF_HARD)
        reading = await power.query()
        assert rig.has_power()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID
    text = "vertiv-geist does not count the strips of a chain: unit 2 is unknown"
    assert outcome.text == reading.text == text
    assert reading.state is PowerState.UNKNOWN


async def test_a_number_of_an_outlet_on_its_way_is_unknown() -> None:
    strip = replace(EATON, reads=(3, 2))
    async with world(strip, model="eaton") as rig:
        power = rig.open()
        for on in (True, False):
            rig.set_power(on=on)
            assert (await power.query()).state is PowerState.UNKNOWN


async def test_outlets_of_one_strip_take_turns() -> None:
    method = Snmp()
    one, other = (method.endpoint(table(161, outlet=outlet)) for outlet in (1, 2))
    assert one == other


# ---- version 3, against pysnmp's own agent


class Outlets:
    """The objects of the agent: one outlet of a Geist."""

    on = False

    def __init__(self) -> None:
        self.asked = list[str]()

    def read_variables(self, *binds: tuple[Any, Any], **_: object) -> list[tuple[Any, Any]]:
        self.asked.append("query")
        return [(oid, Integer32(1 if self.on else 2)) for oid, _ in binds]

    def write_variables(self, *binds: tuple[Any, Any], **_: object) -> list[tuple[Any, Any]]:
        self.asked.append("write")
        self.on = int(binds[0][1]) == 2
        return list(binds)


@asynccontextmanager
async def guarded(password: str = SECRET) -> AsyncGenerator[tuple[int, Outlets]]:
    """Let an agent listen that knows one user, with this password for all purposes."""
    engine, outlets = SnmpEngine(), Outlets()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listener = udp.UdpTransport().open_server_mode(("127.0.0.1", port))
    config.add_transport(engine, udp.DOMAIN_NAME, listener)
    config.add_v3_user(
        engine,
        "hostler",
        config.USM_AUTH_HMAC192_SHA256,
        password,
        config.USM_PRIV_CFB128_AES,
        password,
    )
    config.add_vacm_user(
        engine, 3, "hostler", "authPriv", readSubTree=VENDORS, writeSubTree=VENDORS
    )
    there = context.SnmpContext(engine)
    there.unregister_context_name(b"")
    there.register_context_name(b"", cast("Any", outlets))  # the two methods that it calls
    cmdrsp.GetCommandResponder(engine, there)
    cmdrsp.SetCommandResponder(engine, there)
    try:
        yield port, outlets
    finally:
        engine.close_dispatcher()


PRIVATE = AS_USER | {"authentication": "sha256", "privacy_password_env": "SECRET"}


async def test_version_3_switches_and_reads_what_is_encrypted() -> None:
    async with guarded() as (port, outlets):
        power = private(port)
        assert isinstance(await power.act(PowerAction.ON), Done)
        assert outlets.on
        assert (await power.query()).state is PowerState.ON
        assert isinstance(await power.act(PowerAction.OFF_HARD), Done)
        assert (await power.query()).state is PowerState.OFF
        await power.close()


async def test_outlets_of_one_strip_share_one_engine_of_version_3(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes a megabyte and a tenth of a second: with hundreds of outlets that is felt."""
    made = list[SnmpEngine]()

    def counted() -> SnmpEngine:
        made.append(SnmpEngine())
        return made[-1]

    monkeypatch.setattr(agent, "SnmpEngine", counted)
    async with guarded() as (port, _):
        box, turn = Box(name="box-1", time=asyncio.get_running_loop().time), Turn()
        tables = [private_table(port, outlet=outlet) for outlet in (1, 2, 3)]
        outlets = [MethodRig(Snmp(), box, one, turn=turn).open() for one in tables]
        for power in outlets:
            assert isinstance(await power.act(PowerAction.ON), Done)
        assert len(made) == 1
        await outlets[0].close()
        assert (await outlets[1].query()).state is PowerState.ON
        for power in outlets:
            await power.close()


@pytest.mark.parametrize(
    "more",
    [{"user": "somebody"}, {"privacy_password_env": None}, {}],
    ids=["user", "unencrypted", "password"],
)
async def test_version_3_denies_wrong_credentials_once(more: dict[str, object]) -> None:
    async with guarded(SECRET if more else "another-secret") as (port, outlets):
        power = private(port, **more)
        outcome = await power.act(PowerAction.ON)
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.DENIED
        reading = await power.query()
        assert reading.state is PowerState.UNKNOWN
        assert "not tried again before" in reading.text
        assert outlets.asked == []
        await power.close()


def private(port: int, **more: object) -> Power:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    return MethodRig(Snmp(), box, private_table(port, **more)).open()


def private_table(port: int, **more: object) -> object:
    long = {"deadline": timedelta(seconds=10)}
    return table(port, model="vertiv-geist", **(PRIVATE | long | more))


# ---- the table of models


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_on_and_off_apart(name: str) -> None:
    model = MODELS[name]
    assert model.written(5, 1, on=True) != model.written(5, 1, on=False)
    assert model.state(model.reads_on) is PowerState.ON
    assert model.state(model.reads_off) is PowerState.OFF
    assert model.state(99) is PowerState.UNKNOWN
    for oid in (model.written(5, 1, on=True)[0], model.asked(5, 1)):
        assert oid[:6] == VENDORS
        assert 5 in oid[-2:]


PUBLISHED = """
apc                     318.1.1.12.3.3.1.1.4.n    =                         1/2  1/2
apc-masterswitch        318.1.1.4.4.2.1.3.n       =                         1/2  1/2
apc-masterswitch-plus   318.1.1.6.5.1.1.5.n       =                         1/3  1/3
cyberpower              3808.1.1.3.3.3.1.1.4.n    =                         1/2  1/2
aten                    21317.1.3.2.2.2.2.n.0     =                         2/1  2/1
teltronix               23620.1.2.2.1.4.n         =                         2/1  2/1
baytech                 4779.1.3.5.3.1.3.u.n      =                         1/0  1/0
eaton                   534.6.6.7.6.6.1.3.n       534.6.6.7.6.6.1.2.n       0/0  1/0
servertech-sentry3      1718.3.2.3.1.11.1.1.n     1718.3.2.3.1.5.1.1.n      1/2  1/0
servertech-sentry4      1718.4.1.8.5.1.2.1.1.n    1718.4.1.8.5.1.1.1.1.n    1/2  11/10
raritan                 13742.6.4.1.2.1.2.1.n     13742.6.4.1.2.1.3.1.n     1/0  7/8
vertiv-geist            21239.5.2.3.5.1.6.n       21239.5.2.3.5.1.4.n       2/4  1/2
"""
"""Where and what is written, where it is read, on and off: as Ironic's driver had it.

Eaton's off is written beside its on."""


@pytest.mark.parametrize("row", PUBLISHED.split("\n")[1:-1], ids=lambda row: row.split()[0])
def test_a_model_is_as_it_was_published(row: str) -> None:
    name, write, read, writes, reads = row.split()
    on, off = (MODELS[name].written(5, 3, on=on) for on in (True, False))
    assert on == (_dotted(write), int(writes.split("/")[0]))
    assert off[1] == int(writes.split("/")[1])
    assert off[0] == (_dotted("534.6.6.7.6.6.1.4.n") if name == "eaton" else on[0])
    assert MODELS[name].asked(5, 3) == (on[0] if read == "=" else _dotted(read))
    assert (MODELS[name].reads_on, MODELS[name].reads_off) == tuple(map(int, reads.split("/")))


def test_every_model_was_published() -> None:
    assert {row.split()[0] for row in PUBLISHED.split("\n")[1:-1]} == set(MODELS)


def _dotted(text: str) -> tuple[int, ...]:
    filled = text.replace("u", "3").replace("n", "5")
    return (*VENDORS, *(int(part) for part in filled.split(".")))


def test_the_guide_lists_the_models_and_their_prefixes() -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/owned-machines.md").read_text()
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| ([0-9.]+) \|$", guide, re.MULTILINE)
    assert listed == [(name, model.prefix) for name, model in MODELS.items()]


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ((318, 1, 1, 12, 4), "apc"),
        ((318, 1, 1, 4), "apc-masterswitch"),
        ((318, 1, 1, 40), ""),
        ((1718, 4), "servertech-sentry4"),
        ((1718, 3, 2), "servertech-sentry3"),
        ((3808, 1), "cyberpower"),
        ((38,), ""),
    ],
)
def test_the_longest_prefix_says_which_model(product: tuple[int, ...], name: str) -> None:
    assert model_of((*VENDORS, *product)) == name


def test_of_two_prefixes_that_fit_the_longer_one_counts() -> None:
    apc = MODELS["apc"]
    models = {"all": replace(apc, prefix="318"), "one": apc, "some": replace(apc, prefix="318.1")}
    assert model_of((*VENDORS, 318, 1, 1, 12, 9), models) == "one"
    assert model_of((*VENDORS, 318, 1, 9), models) == "some"


# ---- hostile answers


ANSWERS: dict[str, bytes | None] = {
    "empty": b"",
    "echo": None,
    "html": b"<html><body>Welcome to nginx!</body></html>",
    "truncated": bytes.fromhex("302902010104067075626c6963a21c"),
    "deep": b"\x30\x80" * 2000,
    "long": b"\xff" * 60000,
}


@dataclass
class Parrot(asyncio.DatagramProtocol):
    """Answers every packet with this."""

    answer: bytes | None
    transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self.transport is not None
        self.transport.sendto(data if self.answer is None else self.answer, addr)


@pytest.mark.parametrize("more", [{}, {"version": "1"}, AS_USER], ids=["2c", "1", "3"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_answer_of_another_sort_is_taken_for_one(
    answer: str, more: dict[str, object]
) -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: Parrot(ANSWERS[answer]), local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    box = Box(name="box-1", time=loop.time)
    power = MethodRig(Snmp(), box, table(port, model="apc", **more)).open()
    try:
        async with asyncio.timeout(10):
            reading, outcome = await power.query(), await power.act(PowerAction.ON)
    finally:
        await power.close()
        transport.close()
    assert reading.state is PowerState.UNKNOWN, reading
    assert reading.text
    assert not isinstance(outcome, Done)
    assert SECRET not in f"{reading}{outcome}"


async def test_where_nothing_listens_nothing_was_sent() -> None:
    async with world(GEIST) as rig:
        settings = rig.settings
    power = MethodRig(Snmp(), rig.box, settings).open()
    outcome = await power.act(PowerAction.ON)
    await power.close()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT
    assert "nothing listens" in outcome.text


async def test_a_name_that_nobody_knows_is_not_sent() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    settings = table(161, model="apc", address="no-such-host.invalid")
    power = MethodRig(Snmp(), box, settings).open()
    outcome = await power.act(PowerAction.ON)
    await power.close()
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT


async def test_a_strip_that_does_not_say_what_it_is_was_sent_nothing() -> None:
    async with world(replace(GEIST, community=b"another")) as rig:
        outcome = await rig.open().act(PowerAction.ON)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.NOT_SENT


# ---- settings


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"model": "acme"}, "model"),
        ({"model": "apc", "unit": 2}, "unit"),
        ({"community_env": None}, "community_env"),
        ({"community_file": "community"}, "community_file"),
        ({"user": "admin"}, "version"),
        ({"version": "3", "user": "admin"}, "community_env"),
        ({"version": "3", "community_env": None}, "user"),
        (
            {
                "version": "3",
                "community_env": None,
                "user": "a",
                "privacy_password_env": "SECRET",
            },
            "password_env",
        ),
    ],
)
def test_check_names_the_key_that_is_wrong(more: dict[str, object], key: str) -> None:
    (fault,) = Snmp().check(table(161, **more))
    assert fault.startswith(f"{key}: expected ")


def test_missing_names_each_secret_that_is_not_here(tmp_path: Path) -> None:
    settings = table(161, community_file="none")
    found = Snmp().missing(settings, tmp_path, {})
    assert [(lack.key, lack.environment) for lack in found] == [
        ("community_file", False),
        ("community_env", True),
    ]


async def test_a_password_that_version_3_does_not_take_is_refused_at_once() -> None:
    box = Box(name="box-1", time=asyncio.get_running_loop().time)
    rig = MethodRig(Snmp(), box, table(161, **AS_USER))
    short = replace(rig.opening(), environment={"SECRET": "seven77"})
    with pytest.raises(ConfigError, match="password: expected 8 characters"):
        Snmp().open(short)
