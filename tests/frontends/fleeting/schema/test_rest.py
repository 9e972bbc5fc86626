"""The rest: what was asked for and not accepted, where an answer tells of that, too."""

import pytest
from google.protobuf.message import Message
from schema_kit import BODIES, mapped, written

from hostler.frontends.fleeting.schema.advice import override_lines
from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap

NUMBERS = {
    "plain": "int64 failed = 2;",
    "optional": "optional int32 failed_count = 2;",
    "in a wrapper": "google.protobuf.UInt32Value num_failed = 2;",
}
LISTS = {
    "of texts": "repeated string failed = 2;",
    "of texts in wrappers": "repeated google.protobuf.StringValue failed_ids = 2;",
}
PART = {
    "Part": "string instance_id = 1; string reason = 2;",
    "Other": "Part instance = 1; string reason = 2;",
    "Text": "string text = 1;",
}


def unmapped(service: ServiceMap) -> set[str]:
    """Return the fields that are refused."""
    return {line.partition(": ")[0] for line in service.refused()}


def value_of(message: Message, added: str) -> object:
    """Return what a message says in the field that was added, wrappers unpacked."""
    found = getattr(message, added.split(" = ", maxsplit=1)[0].rsplit(maxsplit=1)[-1])
    if "Values" in type(found).__name__ or added.startswith("repeated"):
        return [getattr(one, "value", one) for one in found]
    return getattr(found, "value", found)


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize(("accepted", "failed"), [(5, 0), (3, 2), (0, 5)])
def test_how_many_were_not_accepted_is_told(case: str, accepted: int, failed: int) -> None:
    service = mapped(written({"IncreaseReply": f"{BODIES['IncreaseReply']} {NUMBERS[case]}"}))
    assert list(service.refused()) == []
    assert value_of(Codec(service).counted(accepted, 5), NUMBERS[case]) == failed


@pytest.mark.parametrize("case", LISTS)
@pytest.mark.parametrize("call", ["Decrease", "Suspend", "Resume"])
def test_those_that_were_not_accepted_are_told(call: str, case: str) -> None:
    body = f"{BODIES['DecreaseReply']} {LISTS[case]}"
    replies = {one: f"{one}Reply" for one in ("Decrease", "Suspend", "Resume")}
    methods = {one: ("DecreaseRequest", reply) for one, reply in replies.items()}
    service = mapped(written(dict.fromkeys(replies.values(), body), methods=methods))
    assert list(service.refused()) == []
    codec = Codec(service)
    assert value_of(codec.accepted(call, ("a", "c"), ("a", "b", "c", "b")), LISTS[case]) == ["b"]
    assert value_of(codec.accepted(call, ("a",), ("a",)), LISTS[case]) == []


def test_those_that_were_not_accepted_are_told_in_messages() -> None:
    bodies = {
        "DecreaseReply": "repeated Failure failed = 1; repeated Ref succeeded = 2;",
        "Failure": "string id = 1; string reason = 2;",
        "Ref": "string id = 1;",
    }
    service = mapped(written(bodies))
    assert list(service.refused()) == []
    reply = Codec(service).accepted("Decrease", ("a", "c"), ("a", "b", "c"))
    assert [(one.id, one.reason) for one in getattr(reply, "failed")] == [("b", "")]  # noqa: B009
    bodies["Failure"] += " int32 attempts = 3;"
    assert unmapped(mapped(written(bodies))) == {"Decrease.reply.failed.attempts"}


def test_what_failed_is_place_enough_for_a_part() -> None:
    none = '[Decrease.reply]\nsucceeded = ""'
    service = mapped(written({"DecreaseReply": LISTS["of texts"]}), none)
    assert service.whole
    assert value_of(Codec(service).accepted("Decrease", (), ("a",)), LISTS["of texts"]) == ["a"]


