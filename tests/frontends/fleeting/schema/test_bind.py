"""What goes over the wire: calls read from requests, and answered in the schema's own messages."""

import dataclasses
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from msgspec.structs import replace
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import (
    ConnectInfo,
    Connector,
    Instance,
    Method,
    ProviderInfo,
    Refused,
    State,
)
from hostler.frontends.fleeting.schema.codec.bind import bind, refusing
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap

WHEN = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
UNIX = int(WHEN.timestamp())
TWO = (Instance(id="a", state=State.CREATING), Instance(id="b", state=State.RUNNING))
Json = dict[str, object]


@dataclass
class Asked:
    """A group that keeps what it was asked, and hands the connector of Init back."""

    instances: Sequence[Instance] = TWO
    connect: ConnectInfo = ConnectInfo(id="a", connector=Connector())
    config: bytes = b""
    connector: Connector = field(default_factory=Connector)
    states: frozenset[State] = frozenset()
    maximum: int = 9
    refuses: str = ""
    calls: list[tuple[object, ...]] = field(default_factory=list[tuple[object, ...]])

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        if self.refuses:
            raise Refused(self.refuses)
        self.config, self.connector, self.states = config, connector, states
        capabilities = ("suspend_resume",)
        return ProviderInfo(
            id="g", max_size=self.maximum, version="1.2", build_info="x", capabilities=capabilities
        )

    async def update(self) -> Sequence[Instance]:
        return self.instances

    async def increase(self, count: int) -> int:
        self.calls.append(("increase", count))
        return count - 1

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        self.calls.append(("decrease", *ids))
        return ids[:1]

    async def connect_info(self, instance: str) -> ConnectInfo:
        self.calls.append(("connect_info", instance))
        connector = dataclasses.replace(self.connect.connector, opaque=self.connector.opaque)
        return replace(self.connect, id=instance, connector=connector)

    async def heartbeat(self, instance: str) -> None:
        self.calls.append(("heartbeat", instance))

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        self.calls.append(("suspend", *ids))
        return ids

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        self.calls.append(("resume", *ids))
        return ids

    async def shutdown(self) -> None:
        self.calls.append(("shutdown",))


@dataclass(frozen=True)
class Served:
    """A schema on a group, called as over the wire: both ways through bytes."""

    group: Asked
    methods: dict[str, Method]

    async def call(self, name: str, request: Json | None = None) -> list[Json]:
        """Return the messages of the answer as JSON; default values are left out."""
        method = self.methods[name]
        asked = ParseDict(request or {}, method.request())
        answers = await method.handle(method.request.FromString(asked.SerializeToString()))
        return [_back(method, answer) for answer in answers]

    async def one(self, name: str, request: Json | None = None) -> Json:
        (answer,) = await self.call(name, request)
        return answer


def _back(method: Method, answer: Message) -> Json:
    parsed = method.reply.FromString(answer.SerializeToString())
    return MessageToDict(parsed, preserving_proto_field_name=True)


def serve(file: FileDescriptorProto, group: Asked | None = None, override: str = "") -> Served:
    service: ServiceMap = mapped(file, override)
    assert service.whole, list(service.refused())
    group = group or Asked()
    methods = bind(service, group)
    return Served(group, {method.path.rpartition("/")[2]: method for method in methods})


async def test_every_call_of_a_plain_schema_reaches_the_group_and_is_answered() -> None:
    served = serve(written())
    group = served.group
    connector: Json = {"os": "linux", "username": "ci", "key": "a2V5", "protocolPort": 22}
    answer = await served.one("Init", {"config": "e30=", "connector": connector})
    assert answer == {
        "id": "g",
        "max_size": "9",
        "version": "1.2",
        "build_info": "x",
        "capabilities": ["suspend_resume"],
    }
    assert group.config == b"{}"
    assert (group.connector.os, group.connector.username) == ("linux", "ci")
    assert (group.connector.key, group.connector.protocol_port) == (b"key", 22)
    assert State.STOPPED not in group.states
    assert State.TIMEOUT in group.states
    assert await served.call("Update") == [
        {"id": "a", "state": "STATE_CREATING"},
        {"id": "b", "state": "STATE_RUNNING"},
    ]
    assert await served.one("Increase", {"delta": 3}) == {"succeeded": "2"}
    assert await served.one("Decrease", {"instances": ["a", "b"]}) == {"succeeded": ["a"]}
    assert (await served.one("ConnectInfo", {"id": "a"}))["id"] == "a"
    assert await served.one("Heartbeat", {"id": "b"}) == {}
    assert await served.one("Shutdown") == {}
    assert group.calls == [
        ("increase", 3),
        ("decrease", "a", "b"),
        ("connect_info", "a"),
        ("heartbeat", "b"),
        ("shutdown",),
    ]


