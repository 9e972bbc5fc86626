"""The laws of a mapping, each by schemas that once came out wrong without a word."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import ConnectInfo, Connector, Instance, Refused, State
from hostler.frontends.fleeting.schema.advice import override_lines, refusal
from hostler.frontends.fleeting.schema.binary.processes import ProcFolder
from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.learn import Learning, learn
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap
from hostler.frontends.fleeting.schema.vocabulary.names import CORE_METHODS


def unmapped(service: ServiceMap) -> set[str]:
    """Return the fields that are refused."""
    return {line.partition(": ")[0] for line in service.refused()}


# ---------------------------------------------------------------- every field is accounted for

SPEAKING = {
    "found": ("ConnectInfoReply", "bool found = 20;"),
    "ready": ("InitReply", "bool ready = 20;"),
    "initialized": ("InitReply", "bool initialized = 20;"),
    "done": ("DecreaseReply", "bool done = 20;"),
    "accepted": ("IncreaseReply", "bool accepted = 20;"),
    "verdict": ("DecreaseReply", "string verdict = 20;"),
    "zone_count": ("UpdateReply", "int32 zone_count = 20;"),
    "blob": ("InitReply", "bytes blob = 20;"),
    "score": ("HeartbeatReply", "double score = 20;"),
    "mood": ("ShutdownReply", "Mood mood = 20;"),
    "error_cleared": ("ShutdownReply", "bool error_cleared = 20;"),
    "failed_count": ("DecreaseReply", "int32 failed_count = 20;"),
    "partial": ("IncreaseReply", "bool partial = 20;"),
    "throttled": ("DecreaseReply", "bool throttled = 20;"),
}


@pytest.mark.parametrize("name", SPEAKING)
def test_a_plain_field_that_speaks_at_zero_is_refused(name: str) -> None:
    message, added = SPEAKING[name]
    bodies = {message: f"{BODIES[message]} {added}"}
    service = mapped(written(bodies, enums="Mood GLOOMY BRIGHT"))
    assert unmapped(service) == {f"{message.removesuffix('Reply')}.reply.{name}"}
    assert not service.whole


SILENT = {
    "optional": "optional string zone_name = 20;",
    "repeated": "repeated string warnings = 20;",
    "a message": "Other further = 20;",
    "a member of a oneof": "oneof more { string one = 20; int32 two = 21; }",
    "a map": "map<string, string> attributes = 20;",
    "a wrapper": "google.protobuf.Int32Value rank = 20;",
    "a text that is harmless": "string error = 20; string message = 21; int32 error_code = 22;",
    "a flag that is harmless": "bool cached = 20; bool has_more = 21;",
    "an error that is none": "Problem error = 20;",
}


@pytest.mark.parametrize("case", SILENT)
@pytest.mark.parametrize("message", ["IncreaseReply", "HeartbeatReply"])
def test_what_is_silent_or_harmless_when_left_out_is_left_out(message: str, case: str) -> None:
    bodies = {message: f"{BODIES[message]} {SILENT[case]}", "Other": "string text = 1;"}
    assert list(mapped(written(bodies, enums="Problem NONE BAD")).refused()) == []


DEFAULTS = {
    "a harmless flag": ("UpdateReply", "truncated", "bool", "true", "false", False),
    "a flag of what went wrong": ("HeartbeatReply", "unhealthy", "bool", "true", "false", False),
    "a harmless text": ("IncreaseReply", "error", "string", "not tried", '""', ""),
    "a number": ("DecreaseReply", "rank", "int32", "500", "0", 0),
    "an enum": ("UpdateReply", "next_state", "State", "STATE_DELETING", '"STATE_UNSPECIFIED"', 0),
    "a time that is not known": ("ConnectInfoReply", "expires", "int64", "1", "0", 0),
}
"""Message, field, its type and default in proto2, the line that settles it, what is said then."""


@pytest.mark.parametrize("case", DEFAULTS)
def test_a_default_of_the_schemas_speaks_where_we_say_nothing(case: str) -> None:
    message, name, kind, default, line, text = DEFAULTS[case]
    body = BODIES[message].replace("google.protobuf.Timestamp expires = 5;", "")
    added = f"optional {kind} {name} = 20 [default={default}];"
    file = written({message: f"{body} {added}"}, syntax="proto2")
    call = message.removesuffix("Reply")
    service = mapped(file)
    (refused,) = service.refused()
    assert refused.startswith(f"{call}.reply.{name}: left out, it says ")
    assert default in refused
    settled = mapped(file, f"[{call}.reply.always]\n{name} = {line}")
    assert list(settled.refused()) == []
    reply = _answer(Codec(settled), call)
    assert (reply.HasField(name), getattr(reply, name)) == (True, text)


def test_a_default_is_no_matter_where_we_always_say_something() -> None:
    body = CONNECTOR.replace("string username = 5", "optional string username = 5 [default=root]")
    ok = "optional bool ok = 20 [default=false];"
    file = written({"Connector": body, "HeartbeatReply": ok}, syntax="proto2")
    codec = Codec(mapped(file))
    reply = codec.reached(ConnectInfo(id="a", connector=Connector(), external="1.2.3.4"))
    assert getattr(reply, "connector").username == ""  # noqa: B009 - a field of the schema
    assert getattr(codec.done("Heartbeat"), "ok") is True  # noqa: B009


@pytest.mark.parametrize(("asked", "answered"), [(None, 30), (0, 0), (7, 7)])
def test_a_duration_of_init_comes_back_whatever_the_default_is(
    asked: int | None, answered: int
) -> None:
    body = CONNECTOR.replace(
        "google.protobuf.Duration timeout = 10;", "optional int32 timeout_s = 10 [default=30];"
    )
    service = mapped(written({"Connector": body}, syntax="proto2"))
    codec = Codec(service)
    request = GetMessageClass(service.calls["Init"].method.input_type)()
    if asked is not None:
        getattr(request, "connector").timeout_s = asked  # noqa: B009 - a field of the schema
    _, connector = codec.begin(request)
    reply = codec.reached(ConnectInfo(id="a", connector=connector, external="1.2.3.4"))
    assert getattr(reply, "connector").timeout_s == answered  # noqa: B009


def test_an_enum_that_says_its_default_where_nothing_is_known_is_refused() -> None:
    body = CONNECTOR.replace("string os = 1", "optional System os = 1 [default=WINDOWS]")
    file = written({"Connector": body}, syntax="proto2", enums="System UNKNOWN LINUX WINDOWS")
    assert unmapped(mapped(file)) == {"ConnectInfo.reply.connector.os"}


def _answer(codec: Codec, call: str) -> Message:
    """Return an answer of a call that has nothing to say beside what it must."""
    match call:
        case "Update":
            (reply,) = codec.report([Instance(id="a", state=State.RUNNING)])
            return reply
        case "Increase":
            return codec.counted(3)
        case "ConnectInfo":
            return codec.reached(ConnectInfo(id="a", connector=Connector(), external="1.2.3.4"))
        case _:
            return codec.done(call)


def test_a_verdict_in_a_message_that_would_be_left_out_is_refused() -> None:
    bodies = {"ShutdownReply": "Other outcome = 1;", "Other": "bool accepted = 1;"}
    assert unmapped(mapped(written(bodies))) == {"Shutdown.reply.outcome.accepted"}


MISSING = {
    "an optional flag": ("ConnectInfoReply", "optional bool found = 20;", "found"),
    "a flag in a wrapper": ("InitReply", "google.protobuf.BoolValue ready = 20;", "ready"),
    "an optional enum": ("ConnectInfoReply", "optional Mood status_code = 20;", "status_code"),
    "an empty message": (
        "HeartbeatReply",
        "google.protobuf.Empty healthy_now = 20;",
        "healthy_now",
    ),
    "a message of its own": ("ShutdownReply", "Alive state = 20;", "state"),
    "what went well beside what did not": (
        "IncreaseReply",
        "oneof end { Other receipt = 20; string error = 21; }",
        "receipt",
    ),
    "an enum in a status": ("DecreaseReply", "Status status = 20;", "status.code"),
    "a list of those that are well": ("HeartbeatReply", "repeated string healthy_ids = 20;", ""),
    "a map of verdicts": ("DecreaseReply", "map<string, bool> ok_by_id = 20;", ""),
    "a list with a verdict on each": ("IncreaseReply", "repeated One results = 20;", ""),
    "a list of those that are gone": ("UpdateReply", "repeated string removed = 20;", ""),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_verdict_speaks_though_its_absence_can_be_seen(case: str) -> None:
    message, added, name = MISSING[case]
    bodies = {
        message: f"{BODIES[message]} {added}",
        "Alive": "string note = 1;",
        "Other": "string text = 1;",
        "One": "string id = 1; bool ok = 2;",
        "Status": "Mood code = 1;",
    }
    file = written(bodies, enums="Mood GLOOMY BRIGHT")
    call, listed = message.removesuffix("Reply"), name == ""
    name = name or added.split(" = ")[0].split()[-1]
    assert unmapped(mapped(file)) == {f"{call}.reply.{name}"}
    value = '"BRIGHT"' if "Mood" in added or "." in name else "false" if listed else "true"
    line = f'"{name}" = {value}'
    assert f"# {line}   # always" in override_lines(mapped(file), several=False)
    settled = mapped(file, f"[{call}.reply.always]\n{line}")
    assert list(settled.refused()) == []
    reply = _answer(Codec(settled), call)
    first = name.partition(".")[0]
    assert not getattr(reply, first) if listed else reply.HasField(first)


STREAMED = {
    "an end": ("oneof event { I instance = 1; End end = 2; }", "end"),
    "a mark beside the instance": ("I instance = 1; google.protobuf.Empty synced = 2;", "synced"),
    "a flag beside the instance": ("I instance = 1; optional bool last = 2;", "last"),
    "what is gone": ("oneof event { I instance = 1; string removed = 2; }", "removed"),
    "a beat": ("oneof event { I instance = 1; Beat beat = 2; }", "beat"),
    "an end of batches": ("oneof event { UpdateList result = 1; End end = 2; }", "end"),
}
INSTANCE = {"I": "string id = 1; State state = 2;", "UpdateList": "repeated I instances = 1;"}
BESIDE = {"End": "", "Beat": "int64 at = 1;"}


@pytest.mark.parametrize("case", STREAMED)
def test_what_a_stream_says_beside_instances_may_have_to_come(case: str) -> None:
    body, name = STREAMED[case]
    file = written({"UpdateReply": body, **INSTANCE, **BESIDE})
    assert f"Update.reply.{name}" in unmapped(mapped(file))
    if name in {"end", "synced"}:
        settled = mapped(file, f'[Update.reply.always]\n"{name}" = false')
        assert list(settled.refused()) == []


def test_a_stream_need_not_say_what_went_wrong_nor_what_else_a_state_could_be() -> None:
    bodies = {
        "UpdateReply": "oneof event { I instance = 1; string error = 2; }",
        "I": "string id = 1; oneof how { State state = 2; Beat beat = 3; }",
    }
    assert mapped(written({**bodies, "Beat": BESIDE["Beat"]})).whole


def test_what_is_required_and_none_of_ours_is_asked_about_and_can_be_settled() -> None:
    bodies = {
        "IncreaseReply": "required int64 succeeded = 1; required Span span = 2;",
        "Span": "required string trace = 1; optional int32 depth = 2;",
    }
    file = written(bodies, syntax="proto2")
    service = mapped(file)
    assert unmapped(service) == {"Increase.reply.span", "Increase.reply.span.trace"}
    lines = override_lines(service, several=False)
    answered = "\n".join(line.removeprefix("# ") for line in lines)
    settled = mapped(file, answered)
    assert settled.whole
    reply = Codec(settled).counted(3)
    assert type(reply).FromString(reply.SerializeToString()) == reply
    assert not mapped(file, "[Increase.reply.always]\nspan = false").whole


def test_what_would_take_the_place_of_ours_in_a_oneof_cannot_always_be_there() -> None:
    bodies = {"IncreaseReply": "oneof end { int64 succeeded = 1; string error = 2; }"}
    service = mapped(written(bodies), '[Increase.reply.always]\nerror = ""')
    (fault,) = service.faults
    assert fault.startswith("Increase.reply.always: error cannot always be there")


def test_a_message_or_a_list_is_there_or_not_and_nothing_else() -> None:
    body = "google.protobuf.Empty fine = 1; repeated string passed = 2;"
    file = written({"HeartbeatReply": body})
    for line in ('fine = "yes"', "passed = true"):
        service = mapped(file, f"[Heartbeat.reply.always]\n{line}")
        assert any("no single value" in fault for fault in service.faults)


RIGHTLY = {
    "what went wrong": "google.protobuf.Empty unhealthy = 2; repeated string failed_ids = 3;"
    " bool failed = 4;",
    "a status whose first value is good": "Status status = 1;",
    "what else it could say": "oneof end { bool healthy = 1; google.protobuf.Empty done = 2; }",
}


@pytest.mark.parametrize("case", RIGHTLY)
def test_what_is_not_the_case_is_rightly_left_out(case: str) -> None:
    bodies = {"HeartbeatReply": RIGHTLY[case], "Status": "Code code = 1; string message = 2;"}
    assert mapped(written(bodies, enums="Code OK LOST")).whole


def test_fields_beside_id_and_state_of_each_instance_are_accounted_for() -> None:
    bodies = {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2; bool ready = 3; string note = 4;",
    }
    service = mapped(written(bodies, stream=False))
    assert unmapped(service) == {"Update.reply.instances.ready"}


@pytest.mark.parametrize("call", [call for call in CORE_METHODS if call != "Update"])
def test_ok_is_said_in_every_answer(call: str) -> None:
    message = f"{call}Reply"
    service = mapped(written({message: f"{BODIES[message]} bool ok = 20;"}))
    assert service.whole
    name = "healthy" if call == "Heartbeat" else "ok"
    leaf = service.calls[call].leaf("reply", name)
    assert leaf is not None
    assert getattr(Codec(service).done(call), "ok") is True  # noqa: B009 - a field of the schema


@pytest.mark.parametrize(
    "shape", ["repeated I instances = 1;", "map<string, State> instances = 1;"]
)
def test_update_says_ok_and_how_many_there_are(shape: str) -> None:
    bodies = {
        "UpdateReply": f"{shape} bool ok = 2; uint32 total = 3;",
        "I": "string id = 1; State state = 2;",
    }
    codec = Codec(mapped(written(bodies, stream=False)))
    (message,) = codec.report([Instance(id="a", state=State.RUNNING)])
    assert (getattr(message, "ok"), getattr(message, "total")) == (True, 1)  # noqa: B009


FIRST = {
    "an architecture": ("Arch ARM64 AMD64", "arch", False),
    "an unset architecture": ("Arch ARCH_UNSPECIFIED ARM64 AMD64", "arch", True),
    "a system": ("Os WINDOWS LINUX", "os", False),
    "a protocol without ssh": ("Protocol WINRM", "protocol", False),
    "another protocol first": ("Protocol WINRM SSH", "protocol", False),
    "ssh first": ("Protocol SSH WINRM", "protocol", True),
}


@pytest.mark.parametrize("case", FIRST)
def test_an_enum_may_say_nothing_else_where_there_is_nothing_to_say(case: str) -> None:
    kind, name, whole = FIRST[case]
    connector = CONNECTOR.replace(f"string {name} ", f"{kind.split()[0]} {name} ")
    service = mapped(written({"Connector": connector}, enums=kind))
    assert service.whole is whole
    assert unmapped(service) == (set() if whole else {f"ConnectInfo.reply.connector.{name}"})


def test_a_protocol_that_cannot_be_said_is_refused_when_it_comes() -> None:
    connector = CONNECTOR.replace("string protocol ", "Protocol protocol ")
    codec = Codec(mapped(written({"Connector": connector}, enums="Protocol NONE SSH")))
    info = ConnectInfo(id="a", connector=Connector(protocol="winrm"), external="1.2.3.4")
    with pytest.raises(Refused, match="winrm"):
        codec.reached(info)


def test_a_value_of_a_request_that_is_none_of_ours_is_refused_when_it_comes() -> None:
    connector = CONNECTOR.replace("string os ", "Os os ")
    service = mapped(written({"Connector": connector}, enums="Os UNKNOWN LINUX PLAN_NINE"))
    method = service.calls["Init"].method
    codec = Codec(service)
    request = message_of(method.input_type, connector={"os": 2})
    with pytest.raises(Refused, match="plannine"):
        codec.begin(request)


def message_of(kind: Descriptor, **values: object) -> Message:
    return ParseDict(values, GetMessageClass(kind)())


# ---------------------------------------------------------------- two places

RIVALS = {
    "a map of texts beside one of states": {
        "UpdateReply": "map<string, string> instances = 1; map<string, State> states = 2;"
    },
    "a map beside a list": {
        "UpdateReply": "repeated I instances = 1; map<string, string> machines = 2;",
        "I": "string id = 1; State state = 2;",
    },
    "two lists under names that nobody knows": {
        "UpdateReply": "repeated I instances = 1; repeated I crew = 2;",
        "I": "string id = 1; State state = 2;",
    },
    "ids beside what succeeded": {
        "DecreaseReply": "repeated string succeeded = 1; repeated string instances = 2;"
    },
    "a newer list": {
        "DecreaseReply": "repeated string succeeded = 1; repeated string succeeded_v2 = 2;"
    },
    "a number beside a number": {
        "IncreaseReply": "int64 succeeded = 1; optional int64 accepted_instances = 2;"
        " google.protobuf.Int64Value granted = 3;"
    },
    "a size among the limits": {
        "InitReply": f"{BODIES['InitReply']} Limits limits = 20;",
        "Limits": "int32 max_instances = 1;",
    },
    "another login": {
        "ConnectInfoReply": f"{BODIES['ConnectInfoReply']} optional string login_username = 20;"
    },
}


@pytest.mark.parametrize("case", RIVALS)
def test_two_places_that_could_hold_the_same_are_refused_and_asked_about(case: str) -> None:
    bodies = RIVALS[case]
    service = mapped(written(bodies, stream=False, states="RUNNING CREATING DELETING"))
    if "UpdateReply" not in bodies:
        service = mapped(written(bodies))
    assert not service.whole
    reasons = "\n".join(service.refused())
    assert "could" in reasons
    lines = override_lines(service, several=False)
    assert all(line.startswith(("[", "# ")) for line in lines)


# ---------------------------------------------------------------- the names of messages

TURNED = {
    "Shortfall": ("IncreaseReply", "Increase.reply.succeeded"),
    "DecreaseFailures": ("DecreaseReply", "Decrease.reply.succeeded"),
    "SetTargetSize": ("IncreaseRequest", "Increase.request.count"),
    "Leftovers": ("DecreaseReply", "Decrease.reply.succeeded"),
    "AllBut": ("DecreaseRequest", "Decrease.request.ids"),
    "PreviousState": ("State", "Update.reply.state"),
}


@pytest.mark.parametrize("name", TURNED)
def test_a_message_whose_name_may_turn_its_fields_round_is_refused(name: str) -> None:
    message, field = TURNED[name]
    file = written()
    for kind in (*file.message_type, *file.enum_type):
        if kind.name == message:
            kind.name = name
    _retarget(file, message, name)
    service = mapped(file)
    assert field in unmapped(service)
    assert name in "\n".join(service.refused())


def _retarget(file: FileDescriptorProto, old: str, new: str) -> None:
    """Let everything that was of a type be of its new name."""
    for message in file.message_type:
        for field in message.field:
            if field.type_name.endswith(f".{old}"):
                field.type_name = field.type_name.replace(f".{old}", f".{new}")
    for method in file.service[0].method:
        method.input_type = method.input_type.replace(f".{old}", f".{new}")
        method.output_type = method.output_type.replace(f".{old}", f".{new}")


# ---------------------------------------------------------------- what cannot be conveyed

UNCONVEYED = {
    "credentials in a Struct": "google.protobuf.Struct credentials = 2;",
    "credentials in a map": "map<string, string> credentials = 2;",
    "credentials in an Any": "google.protobuf.Any credentials = 2;",
}


@pytest.mark.parametrize("case", UNCONVEYED)
def test_credentials_without_a_schema_are_refused(case: str) -> None:
    body = f"string id = 1; string external_addr = 3; string internal_addr = 4; {UNCONVEYED[case]}"
    service = mapped(written({"ConnectInfoReply": body}))
    assert {"ConnectInfo.reply.username", "ConnectInfo.reply.key"} <= unmapped(service)


def test_states_that_are_plain_numbers_are_refused_until_the_numbers_are_named() -> None:
    bodies = {"UpdateReply": "map<string, int32> instances = 1;"}
    file = written(bodies, stream=False)
    lines = override_lines(mapped(file), several=False)
    assert '# creating = "NUMBER"' in lines
    text = '[Update.reply]\ninstances = "instances"\n[states]\n'
    assert not mapped(file, text).whole
    service = mapped(file, f"{text}creating = 4\nrunning = 5\ndeleting = 6")
    assert service.whole
    assert service.offered == {State.CREATING, State.RUNNING, State.DELETING}
    (message,) = Codec(service).report([Instance(id="a", state=State.RUNNING)])
    assert dict(getattr(message, "instances")) == {"a": 5}  # noqa: B009


UNREAD = {
    "settings of Init": ("InitRequest", "google.protobuf.Struct extras = 20;", "extras"),
    "a flag of Init": ("InitRequest", "bool dry_run = 20;", "dry_run"),
    "one of the connector": ("Connector", "string proxy = 20;", "connector.proxy"),
    "a second number": ("IncreaseRequest", "int64 surplus = 20;", "surplus"),
    "a filter": ("UpdateRequest", "repeated string only = 20;", "only"),
    "a word at the end": ("ShutdownRequest", "optional bool delete_all = 20;", "delete_all"),
    "an id that makes a call once": ("IncreaseRequest", "string request_id = 20;", "request_id"),
    "a zone of each": ("DecreaseRequest", "Where where = 20;", "where"),
}


@pytest.mark.parametrize("case", UNREAD)
def test_what_a_request_asks_and_nobody_reads_is_refused(case: str) -> None:
    message, added, name = UNREAD[case]
    bodies = {message: f"{BODIES[message]} {added}", "Where": "string zone = 1;"}
    service = mapped(written(bodies))
    call = "Init" if message == "Connector" else message.removesuffix("Request")
    assert f"{call}.request.{name}" in unmapped(service)
    text = "\n".join(
        f'[{place}.{table}]\n"{name}" = {value}'
        for place, table, value in (
            (f"{call}.request", "unused", "true"),
            ("ConnectInfo.reply", "always", '""'),
        )
        if table == "unused" or message == "Connector"
    )
    assert list(mapped(written(bodies), text).refused()) == []


def test_an_instance_without_an_address_that_can_be_said_is_refused_when_it_is_asked_for() -> None:
    reply = BODIES["ConnectInfoReply"].replace("string external_addr = 3;", "")
    codec = Codec(mapped(written({"ConnectInfoReply": reply})))
    with pytest.raises(Refused, match="external address"):
        codec.reached(ConnectInfo(id="a", connector=Connector(), external="1.2.3.4"))


# ---------------------------------------------------------------- the lines and the refusal

MANY = {
    "UpdateReply": "repeated Box boxes = 1;",
    "Box": "string handle = 1; Mode st = 2;",
    "DecreaseReply": "repeated string who = 1;",
    "HeartbeatReply": "bool healthy = 1; bool fine = 2;",
}


def test_everything_is_asked_at_once_the_states_of_an_unknown_list_too() -> None:
    file = written(MANY, stream=False, enums="Mode BORN BUSY LEAVING")
    service = mapped(file)
    lines = override_lines(service, several=False)
    for asked in ('# instances = "boxes"', '# creating = "BORN"', '# "fine" = true'):
        assert any(line.startswith(asked) for line in lines), asked
    answers = (
        *('# instances = "boxes"', '# id = "handle"', '# state = "st"', '# succeeded = "who"'),
        *('# creating = "BORN"', '# running = "BUSY"', '# deleting = "LEAVING"', '# "fine" = true'),
    )
    answered = [line.removeprefix("# ") if line.startswith(answers) else line for line in lines]
    assert list(mapped(file, "\n".join(answered)).refused()) == []


UNSURE = {
    "a likely name beside one of the same type": {
        "InitReply": "string id = 1; int64 max_size = 2; repeated string features = 5;"
        " repeated string extras = 6;",
    },
    "what could be one of two things": {
        "Connector": CONNECTOR.replace("string protocol = 3;", ""),
        "ConnectInfoReply": BODIES["ConnectInfoReply"].replace("external_addr", "via"),
    },
    "a likely name in a message of an unknown one": {
        "IncreaseRequest": "Tender tender = 1;",
        "Tender": "int64 how_many = 1;",
    },
}


@pytest.mark.parametrize("case", UNSURE)
def test_only_what_can_be_nothing_else_is_proposed_without_a_question(case: str) -> None:
    service = mapped(written(UNSURE[case]))
    assert not service.whole
    lines = override_lines(service, several=False)
    assert all(line.startswith(("[", "# ")) for line in lines), lines


def test_no_line_binds_a_verdict_to_nothing() -> None:
    for name in ("healthy_now", "ok_then", "fine"):
        service = mapped(written({"HeartbeatReply": f"bool {name} = 1;"}))
        lines = override_lines(service, several=False)
        assert not any(line.endswith('= ""') or 'healthy = ""' in line for line in lines)
    two = mapped(written({"HeartbeatReply": "bool ok = 1; bool alive = 2;"}))
    lines = override_lines(two, several=False)
    assert '# healthy = "ok"' in lines
    assert not any('healthy = ""' in line for line in lines)


@pytest.mark.parametrize("several", [False, True])
def test_lines_are_toml_also_where_fields_are_nested_and_services_are_several(
    *, several: bool
) -> None:
    bodies = {"HeartbeatReply": "Other result = 1;", "Other": "bool alive = 1; bool fine = 2;"}
    lines = override_lines(mapped(written(bodies)), several=several)
    answered = [line.removeprefix("# ") for line in lines if "false" not in line]
    read = tomllib.loads("\n".join(answered))
    own = read["test.v1.Plugin"] if several else read
    assert own["Heartbeat"]["reply"]["always"] == {"result.alive": True}


def test_methods_under_other_names_are_asked_with_all_that_is_behind_them(tmp_path: Path) -> None:
    calls = {call: (f"{call}Request", f"{call}Reply") for call in CORE_METHODS}
    names = {"ConnectInfo": "GetConnectInfo", "Heartbeat": "Ping"}
    file = written(
        {"DecreaseReply": "repeated string who = 1;"},
        calls=(),
        methods={names.get(call, call): types for call, types in calls.items()},
    )
    path, override = tmp_path / "schema.bin", tmp_path / "schema.toml"
    path.write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    learning = Learning(
        processes=ProcFolder(0),
        now=lambda: datetime(2026, 11, 21, tzinfo=UTC),
        choice=str(path),
        override=override,
    )
    refused = learn(learning)
    assert "hostler fleeting inspect" in refused.refusal
    assert str(override) in refused.refusal
    lines = refused.refusal.split("\n\n")[-1].splitlines()
    assert tuple(lines) == refused.proposed
    assert 'ConnectInfo = "GetConnectInfo"' in lines
    answers = ('# Heartbeat = "Ping"', '# succeeded = "who"')
    assert all(answer in lines for answer in answers)
    override.write_text("\n".join(lines), encoding="utf-8")
    assert learn(learning).refusal
    answered = (line.removeprefix("# ") if line in answers else line for line in lines)
    override.write_text("\n".join(answered), encoding="utf-8")
    assert learn(learning).refusal == ""


def test_a_refusal_names_its_file_its_cure_and_how_to_look() -> None:
    service = mapped(written({"HeartbeatReply": "bool fine = 1;"}))
    text = refusal(service, "/etc/schema.toml", several=False, origin="/usr/bin/gitlab-runner")
    for part in ("/etc/schema.toml", "hostler fleeting inspect /usr/bin/gitlab-runner", "# "):
        assert part in text


FIXED = {
    "a flag": ("bool fine = 1;", "fine = true", True),
    "an enum": ("Mood mood = 1;", 'mood = "BRIGHT"', 1),
    "a text": ("string word = 1;", 'word = "yes"', "yes"),
    "a number": ("int32 word = 1;", "word = 7", 7),
    "a wrong type": ("bool fine = 1;", 'fine = "yes"', None),
    "no such value": ("Mood mood = 1;", 'mood = "SUNNY"', None),
    "no such field": ("bool fine = 1;", "fine = true\nother = true", None),
}


@pytest.mark.parametrize("case", FIXED)
def test_what_an_operator_says_a_field_always_is_is_said(case: str) -> None:
    body, line, value = FIXED[case]
    file = written({"HeartbeatReply": body}, enums="Mood GLOOMY BRIGHT")
    service = mapped(file, f"[Heartbeat.reply.always]\n{line}")
    assert service.whole is (value is not None)
    if value is not None:
        assert getattr(Codec(service).done("Heartbeat"), line.split()[0]) == value


def test_what_an_operator_says_of_every_instance_is_said_of_each() -> None:
    bodies = {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2; bool ready = 3;",
    }
    file = written(bodies, stream=False)
    codec = Codec(mapped(file, '[Update.reply.always]\n"instances.ready" = true'))
    two = [Instance(id=name, state=State.RUNNING) for name in "ab"]
    (message,) = codec.report(two)
    assert [entry.ready for entry in getattr(message, "instances")] == [True, True]  # noqa: B009