ASKED = {
    "a flag": ("IncreaseReply", "bool failed = 2;"),
    "an optional flag": ("DecreaseReply", "optional bool has_failed = 2;"),
    "a flag in a wrapper": ("IncreaseReply", "google.protobuf.BoolValue failed = 2;"),
    "an optional flag of any name": ("DecreaseReply", "optional bool all = 2;"),
    "a flag of any name in a wrapper": ("IncreaseReply", "google.protobuf.BoolValue quota = 2;"),
    "places in the order of the request": ("DecreaseReply", "repeated uint32 failed_indexes = 2;"),
    "a map by places": ("DecreaseReply", "map<int32, string> errors = 2;"),
    "a map of details": ("DecreaseReply", "map<string, string> details = 2;"),
    "an optional flag of a part": ("IncreaseReply", "optional bool partial = 2;"),
    "a number under another name": ("IncreaseReply", "optional int32 rejected = 2;"),
    "what is missing": ("IncreaseReply", "optional int32 shortfall = 2;"),
    "a total": ("IncreaseReply", "google.protobuf.Int64Value total = 2;"),
    "a number beside ids": ("DecreaseReply", "optional int32 failed_count = 2;"),
    "ids under another name": ("DecreaseReply", "repeated string skipped = 2;"),
    "ids under an unknown name": ("DecreaseReply", "repeated string survivors = 2;"),
    "messages with an id": ("DecreaseReply", "repeated Part failures = 2;"),
    "messages of another name": ("DecreaseReply", "repeated Part events = 2;"),
    "messages with an instance": ("DecreaseReply", "repeated Other events = 2;"),
    "messages under a neutral name": ("IncreaseReply", "repeated Text results = 2;"),
    "a map": ("DecreaseReply", "map<string, string> errors = 2;"),
    "a verdict on each in order": ("DecreaseReply", "repeated Verdict each = 2;"),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_may_be_of_those_not_accepted_is_asked_about(case: str) -> None:
    message, added = ASKED[case]
    call = message.removesuffix("Reply")
    name = added.split(" = ", maxsplit=1)[0].split()[-1]
    file = written({message: f"{BODIES[message]} {added}", **PART}, enums="Verdict BAD GOOD")
    assert unmapped(mapped(file)) == {f"{call}.reply.{name}"}
    value = "0" if added.startswith("optional int32") else "false"
    assert mapped(file, f"[{call}.reply.always]\n{name} = {value}").whole


@pytest.mark.parametrize("inner", ["repeated string ids = 1;", "int32 count = 1;"])
def test_what_is_in_a_message_of_what_failed_is_asked_about(inner: str) -> None:
    parts = {"Lost": inner, "Text": "string message = 1; int32 code = 2;"}
    body = f"{BODIES['DecreaseReply']} Lost failures = 2; Text error = 3;"
    file = written({"DecreaseReply": body, **parts})
    name = inner.split(" = ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    assert unmapped(mapped(file)) == {f"Decrease.reply.failures.{name}"}
    assert mapped(file, "[Decrease.reply.always]\nfailures = false").whole


@pytest.mark.parametrize("added", ["optional int32 remaining = 1;", "repeated string left = 1;"])
@pytest.mark.parametrize("call", ["Heartbeat", "Shutdown"])
def test_what_is_left_is_asked_about_where_nothing_else_is_said(call: str, added: str) -> None:
    (field,) = unmapped(mapped(written({f"{call}Reply": added})))
    assert field.rpartition(".")[2] in added


def test_a_number_under_another_name_may_be_said_to_be_the_rest() -> None:
    added = ASKED["a number under another name"][1]
    file = written({"IncreaseReply": f"{BODIES['IncreaseReply']} {added}"})
    line = 'failed = "rejected"'
    assert f"# {line}" in override_lines(mapped(file), several=False)
    reply = Codec(mapped(file, f"[Increase.reply]\n{line}")).counted(3, 5)
    assert value_of(reply, added) == 2


def test_a_list_of_messages_may_be_said_to_be_the_rest_with_all_that_is_asked_of_it() -> None:
    bodies = {
        "DecreaseReply": f"{BODIES['DecreaseReply']} repeated Fault faults = 2;",
        "Fault": "string id = 1; string reason = 2; int32 tries = 3;",
    }
    file = written(bodies)
    lines = [line.removeprefix("# ") for line in override_lines(mapped(file), several=False)]
    assert 'failed = "faults.id"' in lines
    assert '"faults.tries" = 0   # always' in lines
    assert unmapped(mapped(file)) == {"Decrease.reply.faults"}
    answer = '[Decrease.reply]\nfailed = "faults.id"\n[Decrease.reply.always]\n"faults.tries" = 0'
    reply = Codec(mapped(file, answer)).accepted("Decrease", ("a",), ("a", "b"))
    assert [one.id for one in getattr(reply, "faults")] == ["b"]  # noqa: B009
    assert mapped(file, "[Decrease.reply.always]\nfaults = false").whole


def test_what_is_known_to_say_what_succeeded_is_not_asked_about_as_the_rest() -> None:
    file = written({"DecreaseReply": "repeated string accepted = 1; repeated string ids = 2;"})
    for chosen in ("", '[Decrease.reply]\nsucceeded = "ids"'):
        lines = override_lines(mapped(file, chosen), several=False)
        assert lines
        assert not [line for line in lines if "failed = " in line]


NEUTRAL = {
    "count": ("IncreaseReply", "int32 count = 1; int32 failed = 2;"),
    "n": ("IncreaseReply", "int32 n = 1; optional int32 failed = 2;"),
    "instances": ("DecreaseReply", "repeated string instances = 1; repeated string failed = 2;"),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_name_beside_what_failed_may_be_of_all_that_was_asked(name: str) -> None:
    message, body = NEUTRAL[name]
    call = message.removesuffix("Reply")
    file = written({message: body})
    assert unmapped(mapped(file)) == {f"{call}.reply.succeeded"}
    assert f'# succeeded = "{name}"' in "\n".join(override_lines(mapped(file), several=False))
    assert mapped(file, f'[{call}.reply]\nsucceeded = "{name}"').whole


def test_two_places_for_the_rest_are_refused() -> None:
    added = "optional int32 failed = 2; optional int32 failed_count = 3;"
    service = mapped(written({"IncreaseReply": f"{BODIES['IncreaseReply']} {added}"}))
    assert "Increase.reply.failed" in unmapped(service)


@pytest.mark.parametrize(
    "added",
    [
        "repeated string warnings = 2; repeated string errors = 3; repeated string notes = 4;",
        "map<string, string> labels = 2; string error = 3; int32 error_code = 4;",
        "repeated Event history = 2; Fault failure = 3;",
    ],
)
@pytest.mark.parametrize("message", ["IncreaseReply", "DecreaseReply"])
def test_what_is_for_persons_is_left_out_of_an_answer_for_a_part(message: str, added: str) -> None:
    inner = {"Event": "int64 at = 1; string text = 2;", "Fault": "string message = 1;"}
    assert mapped(written({message: f"{BODIES[message]} {added}", **inner})).whole