# ---------------------------------------------------------------- Update

UPDATES: dict[str, tuple[dict[str, str], bool, list[Json]]] = {
    "a stream of lists": (
        {"UpdateReply": "repeated I instances = 3;", "I": "State state = 2; string id = 9;"},
        True,
        [
            {
                "instances": [
                    {"id": "a", "state": "STATE_CREATING"},
                    {"id": "b", "state": "STATE_RUNNING"},
                ]
            }
        ],
    ),
    "a list": (
        {"UpdateReply": "repeated I items = 3;", "I": "State state = 2; string id = 9;"},
        False,
        [
            {
                "items": [
                    {"id": "a", "state": "STATE_CREATING"},
                    {"id": "b", "state": "STATE_RUNNING"},
                ]
            }
        ],
    ),
    "a map of enums": (
        {"UpdateReply": "map<string, State> instances = 4;"},
        False,
        [{"instances": {"a": "STATE_CREATING", "b": "STATE_RUNNING"}}],
    ),
    "a map of texts": (
        {"UpdateReply": "map<string, string> instances = 4;"},
        False,
        [{"instances": {"a": "creating", "b": "running"}}],
    ),
    "a map of messages": (
        {"UpdateReply": "map<string, I> states = 4;", "I": "string note = 1; State state = 2;"},
        False,
        [{"states": {"a": {"state": "STATE_CREATING"}, "b": {"state": "STATE_RUNNING"}}}],
    ),
    "a stream of nested instances": (
        {"UpdateReply": "I instance = 4;", "I": "string id = 1; string state = 2;"},
        True,
        [
            {"instance": {"id": "a", "state": "creating"}},
            {"instance": {"id": "b", "state": "running"}},
        ],
    ),
    "a list in an envelope": (
        {
            "UpdateReply": "R result = 1; string error = 2;",
            "R": "repeated I instances = 1;",
            "I": "string instance_id = 1; State state = 2;",
        },
        False,
        [
            {
                "result": {
                    "instances": [
                        {"instance_id": "a", "state": "STATE_CREATING"},
                        {"instance_id": "b", "state": "STATE_RUNNING"},
                    ]
                }
            }
        ],
    ),
    "wrapped ids": (
        {
            "UpdateReply": "repeated I instances = 1;",
            "I": "google.protobuf.StringValue id = 1; State state = 2;",
        },
        False,
        [
            {
                "instances": [
                    {"id": "a", "state": "STATE_CREATING"},
                    {"id": "b", "state": "STATE_RUNNING"},
                ]
            }
        ],
    ),
}


@pytest.mark.parametrize("case", UPDATES)
async def test_instances_are_told_in_every_shape(case: str) -> None:
    bodies, stream, expected = UPDATES[case]
    served = serve(written(bodies, stream=stream))
    assert served.methods["Update"].streams is stream
    assert await served.call("Update") == expected
    served.group.instances = (Instance(id="b", state=State.DELETING),)
    (again,) = await served.call("Update")
    assert '"a"' not in json.dumps(again)
    assert "deleting" in json.dumps(again).lower()


async def test_a_group_without_instances_is_told_as_such() -> None:
    assert await serve(written(), Asked(())).call("Update") == []
    bodies = {"UpdateReply": "map<string, State> instances = 4;"}
    assert await serve(written(bodies, stream=False), Asked(())).call("Update") == [{}]


@pytest.mark.parametrize(
    "shape", ["repeated I instances = 1;", "map<string, State> instances = 1;"]
)
async def test_a_zero_that_is_a_real_state_arrives(shape: str) -> None:
    bodies = {"UpdateReply": shape, "I": "string id = 1; State state = 2;"}
    served = serve(written(bodies, stream=False, states="CREATING RUNNING DELETING"))
    method = served.methods["Update"]
    (answer,) = await method.handle(method.request())
    output = MessageToDict(method.reply.FromString(answer.SerializeToString()))
    assert len(output["instances"]) == 2  # the zero is left out on the wire, its instance is not
    assert served.group.instances[0].state is State.CREATING


# ---------------------------------------------------------------- ids and counts

