"""Judge: a schema served by the plugin's own methods, called, and held against what it means.

*right*: every call is answered and says what is true. *refused*: the plugin says that it does not
understand, of the service or of one call. *wrong*: anything else.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import cast

from msgspec import Struct

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    Method,
    ProviderInfo,
    Refused,
    State,
)
from hostler.frontends.fleeting.schema.binary.processes import Process
from hostler.frontends.fleeting.schema.cache import CachedSchema
from hostler.frontends.fleeting.schema.learn import Learning, Learnt, relearn

from .model import Schema, descriptor_set
from .wire import Read, Values, Wire, joined

WHEN = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
_CONFIG = b'{"a": "b"}'
_SECONDS = 10**9
ASKED: Values = {
    "os": "linux",
    "arch": "arm64",
    "protocol": "ssh",
    "protocol_port": 2222,
    "username": "ci",
    "password": "pw",
    "key": b"KEY",
    "use_static_credentials": True,
    "keepalive": 30 * _SECONDS,
    "timeout": 90 * _SECONDS,
}
_ALL = ("a", "b", "c")
STATES = {"i-1": State.CREATING, "i-2": State.RUNNING, "i-3": State.DELETING}


class Verdict(StrEnum):
    """What a judge says of one schema."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


class Judgement(Struct, frozen=True):
    """A verdict, and what it rests on."""

    verdict: Verdict
    why: str


class Wrong(Exception):
    """Something that is not true was reported, or done."""


@dataclass
class Scripted:
    """A group whose answers are known, and that keeps what it was asked."""

    known_arch: bool = True
    config: bytes = b""
    connector: Connector = field(default_factory=Connector)
    asked: list[object] = field(default_factory=list[object])

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Begin."""
        del states
        self.config, self.connector = config, connector
        return ProviderInfo(
            id="g-1", max_size=9, version="1.2.3", build_info="b7", capabilities=("suspend_resume",)
        )

    async def update(self) -> Sequence[Instance]:
        """Return three instances."""
        return [Instance(id=name, state=state) for name, state in STATES.items()]

    async def increase(self, count: int) -> int:
        """Accept all but two."""
        self.asked.append(count)
        return max(0, count - 2)

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept all but the second."""
        self.asked.append(list(ids))
        return [*ids[:1], *ids[2:]]

    suspend = resume = decrease

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return an instance's addresses; its architecture may not be known."""
        self.asked.append(instance)
        connector = replace(self.connector, arch="amd64" if self.known_arch else "")
        return ConnectInfo(
            id=instance, connector=connector, external="1.2.3.4", internal="10.0.0.4", expires=WHEN
        )

    async def heartbeat(self, instance: str) -> None:
        """Find it well."""
        self.asked.append(instance)

    async def shutdown(self) -> None:
        """End."""
        self.asked.append("shutdown")


class _Nobody:
    def ancestors(self) -> Sequence[Process]:
        """Return no process: schemas are not looked for here."""
        return ()


def learnt(schema: Schema, override: Path | None = None) -> Learnt:
    """Return what the plugin learns of a schema."""
    content = CachedSchema(origin="drawn", build_id="", at=WHEN, files=descriptor_set(schema))
    now: Callable[[], datetime] = lambda: WHEN + timedelta(seconds=1)  # noqa: E731
    return relearn(Learning(processes=_Nobody(), now=now, override=override), content)


async def judge(schema: Schema, override: Path | None = None) -> Judgement:
    """Return what comes of serving a schema."""
    found = learnt(schema, override)
    if found.refusal:
        return Judgement(Verdict.REFUSED, found.refusal)
    try:
        for known in (True, False):
            await _Trial(schema, found, Scripted(known_arch=known)).run()
    except Refused as refused:
        return Judgement(Verdict.REFUSED, str(refused))
    except Wrong as wrong:
        return Judgement(Verdict.WRONG, str(wrong))
    except Exception as error:  # noqa: BLE001 - whatever the plugin raises is its fault
        return Judgement(Verdict.WRONG, f"{type(error).__name__}: {error}")
    return Judgement(Verdict.RIGHT, "")


