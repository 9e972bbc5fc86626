"""Schemas by somebody who had not read our words: none is taken for what it does not say."""

import pytest
from schema_kit import BODIES, mapped, written

from hostler.frontends.fleeting.schema.advice import override_lines
from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.mapping.match import Level

ONE = "string id = 1; bool accepted = 2;"

LISTS = {
    "a flag beside each id, under a neutral name": ("repeated One results = 1;", ONE),
    "a flag beside each id, under the list's own name": ("repeated One succeeded = 1;", ONE),
    "what is left of the group": (
        "repeated One instances = 1;",
        "string id = 1; State state = 2;",
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_list_in_an_answer_that_says_more_than_ids_is_refused(case: str) -> None:
    reply, one = LISTS[case]
    found = mapped(written({"DecreaseReply": reply, "One": one}))
    (message,) = found.refused()
    assert message.startswith("Decrease.reply.succeeded")
    assert "also say" in message or "unknown message" in message


def test_a_list_of_messages_that_hold_the_id_alone_is_taken() -> None:
    found = mapped(written({"DecreaseReply": "repeated One succeeded = 1;", "One": "string id=1;"}))
    assert found.whole


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("HeartbeatReply", "Health UNKNOWN HEALTHY UNHEALTHY"),
        ("ShutdownReply", "Health ERROR OK"),
    ],
)
def test_an_enum_that_says_how_a_call_went_says_its_one_good_value(reply: str, kind: str) -> None:
    found = mapped(written({reply: "Health status = 1;"}, enums=kind))
    assert found.whole
    call = reply.removesuffix("Reply")
    message = Codec(found).done(call)
    assert getattr(message, "status") == 1  # noqa: B009 - a field of the schema


@pytest.mark.parametrize("kind", ["Health UNKNOWN DANDY", "Health UNKNOWN OK ALIVE"])
def test_an_enum_without_one_good_value_is_asked_about_and_never_bound_to_nothing(
    kind: str,
) -> None:
    bodies = {"HeartbeatReply": "Health status = 1;"}
    before = mapped(written(bodies, enums=kind))
    (message,) = before.refused()
    assert message == "Heartbeat.reply.status: left out, it says UNKNOWN"
    lines = override_lines(before, several=False)
    assert all(line.startswith(("[", "# ")) for line in lines)
    assert not mapped(written(bodies, enums=kind), "\n".join(lines)).whole
    answer = next(line for line in lines if "DANDY" in line or "ALIVE" in line)
    text = "[Heartbeat.reply.always]\n" + answer.removeprefix("# ")
    assert mapped(written(bodies, enums=kind), text).whole


def test_an_enum_whose_first_value_is_good_may_stay_unset() -> None:
    found = mapped(written({"HeartbeatReply": "Code status = 1;"}, enums="Code OK UNWELL"))
    assert found.whole


@pytest.mark.parametrize("prefix", ["NOT", "WAS", "DESIRED_STATE"])
def test_states_whose_prefix_says_something_else_are_refused(prefix: str) -> None:
    states = " ".join(f"{prefix}_{name}" for name in ("NONE", "CREATING", "RUNNING", "DELETING"))
    assert not mapped(written(states=states)).whole


def test_settings_as_one_blob_are_not_proposed_as_two_secrets() -> None:
    bodies = {"InitRequest": "bytes config = 1; bytes settings = 2;"}
    before = mapped(written(bodies))
    assert not before.whole
    lines = override_lines(before, several=False)
    assert not any("settings" in line for line in lines if not line.startswith("#"))
    assert '# "settings" = true   # nobody needs it' in lines
    none = 'config = "config"\nkey = ""\npassword = ""'
    chosen = f"[Init.request]\n{none}\n[Init.request.unused]\nsettings = true"
    assert mapped(written(bodies), chosen).whole


VERBOSE = {
    "Connector": BODIES["Connector"]
    .replace("protocol_port", "connection_port")
    .replace("string protocol", "string connection_protocol"),
    "InitRequest": "bytes plugin_configuration = 1; Connector connector_configuration = 2;",
    "InitReply": "string instance_group_id = 1; int64 maximum_size = 2;"
    " string plugin_version = 3; string build_information = 4;",
}


def test_a_verbose_schema_is_known_by_its_names() -> None:
    found = mapped(written(VERBOSE))
    assert found.whole
    init = found.calls["Init"]
    both = (*init.request.values(), *init.reply.values())
    levels = {one.slot.name: one.level for one in both}
    known = ("config", "protocol", "protocol_port", "version", "build_info", "max_size")
    assert [levels[name] for name in known] == [Level.EXACT] * len(known)


def test_a_required_time_is_refused_as_most_machines_have_no_end() -> None:
    reply = BODIES["ConnectInfoReply"].replace(
        "google.protobuf.Timestamp expires", "required google.protobuf.Timestamp expires"
    )
    found = mapped(written({"ConnectInfoReply": reply}, syntax="proto2"))
    assert found.faults == ("ConnectInfo.reply: expires is required, and not always known",)