IDS = {
    "texts": ("repeated string ids = 1;", {"ids": ["a", "b"]}),
    "messages": ("repeated Ref instances = 6;", {"instances": [{"id": "a"}, {"id": "b"}]}),
    "wrapped texts": ("repeated google.protobuf.StringValue ids = 6;", {"ids": ["a", "b"]}),
    "an envelope": ("Ids data = 1;", {"data": {"ids": ["a", "b"]}}),
}


@pytest.mark.parametrize("case", IDS)
async def test_ids_are_read_in_every_shape(case: str) -> None:
    body, request = IDS[case]
    bodies = {"DecreaseRequest": body, "Ref": "string id = 1;", "Ids": "repeated string ids = 1;"}
    served = serve(written(bodies))
    assert await served.one("Decrease", dict(request)) == {"succeeded": ["a"]}
    assert served.group.calls == [("decrease", "a", "b")]


@pytest.mark.parametrize("case", IDS)
async def test_ids_are_answered_in_every_shape(case: str) -> None:
    body, request = IDS[case]
    bodies = {"DecreaseReply": body, "Ref": "string id = 1;", "Ids": "repeated string ids = 1;"}
    served = serve(written(bodies))
    answer = await served.one("Decrease", {"instances": ["a", "b"]})
    assert json.dumps(answer) == json.dumps(request).replace(', "b"', "").replace(
        ', {"id": "b"}', ""
    )


NUMBERS = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64"),
    *("sfixed32", "sfixed64", "google.protobuf.Int64Value", "google.protobuf.UInt32Value"),
)


@pytest.mark.parametrize("kind", NUMBERS)
async def test_counts_go_both_ways_in_every_type(kind: str) -> None:
    bodies = {"IncreaseRequest": f"{kind} delta = 3;", "IncreaseReply": f"{kind} succeeded = 2;"}
    served = serve(written(bodies))
    answer = await served.one("Increase", {"delta": 5})
    assert int(str(answer["succeeded"])) == 4
    assert served.group.calls == [("increase", 5)]
    nothing = await served.one("Increase", {"delta": 1})
    assert int(str(nothing.get("succeeded", 0))) == 0
    if "google" in kind:
        assert "succeeded" in nothing


async def test_less_than_nothing_is_refused() -> None:
    served = serve(written())
    with pytest.raises(Refused, match="-3"):
        await served.call("Increase", {"delta": -3})
    assert served.group.calls == []


async def test_messages_of_google_are_requests_too() -> None:
    methods = {
        "Heartbeat": ("google.protobuf.StringValue", "google.protobuf.Empty"),
        "Increase": ("google.protobuf.Int64Value", "google.protobuf.Int64Value"),
        "Shutdown": ("google.protobuf.Empty", "google.protobuf.Empty"),
    }
    served = serve(written(methods=methods))
    method = served.methods["Increase"]
    (answer,) = await method.handle(method.request(value=4))
    assert MessageToDict(answer) == "3"
    method = served.methods["Heartbeat"]
    await method.handle(method.request(value="b"))
    assert served.group.calls == [("increase", 4), ("heartbeat", "b")]


async def test_a_maximum_beyond_its_field_is_the_largest_that_fits() -> None:
    group = Asked(maximum=2**40)
    served = serve(written({"InitReply": "string id = 1; int32 max_size = 2;"}), group)
    assert (await served.one("Init"))["max_size"] == 2**31 - 1


async def test_a_healthy_instance_and_a_success_are_said_to_be_so() -> None:
    bodies = {
        "HeartbeatReply": "bool healthy = 1;",
        "DecreaseReply": "repeated string succeeded = 1; bool success = 2;",
    }
    served = serve(written(bodies))
    assert await served.one("Heartbeat", {"id": "a"}) == {"healthy": True}
    assert (await served.one("Decrease", {"instances": ["a"]}))["success"] is True


# ---------------------------------------------------------------- Init

CONFIGS = {
    "bytes": ("bytes config = 1;", "eyJhIjogMX0="),
    "a text": ("string config_json = 1;", '{"a": 1}'),
    "a Struct": ("google.protobuf.Struct config = 1;", {"a": 1}),
    "a wrapper": ("google.protobuf.BytesValue config = 1;", "eyJhIjogMX0="),
}


@pytest.mark.parametrize("case", CONFIGS)
async def test_the_configuration_arrives_as_json_in_every_type(case: str) -> None:
    body, value = CONFIGS[case]
    served = serve(written({"InitRequest": f"{body} Connector settings = 2;"}))
    name = body.split()[1]
    await served.call("Init", {name: value})
    assert served.group.config == b'{"a": 1}'


