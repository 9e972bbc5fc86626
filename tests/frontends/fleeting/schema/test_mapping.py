"""Which fields of a schema are taken, at which level, and which never are."""

import pytest
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import State
from hostler.frontends.fleeting.schema.advice import override_lines, refusal
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap, below_exact
from hostler.frontends.fleeting.schema.mapping.match import Level, Match


def found(service: ServiceMap, call: str, side: str, name: str) -> Match:
    return next(m for c, s, m in service.matches() if (c, s, m.slot.name) == (call, side, name))


def with_lines(bodies: dict[str, str], **parts: object) -> ServiceMap:
    """Return the mapping with the very lines pasted in that its refusal proposes."""
    file = written(bodies, **parts)
    lines = override_lines(mapped(file), several=False)
    return mapped(file, "\n".join(lines))


def test_a_plain_schema_is_mapped_whole_and_exactly() -> None:
    service = mapped(written())
    assert list(service.refused()) == []
    assert service.whole
    assert list(below_exact(service)) == []
    levels = {m.level for _, _, m in service.matches()}
    assert levels == {Level.EXACT, Level.ABSENT}
    absent = {(c, s, m.slot.name) for c, s, m in service.matches() if m.leaf is None}
    assert all(name in {"ok", "healthy", "failed"} for _, _, name in absent)