class _Trial:
    """One life of a plugin."""

    def __init__(self, schema: Schema, found: Learnt, group: Scripted) -> None:
        self._schema, self._group = schema, group
        self._wire = Wire(schema)
        self._methods: Mapping[str, Method] = {m.path: m for m in found.methods(group)}

    async def run(self) -> None:
        """Make every call, and raise Wrong for the first that is not as it should be."""
        group = self._group
        await self._init()
        await self._update()
        reply = await self._call("Increase", {"count": 5})
        _expect("Increase was asked for", group.asked.pop(), 5)
        self._compare("Increase", reply, {"accepted_count": 3})
        reply = await self._call("Decrease", {"ids": list(_ALL)})
        _expect("Decrease was asked for", group.asked.pop(), list(_ALL))
        self._compare("Decrease", reply, {"accepted_ids": ["a", "c"]})
        await self._connect()
        self._compare("Heartbeat", await self._call("Heartbeat", {"id": "i-2"}), {})
        _expect("Heartbeat was asked for", group.asked.pop(), "i-2")
        self._compare("Shutdown", await self._call("Shutdown", {}), {})
        _expect("Shutdown", group.asked.pop(), "shutdown")
        await self._ask_more()

    async def _call(self, call: str, values: Values, *, noise: bool = False) -> list[bytes]:
        rpc = self._schema.rpcs[call]
        path = f"/{self._schema.package}.{self._schema.service}/{rpc.name}"
        method = self._methods[path]
        request = method.request.FromString(self._wire.request(call, values, noise=noise))
        return [reply.SerializeToString() for reply in await method.handle(request)]

    async def _init(self) -> None:
        (reply,) = await self._call("Init", {"config": _CONFIG, **ASKED})
        _expect("the configuration", self._group.config, _CONFIG)
        connector = self._group.connector
        for means in self._meant("InitRequest") & (ASKED.keys() - {"keepalive", "timeout"}):
            if self._wire.can_say("Init", means, ASKED[means]):
                _expect(f"Init's {means}", getattr(connector, means), ASKED[means])
        self._compare(
            "Init",
            [reply],
            {
                "id": "g-1",
                "max_size": 9,
                "version": "1.2.3",
                "build_info": "b7",
                "capabilities": ["suspend_resume"],
            },
        )

    async def _update(self) -> None:
        replies = await self._call("Update", {})
        entries = list[list[Read]]()
        for reply in replies:
            own = self._wire.reply("Update", reply)
            entries += self._wire.entries("Update", reply)
            if any(read.field.means == "id" for read in own):
                entries.append(own)
            self._no_lies("Update", own, count=len(STATES))
        reported = dict[object, object]()
        for entry in entries:
            self._no_lies("Update", entry, count=len(STATES))
            value = _joined(entry)
            reported[value.get("id")] = value.get("state")
        _expect("Update", reported, {name: str(state) for name, state in STATES.items()})

    async def _connect(self) -> None:
        reply = await self._call("ConnectInfo", {"id": "i-2"})
        _expect("ConnectInfo was asked for", self._group.asked.pop(), "i-2")
        had = self._meant("InitRequest")
        expected = {
            **{name: self._passed_on(name) for name in ASKED if name in had},
            "arch": "amd64" if self._group.known_arch else "",
            "id": "i-2",
            "external": "1.2.3.4",
            "internal": "10.0.0.4",
            "expires": int(WHEN.timestamp()) * _SECONDS,
        }
        self._compare("ConnectInfo", reply, expected)

    def _passed_on(self, means: str) -> object:
        """Return what Init was given of the runner's connector_config."""
        return getattr(self._group.connector, means, ASKED[means])

    async def _ask_more(self) -> None:
        """Ask for what is none of ours: a call that is answered all the same is wrong."""
        ids = list(_ALL)
        values: dict[str, Values] = {"Increase": {"count": 5}, "Decrease": {"ids": ids}}
        for call in self._schema.rpcs:
            asks = [
                one.name
                for _, one in self._schema.fields(self._schema.rpcs[call].request)
                if one.demand == "asks"
            ]
            if not asks:
                continue
            own: Values = {"config": _CONFIG, **ASKED} if call == "Init" else {"id": "i-2"}
            await self._call(call, values.get(call, own), noise=True)
            raise Wrong(f"{call} was carried out though it asked for {', '.join(asks)}")

    def _meant(self, key: str) -> set[str]:
        found = {one.means for _, one in self._schema.fields(key)}
        return found - {"", "entries"}

    def _compare(self, call: str, replies: Sequence[bytes], expected: Values) -> None:
        """Compare an answer with what is true."""
        (reply,) = replies
        reads = self._wire.reply(call, reply)
        self._no_lies(call, reads, count=0)
        absent = {read.field.means for read in reads if read.absent}
        for means, value in _joined(reads).items():
            silent = means in absent and means in {"keepalive", "timeout", "expires"}
            if means in expected and not silent and not _same(value, expected[means]):
                raise Wrong(f"{call} told {means} = {value!r}, but it is {expected[means]!r}")

    def _no_lies(self, call: str, reads: Sequence[Read], *, count: int) -> None:
        """Find noise that says what is not true."""
        for read in reads:
            truth: dict[str, object] = {"true": True, "entries": count, "good": "good"}
            demand = read.field.demand
            if demand == "needed" and read.absent:
                raise Wrong(f"{call} told no credentials in {read.field.name}")
            if demand in {"true", "good", "there"} and read.absent:
                raise Wrong(f"{call} left out {read.field.name}, which says that all went well")
            if demand == "needed" or read.absent or demand in {"", "any", "asks", "there"}:
                continue
            if demand == "speaks":
                raise Wrong(f"{call} told {read.field.name} = {read.value!r}: nobody knows that")
            if demand in truth and read.value != truth[demand]:
                raise Wrong(f"{call} told {read.field.name} = {read.value!r}")


def _joined(reads: Sequence[Read]) -> dict[str, object]:
    by_meaning = dict[str, list[Read]]()
    for read in reads:
        if read.field.means:
            by_meaning.setdefault(read.field.means, []).append(read)
    return {
        means: joined(found) if found[0].field.part[1] > 1 else found[0].value
        for means, found in by_meaning.items()
    }


def _same(value: object, expected: object) -> bool:
    if isinstance(value, bytes) and isinstance(expected, str):
        return value == expected.encode()
    if isinstance(value, str) and isinstance(expected, bytes):
        return value.encode() == expected
    if isinstance(value, str) and value.endswith("Z"):
        when = datetime.fromisoformat(value)
        return int(when.timestamp()) * _SECONDS == cast("int", expected)
    return value == expected


def _expect(what: str, found: object, true: object) -> None:
    if found != true:
        raise Wrong(f"{what} {found!r}, but it is {true!r}")