async def test_whole_numbers_of_a_struct_stay_whole_at_any_depth() -> None:
    served = serve(
        written({"InitRequest": "google.protobuf.Struct config = 1; Connector settings = 2;"})
    )
    config = {"a": {"b": [22, 0.5]}, "c": True, "d": None, "e": "1.0"}
    await served.call("Init", {"config": config})
    assert json.loads(served.group.config, parse_float=str) == {
        **config,
        "a": {"b": [22, "0.5"]},
    }


async def test_a_protocol_is_an_enum_or_a_text() -> None:
    connector = CONNECTOR.replace("string protocol", "Protocol protocol")
    connect = ConnectInfo(id="a", connector=Connector(protocol="winrm+https", os="windows"))
    enums = "Protocol PROTOCOL_NONE PROTOCOL_SSH PROTOCOL_WINRM PROTOCOL_WINRM_HTTPS"
    served = serve(written({"Connector": connector}, enums=enums), Asked(connect=connect))
    await served.call("Init", {"connector": {"protocol": "PROTOCOL_SSH"}})
    assert served.group.connector.protocol == "ssh"
    await served.call("Init", {"connector": {"protocol": "PROTOCOL_NONE"}})
    assert served.group.connector.protocol == ""
    answer = await served.one("ConnectInfo", {"id": "a"})
    assert answer["connector"] == {"os": "windows", "protocol": "PROTOCOL_WINRM_HTTPS"}


async def test_a_key_is_bytes_or_a_text() -> None:
    connect = ConnectInfo(id="a", connector=Connector(key=b"PEM", username="ci"))
    flat = "string id = 1; string user = 2; string private_key = 3; string external_ip = 4;"
    served = serve(written({"ConnectInfoReply": flat}), Asked(connect=connect))
    answer = await served.one("ConnectInfo", {"id": "a"})
    assert answer == {"id": "a", "user": "ci", "private_key": "PEM"}


# ---------------------------------------------------------------- times and durations

TIMES = {
    "google.protobuf.Timestamp expires": "2026-11-21T12:30:15Z",
    "int64 expires_at": str(UNIX),
    "int64 expires_at_unix_ms": str(UNIX * 1000),
    "int64 expires_at_ns": str(UNIX * 10**9),
    "uint32 expires_unix": UNIX,
    "double expires_at": float(UNIX),
    "string expires": "2026-11-21T12:30:15Z",
    "optional string expires": "2026-11-21T12:30:15Z",
    "google.protobuf.Int64Value expires": str(UNIX),
}


@pytest.mark.parametrize("body", TIMES)
async def test_an_end_is_told_in_every_encoding(body: str) -> None:
    reply = BODIES["ConnectInfoReply"].rpartition(" google")[0] + f" {body} = 5;"
    group = Asked(connect=ConnectInfo(id="a", connector=Connector(), expires=WHEN))
    served = serve(written({"ConnectInfoReply": reply}), group)
    name = body.rpartition(" ")[2]
    assert (await served.one("ConnectInfo", {"id": "a"}))[name] == TIMES[body]
    group.connect = replace(group.connect, expires=None)
    assert name not in await served.one("ConnectInfo", {"id": "a"})


DURATIONS = {
    "Duration to Duration": ("google.protobuf.Duration keepalive", "90s", None, "90s"),
    "nanoseconds to nanoseconds": ("int64 keepalive_ns", "90", None, "90"),
    "a number without a unit": ("int64 keepalive", "17", None, "17"),
    "a text": ("string keepalive", "1m30s", None, "1m30s"),
    "seconds": ("double keepalive_seconds", 1.5, None, 1.5),
    "Duration to milliseconds": (
        "google.protobuf.Duration keepalive",
        "1.5s",
        "int64 keepalive_ms",
        "1500",
    ),
    "a text to a Duration": (
        "string keepalive",
        "1m30s",
        "google.protobuf.Duration keepalive",
        "90s",
    ),
    "seconds to a text": ("int64 keepalive_seconds", "90", "string keepalive", "90s"),
    "no unit to a Duration": ("int64 keepalive", "90", "google.protobuf.Duration keepalive", None),
    "no text that is known": ("string keepalive", "soon", "int64 keepalive_ms", None),
}


@pytest.mark.parametrize("case", DURATIONS)
async def test_a_duration_goes_back_as_it_came_or_not_at_all(case: str) -> None:
    asked, value, answer, back = DURATIONS[case]
    bodies = {
        "InitRequest": f"bytes config = 1; {asked} = 2;",
        "ConnectInfoReply": "string id = 1; string external_addr = 2; string username = 4;"
        f" bytes key = 5; {answer or asked} = 3;",
    }
    served = serve(written(bodies))
    name, answered = asked.rpartition(" ")[2], (answer or asked).rpartition(" ")[2]
    await served.call("Init", {name: value})
    assert (await served.one("ConnectInfo", {"id": "a"})).get(answered) == back


