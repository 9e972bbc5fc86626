"""Other readings: what a name or an empty place could mean besides what we would take it for."""

import pytest
from google.protobuf.message import Message
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import Instance, Refused
from hostler.frontends.fleeting.schema.advice import override_lines
from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap


def unmapped(service: ServiceMap) -> set[str]:
    """Return the fields that are refused."""
    return {line.partition(": ")[0] for line in service.refused()}


VERDICTS = {
    "an optional text": "optional string status = 20;",
    "a text in a wrapper": "google.protobuf.StringValue verdict = 20;",
    "an optional number": "optional int32 status_code = 20;",
    "a share": "optional double health = 20;",
    "a number that is a flag": "optional uint32 healthy = 20;",
    "a time": "google.protobuf.Timestamp alive_at = 20;",
    "anything": "google.protobuf.Struct status = 20;",
    "anything else": "google.protobuf.Any health = 20;",
    "no, that is not nothing wrong": "optional Answer alive = 20;",
    "none, that is not nothing wrong": "optional Level health = 20;",
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_verdict_speaks_in_every_type(case: str) -> None:
    name = VERDICTS[case].split(" = ", maxsplit=1)[0].split()[-1]
    file = written({"HeartbeatReply": VERDICTS[case]}, enums="Answer NO YES\nLevel NONE FULL")
    assert unmapped(mapped(file)) == {f"Heartbeat.reply.{name}"}


def test_a_text_or_a_number_in_a_result_that_is_left_out_speaks() -> None:
    bodies = {"ShutdownReply": "Other other = 1;", "Other": "string outcome = 1; int32 status = 2;"}
    assert unmapped(mapped(written(bodies))) == {
        "Shutdown.reply.other.outcome",
        "Shutdown.reply.other.status",
    }


READ = {
    "a flag": ("IncreaseReply", "bool committed = 1; string zone = 2;", "part.committed"),
    "an enum whose first value is real": ("InitReply", "Level level = 1;", "part.level"),
    "none, beside what is well": ("DecreaseReply", "Code code = 1;", "part.code"),
    "a text of a result": ("IncreaseReply", "string kind = 1;", "outcome.kind"),
    "a number of a verdict": ("HeartbeatReply", "int32 score = 1;", "health.score"),
    "a flag about the answer": ("DecreaseReply", "bool final = 1;", "meta.final"),
    "a flag about a part of it": ("DecreaseReply", "bool last = 1;", "page.last"),
    "an enum of no known state": ("HeartbeatReply", "State phase = 1;", "part.phase"),
}


@pytest.mark.parametrize("case", READ)
def test_what_generated_code_reads_of_a_message_that_is_missing_speaks(case: str) -> None:
    """Go's getters answer for a message that is not there, too."""
    message, inner, name = READ[case]
    around, call = name.partition(".")[0], message.removesuffix("Reply")
    bodies = {message: f"{BODIES[message]} Part {around} = 20;", "Part": inner}
    file = written(bodies, enums="Level LOW HIGH\nCode NONE OK BAD")
    assert unmapped(mapped(file)) == {f"{call}.reply.{name}"}
    assert mapped(file, f"[{call}.reply.always]\n{around} = false").whole


UNREAD = {
    "texts and numbers": "Part part = 20;",
    "what went wrong": "Flags error = 20;",
    "what is not ours": "Flags proxy = 20;",
    "one of several": "oneof how { Flags one = 20; Part two = 21; }",
    "entries of a list": "repeated Flags networks = 20;",
    "a code of the usual kind": "Status status = 20;",
}


@pytest.mark.parametrize("case", UNREAD)
@pytest.mark.parametrize("message", ["IncreaseReply", "DecreaseReply"])
def test_what_is_rightly_missing_says_nothing_by_what_is_in_it(message: str, case: str) -> None:
    bodies = {
        message: f"{BODIES[message]} {UNREAD[case]}",
        "Part": "string text = 1; int64 at = 2; Level level = 3; optional bool spot = 4;",
        "Flags": "bool fatal = 1; Level level = 2; Level mood = 3;",
        "Status": "int32 code = 1; string message = 2;",
    }
    file = written(bodies, enums="Level LEVEL_UNSPECIFIED LEVEL_HIGH")
    assert unmapped(mapped(file)) == set()


JUDGED = {
    "a flag": ("optional bool drained = 1;", "drained"),
    "a flag in a wrapper": ("google.protobuf.BoolValue fit = 1;", "fit"),
    "an enum": ("optional State state = 1;", "state"),
    "an empty message": ("Usable usable = 1;", "usable"),
    "a state of an instance": ("One instance = 1;", "instance.state"),
    "a state as a text": ("optional string state = 1;", "state"),
    "a phase as a number": ("google.protobuf.Int32Value phase = 1;", "phase"),
}


@pytest.mark.parametrize("case", JUDGED)
@pytest.mark.parametrize("call", ["Heartbeat", "Shutdown"])
def test_what_says_only_how_a_call_went_says_it_by_whatever_it_has(call: str, case: str) -> None:
    body, name = JUDGED[case]
    bodies = {"Usable": "", "One": "string id = 1; State state = 2;"}
    assert unmapped(mapped(written({f"{call}Reply": body, **bodies}))) == {f"{call}.reply.{name}"}


COUNTS: dict[str, tuple[str, set[str]]] = {
    "in a message that is missing": ("Counts counts = 20;", {"counts.running", "counts.total"}),
    "optional": ("optional int32 running_count = 20;", {"running_count"}),
    "in a wrapper": ("google.protobuf.UInt32Value active = 20;", {"active"}),
    "of something else": ("optional int32 page_size = 20; optional int64 created_at = 21;", set()),
}


@pytest.mark.parametrize("case", COUNTS)
def test_a_number_of_instances_that_is_missing_says_that_there_are_none(case: str) -> None:
    added, names = COUNTS[case]
    bodies = {
        "UpdateReply": f"repeated I instances = 1; {added}",
        "I": "string id = 1; State state = 2;",
        "Counts": "int32 running = 1; int32 total = 2;",
    }
    service = mapped(written(bodies, stream=False))
    assert unmapped(service) == {f"Update.reply.{name}" for name in names}


@pytest.mark.parametrize("call", ["Init", "Increase", "Decrease", "Heartbeat", "Shutdown"])
def test_a_number_of_instances_says_that_there_are_none_in_every_answer(call: str) -> None:
    added = "optional int32 running = 20; optional int32 page_size = 21;"
    file = written({f"{call}Reply": f"{BODIES[f'{call}Reply']} {added}"})
    assert unmapped(mapped(file)) == {f"{call}.reply.running"}


@pytest.mark.parametrize(
    "added", ["string url = 20;", "optional string ssh_uri = 20;", "optional string endpoint = 20;"]
)
def test_an_address_of_another_form_is_asked_about(added: str) -> None:
    name = added.split(" = ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    bodies = {"ConnectInfoReply": f"{BODIES['ConnectInfoReply']} {added}"}
    assert unmapped(mapped(written(bodies))) == {f"ConnectInfo.reply.{name}"}
    assert mapped(written({"InitReply": f"{BODIES['InitReply']} string url = 20;"})).whole


def test_a_code_of_errors_may_say_none() -> None:
    bodies = {"HeartbeatReply": "optional Problem code = 1;"}
    assert mapped(written(bodies, enums="Problem NONE BAD")).whole


@pytest.mark.parametrize("word", ["PARTIAL", "IN_PROGRESS", "PENDING", "CAPPED", "LIMITED"])
def test_an_enum_that_also_says_in_part_or_not_yet_is_asked_about(word: str) -> None:
    bodies = {"DecreaseReply": f"{BODIES['DecreaseReply']} Status status = 2;"}
    service = mapped(written(bodies, enums=f"Status UNKNOWN OK {word} FAILED"))
    assert unmapped(service) == {"Decrease.reply.status"}
    assert f'# "status" = "{word}"   # always' in override_lines(service, several=False)


def test_an_enum_is_no_flag_of_how_credentials_come() -> None:
    body = CONNECTOR.replace("bool use_static_credentials", "Kind use_static_credentials")
    service = mapped(written({"Connector": body}, enums="Kind NONE GOOD BAD"))
    assert "Init.request.use_static_credentials" in unmapped(service)


LISTS = {
    "created": ("IncreaseReply", "repeated string created = 20;"),
    "instances": ("IncreaseReply", "repeated string instances = 20;"),
    "new_ids": ("IncreaseReply", "repeated string new_ids = 20;"),
    "members": ("UpdateReply", "repeated string members = 20;"),
    "state_counts": ("HeartbeatReply", "map<string, int32> state_counts = 20;"),
    "idle": ("UpdateReply", "repeated string idle = 20;"),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_instances_that_is_left_empty_says_that_there_are_none(name: str) -> None:
    message, added = LISTS[name]
    service = mapped(written({message: f"{BODIES[message]} {added}"}))
    assert unmapped(service) == {f"{message.removesuffix('Reply')}.reply.{name}"}


def test_instances_inside_what_could_be_instances_are_refused() -> None:
    bodies = {
        "UpdateReply": "repeated N nodes = 1;",
        "N": "string id = 1; State state = 2; repeated I instances = 3;",
        "I": "string id = 1; State state = 2;",
    }
    service = mapped(written(bodies, stream=False))
    assert unmapped(service) == {"Update.reply.nodes.instances"}


ELSEWHERE = {
    "a list": ("external", "repeated string external_addresses = 20;"),
    "a map": ("external", "map<string, string> addresses = 20;"),
    "pairs": ("external", "repeated Address addresses = 20;"),
    "a Struct": ("external", "google.protobuf.Struct attributes = 20;"),
    "an Any": ("external", "google.protobuf.Any more = 20;"),
    "passwords": ("password", "repeated string passwords = 20;"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_is_missing_may_stand_where_we_cannot_write_it(case: str) -> None:
    ours, added = ELSEWHERE[case]
    bodies = {
        "Reached": CONNECTOR.replace("string password = 6;", "")
        if ours == "password"
        else CONNECTOR,
        "ConnectInfoReply": "string id = 1; Reached connector = 2; string internal_addr = 4;"
        f" {'' if ours == 'external' else 'string external_addr = 3;'} {added}",
        "Address": "string type = 1; string address = 2;",
    }
    assert unmapped(mapped(written(bodies))) == {f"ConnectInfo.reply.{ours}"}
    settled = f'[ConnectInfo.reply]\n{ours} = ""'
    assert mapped(written(bodies), settled).whole


@pytest.mark.parametrize(
    "added",
    [
        "Caps capabilities = 20;",
        "map<string, bool> capabilities = 20;",
        "repeated Feature features = 20;",
    ],
)
def test_capabilities_that_are_no_texts_are_refused(added: str) -> None:
    bodies = {
        "InitReply": f"string id = 1; int64 max_size = 2; string version = 3; {added}",
        "Caps": "bool suspend_resume = 1;",
    }
    service = mapped(written(bodies, enums="Feature UNSET SUSPEND_RESUME"))
    assert "Init.reply.capabilities" in unmapped(service)


@pytest.mark.parametrize("name", ["expiration_seconds", "expires_ms", "expiry_s"])
def test_a_time_with_a_unit_may_as_well_be_a_span(name: str) -> None:
    bodies = {
        "ConnectInfoReply": f"string id = 1; Connector connector = 2; string external_addr = 3;"
        f" string internal_addr = 4; int64 {name} = 5;"
    }
    assert unmapped(mapped(written(bodies))) == {f"ConnectInfo.reply.{name}"}


OWN = {
    "Deficit": ("IncreaseReply", "deficit.v1", "Increase.reply.succeeded"),
    "SetTarget": ("IncreaseRequest", "target.v1", "Increase.request.count"),
    "Survivors": ("DecreaseReply", "survivors", "Decrease.reply.succeeded"),
}


@pytest.mark.parametrize("name", OWN)
def test_the_name_of_a_package_excuses_no_single_message(name: str) -> None:
    message, package, field = OWN[name]
    call = field.partition(".")[0]
    types = (f"{call}Request", name) if message.endswith("Reply") else (name, f"{call}Reply")
    bodies = {name: BODIES[message]}
    service = mapped(written(bodies, package=package, methods={call: types}))
    assert unmapped(service) == {field}


NOWHERE = {
    "a map of results": ("DecreaseReply", "map<string, bytes> marks = 1;", "marks"),
    "those that were kept": ("DecreaseReply", "repeated string survivors = 1;", "survivors"),
    "a message": ("IncreaseReply", "Part size = 1;", "size"),
    "an optional number": ("IncreaseReply", "optional int32 shortfall = 1;", "shortfall"),
}


@pytest.mark.parametrize("case", NOWHERE)
def test_that_there_is_no_place_for_what_was_done_is_no_answer_for_the_rest(case: str) -> None:
    message, body, name = NOWHERE[case]
    call = message.removesuffix("Reply")
    file = written({message: body, "Part": "int32 count = 1;"})
    none = f'[{call}.reply]\nsucceeded = ""'
    assert unmapped(mapped(file, none)) == {f"{call}.reply.{name}"}
    zero = "0" if call == "Increase" and "optional" in body else "false"
    assert mapped(file, f"{none}\n[{call}.reply.always]\n{name} = {zero}").whole


def test_an_answer_without_a_place_for_what_was_done_goes_only_where_all_was() -> None:
    bodies = {"IncreaseReply": "string note = 1;", "DecreaseReply": "repeated string warnings = 1;"}
    none = "\n".join(f'[{call}.reply]\nsucceeded = ""' for call in ("Increase", "Decrease"))
    codec = Codec(mapped(written(bodies), none))
    assert codec.counted(3, 3) is not None
    assert codec.accepted("Decrease", ("b", "a"), ("a", "b")) is not None
    with pytest.raises(Refused, match="2 of 3"):
        codec.counted(2, 3)
    with pytest.raises(Refused, match="1 of 2"):
        codec.accepted("Decrease", ("a",), ("a", "b"))
    assert Codec(mapped(written())).counted(2, 3) is not None


WHOLES = {
    "Group": ("Heartbeat", "string id = 1;", "id"),
    "GroupRef": ("ConnectInfo", "string id = 1;", "id"),
    "Provider": ("Heartbeat", "string id = 1;", "id"),
    "InstanceGroup": ("Increase", "int32 count = 1;", "count"),
    "PluginSpec": ("Increase", "int32 count = 1;", "count"),
    "NodeSet": ("Increase", "int32 count = 1;", "count"),
    "GroupInfo": ("Decrease", "repeated string instances = 1;", "ids"),
}


@pytest.mark.parametrize("name", WHOLES)
def test_what_is_said_of_a_whole_is_not_said_of_instances(name: str) -> None:
    call, body, ours = WHOLES[name]
    asked = {call: (name, f"{call}Reply")}
    assert unmapped(mapped(written({name: body}, methods=asked))) == {f"{call}.request.{ours}"}


@pytest.mark.parametrize("name", ["GroupInfo", "InstanceSet"])
def test_what_a_whole_has_left_is_not_what_was_done(name: str) -> None:
    call, body = {"GroupInfo": ("Decrease", "repeated string instances = 1;")}.get(
        name, ("Increase", "int32 count = 1;")
    )
    answered = {call: (f"{call}Request", name)}
    file = written({name: body}, methods=answered)
    assert unmapped(mapped(file)) == {f"{call}.reply.succeeded"}


@pytest.mark.parametrize("name", ["PluginHeartbeatRequest", "GroupInstance", "ProviderHeartbeat"])
def test_what_belongs_to_a_whole_is_not_the_whole(name: str) -> None:
    asked = {"Heartbeat": (name, "HeartbeatReply")}
    assert mapped(written({name: "string id = 1;"}, methods=asked)).whole


@pytest.mark.parametrize("call", ["Init", "Update"])
def test_a_whole_may_be_named_where_it_is_spoken_of(call: str) -> None:
    answered = {call: (f"{call}Request", "InstanceGroup")}
    entry = {"I": "string id = 1; State state = 2;"}
    body = BODIES["InitReply"] if call == "Init" else "repeated I instances = 1;"
    assert mapped(written({"InstanceGroup": body, **entry}, methods=answered)).whole


NOT_THESE = {
    "Suspended": ("Resume", "Suspended", "repeated string instances = 1;"),
    "Deleted": ("Resume", "Deleted", "repeated string instances = 1;"),
    "suspended": ("Resume", "ResumeReply", "repeated string suspended = 1;"),
    "resumed": ("Suspend", "SuspendReply", "repeated string resumed = 1;"),
    "terminated": ("Suspend", "SuspendReply", "repeated string terminated = 1;"),
}


@pytest.mark.parametrize("case", NOT_THESE)
def test_what_another_call_does_is_not_what_this_one_did(case: str) -> None:
    call, reply, body = NOT_THESE[case]
    ids = "DecreaseRequest"
    both = {one: (ids, reply if one == call else "Done") for one in ("Suspend", "Resume")}
    bodies = {reply: body, "Done": BODIES["DecreaseReply"]}
    service = mapped(written(bodies, methods=both))
    assert f"{call}.reply.succeeded" in unmapped(service)
    lines = override_lines(service, several=False)
    assert not [line for line in lines if line.startswith("succeeded")]


GUESSES = {
    "a platform": ("os", "platform"),
    "an account": ("username", "account"),
    "a transport": ("protocol", "transport"),
}


@pytest.mark.parametrize("case", GUESSES)
def test_a_word_with_another_usual_meaning_is_a_question(case: str) -> None:
    ours, name = GUESSES[case]
    bodies = {"InitRequest": f"bytes config = 1; Set connector = 2; string {name} = 3;"}
    parts = [part for part in CONNECTOR.split(";") if f" {ours} = " not in part]
    bodies["Set"] = ";".join(parts)
    lines = override_lines(mapped(written(bodies)), several=False)
    assert any(line.startswith(f'# {ours} = "{name}"') for line in lines), lines
    assert not [line for line in lines if line.startswith(f"{ours} =")]


def test_a_kind_of_purchase_is_not_proposed_as_a_state() -> None:
    bodies = {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; string lifecycle = 2; optional int32 state_code = 3;",
    }
    lines = override_lines(mapped(written(bodies, stream=False)), several=False)
    assert not [line for line in lines if line.startswith("state")]


@pytest.mark.parametrize("word", ["READY", "IDLE", "AVAILABLE"])
def test_running_beside_what_is_ready_is_asked_about(word: str) -> None:
    states = f"UNKNOWN CREATING RUNNING {word} DELETING"
    service = mapped(written(states=states))
    assert unmapped(service) == {"states.running"}
    lines = override_lines(service, several=False)
    assert {'# running = "RUNNING"', f'# running = "{word}"'} <= set(lines)


@pytest.mark.parametrize("prefix", ["TARGET", "JOB"])
def test_states_of_something_else_are_no_states(prefix: str) -> None:
    states = " ".join(f"{prefix}_{one}" for one in ("NONE", "CREATING", "RUNNING", "DELETING"))
    assert not mapped(written(states=states)).whole


@pytest.mark.parametrize("of", ["string", "Ref"])
def test_the_message_around_an_empty_list_is_there(of: str) -> None:
    bodies = {
        "UpdateReply": "oneof end { Result result = 1; string error = 2; }",
        "Result": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2;",
        "DecreaseReply": "oneof end { Body body = 1; string error = 2; }",
        "Body": f"repeated {of} succeeded = 1;",
        "Ref": "string id = 1;",
    }
    codec = Codec(mapped(written(bodies, stream=False)))
    none: tuple[Instance, ...] = ()
    (listed,) = codec.report(none)
    taken: Message = codec.accepted("Decrease", ())
    assert (listed.WhichOneof("end"), taken.WhichOneof("end")) == ("result", "body")