# The only candidate of its type under a name that says something else (schema-discovery 5.2):
# where it must not be taken, the message, the field.
WRONG = {
    "what failed": ("Decrease.reply.succeeded", "DecreaseReply", "repeated string failed"),
    "an error": ("Increase.reply.succeeded", "IncreaseReply", "int32 error_code"),
    "a version": ("Init.reply.max_size", "InitReply", "int32 api_version"),
    "what was rejected": ("Decrease.reply.succeeded", "DecreaseReply", "repeated string rejected"),
    "a generation": ("Increase.reply.succeeded", "IncreaseReply", "int64 generation"),
    "a total": ("Increase.request.count", "IncreaseRequest", "int64 desired"),
    "a token": ("Heartbeat.request.id", "HeartbeatRequest", "string token"),
    "a zone": ("Update.reply.id", "UpdateReply", "State state = 2; string zone"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_sole_candidate_with_another_meaning_is_refused(case: str) -> None:
    place, message, wrong = WRONG[case]
    service = mapped(written({message: f"{wrong} = 1;"}))
    assert not service.whole
    assert any(line.startswith(f"{place}: ") for line in service.refused())
    call, side, name = place.split(".")
    assert found(service, call, side, name).leaf is None


@pytest.mark.parametrize("case", WRONG.keys() - {"a version", "a zone"})
def test_such_a_candidate_is_never_proposed_either(case: str) -> None:
    _, message, wrong = WRONG[case]
    lines = override_lines(mapped(written({message: f"{wrong} = 1;"})), several=False)
    assert lines
    name = wrong.rpartition(" ")[2]
    assert not any(f'= "{name}"' in line and not line.startswith("#") for line in lines)


def test_what_failed_is_not_what_succeeded() -> None:
    body = "repeated string failed = 1; repeated string succeeded = 2;"
    service = mapped(written({"DecreaseReply": body}))
    assert service.whole
    for name in ("succeeded", "failed"):
        match = found(service, "Decrease", "reply", name)
        assert (match.level, match.leaf and match.leaf.name) == (Level.EXACT, name)


NEUTRAL = {
    "Increase.request.count": {"IncreaseRequest": "int64 value = 1;"},
    "Increase.reply.succeeded": {"IncreaseReply": "uint32 n = 1;"},
    "Decrease.request.ids": {"DecreaseRequest": "repeated string items = 1;"},
    "Decrease.reply.succeeded": {"DecreaseReply": "repeated string instances = 1;"},
    "Heartbeat.request.id": {"HeartbeatRequest": "string payload = 1;"},
    "ConnectInfo.request.id": {"ConnectInfoRequest": "string name = 1;"},
    "Init.request.config": {"InitRequest": "bytes raw = 7; Connector connector = 1;"},
    "Update.reply.state": {"UpdateReply": "string id = 1; State status = 2;"},
}


@pytest.mark.parametrize("place", NEUTRAL)
def test_a_sole_field_with_a_neutral_name_is_taken_and_told(place: str) -> None:
    service = mapped(written(NEUTRAL[place]))
    assert list(service.refused()) == []
    assert found(service, *place.split(".")).level is Level.NEUTRAL
    assert any(line.startswith(f"neutral: {place} is ") for line in below_exact(service))


@pytest.mark.parametrize("place", NEUTRAL)
def test_a_neutral_name_is_not_enough_beside_another_field_of_its_type(place: str) -> None:
    ((message, body),) = NEUTRAL[place].items()
    kind = body.rpartition(" = ")[0].rpartition(" ")[0]
    kind = {"bytes": "bytes"}.get(kind.split()[0], kind.rpartition(";")[2].strip() or kind)
    service = mapped(written({message: f"{body} {kind} other_thing = 99;"}))
    assert any(line.startswith(f"{place}: ") for line in service.refused())


AMBIGUOUS = {
    "two lists of instances": {
        "UpdateReply": "repeated I instances = 1; map<string, State> instance = 2;",
        "I": "string id = 1; State state = 2;",
    },
    "two unnamed numbers": {"IncreaseReply": "int64 alpha = 1; int64 beta = 2;"},
    "two unnamed lists": {
        "DecreaseRequest": "repeated string alpha = 1; repeated string beta = 2;"
    },
    "two known names": {"IncreaseRequest": "int64 delta = 1; int64 count = 2;"},
    "two blobs": {"InitRequest": "bytes alpha = 1; bytes beta = 2;"},
    "a state as a number": {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; int32 state = 2;",
    },
    "an id as a number": {"HeartbeatRequest": "int64 id = 1;"},
    "ids as numbers": {"DecreaseRequest": "repeated int64 ids = 1;"},
    "a count as a text": {"IncreaseRequest": "string count = 1; int32 value = 2;"},
    "a map that is keyed by numbers": {"UpdateReply": "map<int64, State> instances = 1;"},
    "a map of times": {"UpdateReply": "map<string, google.protobuf.Timestamp> instances = 1;"},
    "ids of what failed": {
        "DecreaseReply": "repeated Failure instances = 1;",
        "Failure": "string id = 1;",
    },
    "ids inside a failure": {
        "DecreaseReply": "Failure failure = 1;",
        "Failure": "repeated string succeeded = 1;",
    },
    "ids that are zones": {
        "DecreaseRequest": "repeated Ref instances = 1;",
        "Ref": "string zone = 1;",
    },
    "unnamed zones": {
        "DecreaseRequest": "repeated Ref items = 1;",
        "Ref": "string zone = 1;",
    },
    "a list of instances that were rejected": {
        "UpdateReply": "R rejected = 1; repeated string other = 2;",
        "R": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2;",
    },
    "a list in the wrong wrapper": {
        "DecreaseReply": "Rejected data = 1;",
        "Rejected": "repeated string succeeded = 1;",
    },
    "no config": {"InitRequest": "Connector connector = 1;"},
    "no address": {"ConnectInfoReply": "string id = 1; Connector connector = 2;"},
    "an answer without a list": {"UpdateReply": ""},
    "a flag of unknown meaning in a heartbeat": {"HeartbeatReply": "bool fine = 1;"},
    "one instance in an answer that does not stream": {
        "UpdateReply": "string id = 1; State state = 2; repeated string other = 3;"
    },
}


def streaming(bodies: dict[str, str]) -> bool:
    """Tell whether Update of these messages is a stream: where its answer holds no list."""
    body = bodies.get("UpdateReply", "")
    return "repeated" not in body and "map<" not in body


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_what_is_ambiguous_or_of_another_type_is_refused(case: str) -> None:
    bodies = AMBIGUOUS[case]
    service = mapped(written(bodies, stream=streaming(bodies)))
    assert not service.whole
    reasons = (*service.refused(), *service.faults)
    (message, *_) = bodies
    call = message.removesuffix("Reply").removesuffix("Request")
    assert all(reason.startswith(call) for reason in reasons)


def test_a_required_field_that_nothing_of_ours_fills_is_refused() -> None:
    body = "repeated string succeeded = 1; required string stamp = 2;"
    service = mapped(written({"DecreaseReply": body}, syntax="proto2"))
    assert any("stamp: required" in line for line in service.refused())


@pytest.mark.parametrize("call", ["Increase", "Init"])
def test_an_answer_that_streams_is_refused_but_for_update(call: str) -> None:
    file = written()
    next(m for m in file.service[0].method if m.name == call).server_streaming = True
    assert any(fault.startswith(f"{call}: ") for fault in mapped(file).faults)


def test_requests_that_stream_are_refused() -> None:
    file = written()
    next(m for m in file.service[0].method if m.name == "Update").client_streaming = True
    assert not mapped(file).whole


# ---------------------------------------------------------------- containers

HIDDEN = ("bastion", "fallback", "previous", "proxy", "defaults", "next_hop")


@pytest.mark.parametrize("around", HIDDEN)
def test_a_known_name_inside_something_else_is_not_taken(around: str) -> None:
    inner = CONNECTOR.replace("string username = 5;", "")
    bodies = {
        "Connector": inner,
        "ConnectInfoReply": f"{BODIES['ConnectInfoReply']} Other {around} = 9;",
        "Other": "string username = 1;",
    }
    service = mapped(written(bodies))
    assert found(service, "ConnectInfo", "reply", "username").leaf is None
    assert not service.whole


@pytest.mark.parametrize("around", HIDDEN)
def test_a_known_name_in_its_place_is_taken_in_spite_of_another_elsewhere(around: str) -> None:
    bodies = {"ConnectInfoReply": f"{BODIES['ConnectInfoReply']} Connector {around} = 9;"}
    service = mapped(written(bodies))
    assert service.whole
    match = found(service, "ConnectInfo", "reply", "username")
    assert match.leaf is not None
    assert match.leaf.name == "connector.username"


ELSEWHERE = {
    "the id of a network": ("id", "string id = 1; ", "Other network = 9;", "string id = 1;"),
    "the protocol of a network": ("protocol", "", "Other network = 9;", "string protocol = 1;"),
    "the key of an access": ("key", "", "Other access = 9;", "bytes key = 1;"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_known_name_counts_only_where_it_means_that(case: str) -> None:
    name, without, around, inner = ELSEWHERE[case]
    bodies = {
        "Connector": "string username = 5;",
        "ConnectInfoReply": f"{BODIES['ConnectInfoReply'].replace(without, '', 1)} {around}",
        "Other": inner,
    }
    service = mapped(written(bodies))
    assert found(service, "ConnectInfo", "reply", name).level is Level.REFUSED


@pytest.mark.parametrize(
    ("message", "index"), [("IncreaseRequest", 0), ("DecreaseReply", 0), ("ConnectInfoReply", 2)]
)
def test_a_deprecated_field_is_not_taken(message: str, index: int) -> None:
    file = written()
    body = next(one for one in file.message_type if one.name == message)
    body.field[index].options.deprecated = True
    (reason, *_) = mapped(file).refused()
    assert "deprecated" in reason


def test_a_duration_that_nobody_can_convert_is_left_out_and_told() -> None:
    bodies = {
        "InitRequest": "bytes config = 1; int64 keepalive = 2;",
        "ConnectInfoReply": "string id = 1; string external_addr = 2;"
        " google.protobuf.Duration keepalive = 3;",
    }
    match = found(mapped(written(bodies)), "ConnectInfo", "reply", "keepalive")
    assert (match.level, match.leaf) == (Level.ABSENT, None)
    assert "the unit is not known" in match.reason


def test_two_places_that_are_both_known_are_refused() -> None:
    bodies = {"InitRequest": "bytes config = 1; Connector connector = 2; Connector settings = 3;"}
    assert not mapped(written(bodies)).whole


# ---------------------------------------------------------------- override

SETTLED = {
    "an unknown name": {
        "DecreaseReply": "repeated string victims = 1; repeated string failed = 2;"
    },
    "an unknown login": {"Connector": CONNECTOR.replace("username", "login")},
    "an unknown address": {
        "ConnectInfoReply": BODIES["ConnectInfoReply"].replace("external_addr", "wan")
    },
    "an unknown maximum": {"InitReply": "string id = 1; int32 ceiling = 2;"},
    "unknown ids": {"DecreaseRequest": "repeated Ref targets = 3;", "Ref": "string uid = 4;"},
    "an unknown count": {"IncreaseRequest": "sint32 how_many = 3;"},
}


@pytest.mark.parametrize("case", SETTLED)
def test_the_lines_of_a_refusal_settle_it_when_pasted(case: str) -> None:
    bodies = SETTLED[case]
    before = mapped(written(bodies, stream=streaming(bodies)))
    assert not before.whole
    after = with_lines(bodies, stream=streaming(bodies))
    assert list(after.refused()) == []
    assert after.whole


ASKED = {
    "an unknown list": (
        {"UpdateReply": "repeated I fleet = 1;", "I": "string machine = 1; State st = 2;"},
        ('instances = "fleet"', 'id = "machine"', 'state = "st"'),
    ),
    "an unknown wrapper": (
        {"UpdateReply": "I change = 1;", "I": "string id = 1; State state = 2;"},
        ('id = "change.id"', 'state = "change.state"'),
    ),
    "one address without a name": (
        {"ConnectInfoReply": "string id = 1; Connector connector = 2; string whereabouts = 3;"},
        ('external = "whereabouts"', 'internal = ""'),
    ),
    "only what failed": ({"DecreaseReply": "repeated string failed = 1;"}, ('succeeded = ""',)),
    "only an error's number": ({"IncreaseReply": "int32 error_code = 1;"}, ('succeeded = ""',)),
    "an unknown number in Init": (
        {"InitReply": "string id = 1; int32 api_version = 2;"},
        ('max_size = ""', '"api_version" = 0'),
    ),
    "an unknown config": (
        {"InitRequest": "string settings_text = 3;"},
        ('config = "settings_text"',),
    ),
    "two known counts": (
        {"IncreaseRequest": "int64 delta = 1; int64 count = 2;"},
        ('count = "delta"', '"count" = true'),
    ),
    "two known users": (
        {"InitRequest": "bytes config = 1; Connector connector = 2; string username = 3;"},
        ('username = "connector.username"', '"username" = true'),
    ),
    "an unknown flag": ({"HeartbeatReply": "bool fine = 1;"}, ('"fine" = true',)),
    "a number as an id in Init": (
        {"InitReply": "int64 id = 1; int64 max_size = 2;"},
        ('id = ""', '"id" = 0'),
    ),
    "states that are plain numbers": (
        {"UpdateReply": "repeated I instances = 1;", "I": "string id = 1; int32 state = 2;"},
        ('state = "state"', 'creating = "0"', 'running = "1"', 'deleting = "7"'),
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_only_a_person_can_know_is_a_question_and_all_is_asked_at_once(case: str) -> None:
    bodies, answers = ASKED[case]
    file = written(bodies, stream=streaming(bodies))
    before = mapped(file)
    assert not before.whole
    lines = override_lines(before, several=False)
    assert not mapped(file, "\n".join(lines)).whole
    assert list(mapped(file, answered(lines, answers)).refused()) == []


def answered(lines: tuple[str, ...], answers: tuple[str, ...]) -> str:
    """Return the lines with the # taken off those that are answered; each was asked."""
    found = list(lines)
    for answer in answers:
        number = answer.split()[0] in {"creating", "running", "deleting"}
        asked = f'{answer.split()[0]} = "NUMBER"' if number else answer
        places = [n for n, line in enumerate(found) if line.startswith(f"# {asked}")]
        assert places, f"{answer} was not asked"
        for place in places:
            found[place] = answer
    return "\n".join(found)


OWN_NAMES = {
    "Connector": "string platform = 1; string cpu_arch = 2; string via = 3; string login = 4;"
    " string pwd = 5; bytes pem = 6; bool fixed = 7;",
    "InitRequest": "bytes settings_blob = 4; Connector connection = 5;",
    "ConnectInfoReply": "string ref = 1; Connector connection = 2; string wan = 3; string lan = 4;",
    "UpdateReply": "repeated Box boxes = 2;",
    "Box": "string ref = 1; State condition = 4;",
    "IncreaseRequest": "uint32 by = 2;",
    "IncreaseReply": "uint32 granted = 2;",
    "DecreaseRequest": "repeated string targets = 2;",
    "DecreaseReply": "repeated string victims = 2;",
    "HeartbeatRequest": "string ref = 2;",
    "ConnectInfoRequest": "string ref = 2;",
}


OWN_ANSWERS = tuple(
    f'{ours} = "{theirs}"'
    for ours, theirs in (
        *(("config", "settings_blob"), ("instances", "boxes"), ("state", "condition")),
        *(("os", "connection.platform"), ("arch", "connection.cpu_arch")),
        *(("protocol", "connection.via"), ("username", "connection.login")),
        *(("password", "connection.pwd"), ("key", "connection.pem")),
        *(("external", "wan"), ("internal", "lan"), ("id", "ref")),
    )
)


def test_a_schema_with_names_of_its_own_is_settled_by_what_is_meant() -> None:
    file = written(OWN_NAMES, stream=False)
    lines = override_lines(mapped(file), several=False)
    service = mapped(file, answered(lines, OWN_ANSWERS))
    assert service.whole, list(service.refused())
    expected = {
        ("Init", "request", "config"): "settings_blob",
        ("Init", "request", "username"): "connection.login",
        ("ConnectInfo", "reply", "key"): "connection.pem",
        ("ConnectInfo", "reply", "os"): "connection.platform",
        ("ConnectInfo", "reply", "external"): "wan",
        ("ConnectInfo", "reply", "internal"): "lan",
        ("Update", "reply", "id"): "boxes.ref",
        ("Update", "reply", "state"): "boxes.condition",
        ("Increase", "request", "count"): "by",
    }
    taken = {(c, s, m.slot.name): m.leaf.name for c, s, m in service.matches() if m.leaf}
    assert {place: taken.get(place) for place in expected} == expected


def test_a_field_that_an_override_names_twice_is_refused() -> None:
    answer = '[ConnectInfo.reply]\nexternal = "external_addr"\ninternal = "external_addr"'
    assert not mapped(written(), answer).whole


def test_a_person_chooses_where_several_could_be_meant() -> None:
    bodies = {"DecreaseRequest": "repeated string alpha = 1; repeated string beta = 2;"}
    lines = override_lines(mapped(written(bodies)), several=False)
    assert lines[:3] == ("[Decrease.request]", '# ids = "alpha"', '# ids = "beta"')
    assert lines[3] == "[Decrease.request.unused]"
    answer = '[Decrease.request]\nids = "beta"\n[Decrease.request.unused]\nalpha = true'
    chosen = mapped(written(bodies), answer)
    assert chosen.whole
    match = found(chosen, "Decrease", "request", "ids")
    assert (match.level, match.leaf and match.leaf.name) == (Level.OVERRIDE, "beta")


def test_a_refusal_tells_every_reason_at_once_and_where_the_lines_belong() -> None:
    bodies = {
        "DecreaseReply": "repeated string victims = 1;",
        "HeartbeatRequest": "string who = 1;",
    }
    text = refusal(mapped(written(bodies)), "/etc/schema.toml", several=False)
    for part in ("Decrease.reply.succeeded", "victims", "Heartbeat.request.id", "/etc/schema.toml"):
        assert part in text


@pytest.mark.parametrize(
    "answer",
    [
        '[Decrease.reply]\nsucceeded = "nowhere"',
        '[Decrease.reply]\nsucceeded = "count"',
        '[Increase.request]\ncount = ""',
        '[Init.request]\nconfig = ""',
        '[states]\nrunning = "STATE_NOWHERE"',
        '[states]\nrunning = ""',
    ],
)
def test_an_override_that_does_not_fit_is_refused(answer: str) -> None:
    bodies = {"DecreaseReply": "repeated string succeeded = 1; int32 count = 2;"}
    assert not mapped(written(bodies), answer).whole


def test_an_override_wins_over_a_known_name_and_is_told() -> None:
    bodies = {"IncreaseRequest": "int64 count = 1; int64 real_delta = 2;"}
    service = mapped(written(bodies), '[Increase.request]\ncount = "real_delta"')
    assert "override: Increase.request.count is real_delta" in list(below_exact(service))


# ---------------------------------------------------------------- states


@pytest.mark.parametrize(
    "states",
    [
        "CREATING RUNNING DELETING",
        "creating running deleting gone",
        "INSTANCE_STATE_CREATING INSTANCE_STATE_RUNNING INSTANCE_STATE_DELETING",
        "StateCreating StateRunning StateDeleting StateTimedOut",
        "UNKNOWN=0 RUNNING=9 DELETING=4 CREATING=77",
        "STATE_DELETING STATE_CREATING STATE_RUNNING",
    ],
)
def test_states_are_read_whatever_their_spelling_and_numbers(states: str) -> None:
    service = mapped(written(states=states))
    assert service.whole
    assert service.states is not None
    names = {state: name.lower() for state, name in service.states.names.items()}
    assert names[State.CREATING].endswith("creating")
    assert names[State.RUNNING].endswith("running")
    assert names[State.DELETING].endswith("deleting")


@pytest.mark.parametrize(
    "states",
    [
        "STATE_UNSPECIFIED STATE_PENDING STATE_RUNNING STATE_DELETING",
        "STATE_CREATING STATE_RUNNING STATE_NOT_DELETING",
        "STATE_CREATING STATE_RUNNING STATE_DELETED",
        "CREATING STATE_CREATING RUNNING DELETING",
        "STATE_CREATING STATE_RUNNING STATE_DELETING=5 STATE_DELETED=5",
        "STATE_CREATING STATE_RUNNING STATE_UNDELETING",
    ],
)
def test_an_enum_without_the_states_that_all_depends_on_is_refused(states: str) -> None:
    assert not mapped(written(states=states)).whole


def test_states_that_a_schema_lacks_are_not_offered() -> None:
    service = mapped(written(states="CREATING RUNNING DELETING STOPPED REBOOTING"))
    assert service.offered == {State.CREATING, State.RUNNING, State.DELETING, State.STOPPED}
    assert service.states is not None
    assert service.states.others == ("REBOOTING",)


def test_unknown_words_for_states_are_settled_by_the_lines_of_the_refusal() -> None:
    states = "PROVISIONING ACTIVE TERMINATING"
    assert not mapped(written(states=states)).whole
    after = with_lines({}, states=states)
    assert after.whole
    assert after.states is not None
    assert after.states.written == {State.CREATING: 0, State.RUNNING: 1, State.DELETING: 2}


def test_states_as_texts_are_a_guess_that_is_told_and_never_say_stopped() -> None:
    service = mapped(written({"UpdateReply": "string id = 1; string state = 2;"}))
    assert service.whole
    assert State.STOPPED not in service.offered
    assert State.SUSPENDED not in service.offered
    assert any("states.running is running" in line for line in below_exact(service))


def test_an_override_spells_states_that_are_texts() -> None:
    bodies = {"UpdateReply": "string id = 1; string state = 2;"}
    answer = '[states]\nrunning = "RUNNING"\nstopped = "halted"\ntimeout = ""'
    service = mapped(written(bodies), answer)
    assert service.states is not None
    assert service.states.written[State.RUNNING] == "RUNNING"
    assert service.states.written[State.STOPPED] == "halted"
    assert State.TIMEOUT not in service.offered