# ---------------------------------------------------------------- oneofs, proto2, editions


async def test_of_a_oneof_one_field_is_set() -> None:
    connector = CONNECTOR.replace("string password = 6; bytes key = 7;", "").strip()
    body = f"{connector} oneof secret {{ string password = 6; bytes key = 7; }}"
    connect = ConnectInfo(id="a", connector=Connector(password="p", key=b"key"))
    served = serve(written({"Connector": body}), Asked(connect=connect))
    assert (await served.one("ConnectInfo", {"id": "a"}))["connector"] == {"key": "a2V5"}


@pytest.mark.parametrize("name", ["password", "key"])
async def test_a_request_may_set_any_field_of_a_oneof_that_is_ours(name: str) -> None:
    secret = "oneof secret { string password = 6; string key = 7; }"
    body = CONNECTOR.replace("string password = 6; bytes key = 7;", secret)
    asked = Asked()
    await serve(written({"Connector": body}), asked).one(
        "Init", {"config": "e30=", "connector": {"username": "u", name: "secret"}}
    )
    connector = asked.connector
    read = {"password": connector.password, "key": connector.key.decode()}
    assert read == {"password": "", "key": "", name: "secret"}
    assert connector.username == "u"


async def test_a_request_that_means_another_field_of_a_oneof_is_refused() -> None:
    body = "oneof how { int64 delta = 1; int64 desired = 2; }"
    served = serve(written({"IncreaseRequest": body}))
    assert await served.one("Increase", {"delta": 2}) == {"succeeded": "1"}
    with pytest.raises(Refused, match="desired"):
        await served.call("Increase", {"desired": 2})


@pytest.mark.parametrize("syntax", ["proto2", "proto3"])
async def test_both_syntaxes_are_served(syntax: str) -> None:
    served = serve(written(syntax=syntax))
    assert await served.one("Increase", {"delta": 3}) == {"succeeded": "2"}
    assert len(await served.call("Update")) == 2


async def test_a_required_text_that_is_empty_is_written() -> None:
    body = (
        "required string id = 1; optional Connector connector = 2;"
        " required string external_addr = 3; required string internal_addr = 4;"
    )
    served = serve(written({"ConnectInfoReply": body}, syntax="proto2"))
    answer = await served.one("ConnectInfo", {"id": "a"})
    assert answer["internal_addr"] == ""


async def test_editions_are_served() -> None:
    file = written(syntax="editions")
    file.edition = 1000  # pyright: ignore[reportAttributeAccessIssue] - an enum's number
    assert await serve(file).one("Increase", {"delta": 3}) == {"succeeded": "2"}


async def test_suspend_and_resume_are_served_where_the_schema_has_them() -> None:
    methods = {
        "Suspend": ("DecreaseRequest", "DecreaseReply"),
        "Resume": ("DecreaseRequest", "DecreaseReply"),
        "Describe": ("UpdateRequest", "UpdateReply"),
    }
    served = serve(written(methods=methods))
    assert await served.one("Suspend", {"instances": ["a"]}) == {"succeeded": ["a"]}
    assert await served.one("Resume", {"instances": ["b"]}) == {"succeeded": ["b"]}
    assert served.group.calls == [("suspend", "a"), ("resume", "b")]
    assert "Describe" not in served.methods


async def test_a_service_that_is_not_understood_refuses_every_call() -> None:
    service = mapped(written({"DecreaseReply": "repeated string failed = 1;"}))
    with pytest.raises(ValueError, match="not mapped"):
        bind(service, Asked())
    methods = refusing(service.service, "because of this")
    assert {method.path.rpartition("/")[2] for method in methods} == set(service.calls)
    for method in methods:
        with pytest.raises(Refused, match="because of this"):
            await method.handle(method.request())


async def test_init_that_is_refused_is_not_told_to_have_begun() -> None:
    begun = list[str]()
    service = mapped(written())
    for group, expected in ((Asked(refuses="no name"), 0), (Asked(), 1)):
        methods = bind(service, group, lambda one: begun.append(one.name))
        init = next(method for method in methods if method.path.endswith("/Init"))
        with suppress(Refused):
            await init.handle(init.request())
        assert len(begun) == expected
