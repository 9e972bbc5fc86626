"""A mapping that was pinned, and what a changed runner may and may not change."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from schema_kit import BODIES, STATES, mapped, written

from hostler.frontends.fleeting.schema.binary.processes import ProcFolder
from hostler.frontends.fleeting.schema.learn import Learning, Learnt, learn
from hostler.frontends.fleeting.schema.pin import BadPin, compare, read_pin, write_pin


@pytest.fixture
def pin(tmp_path: Path) -> Path:
    """Return where the plain schema is pinned."""
    path = tmp_path / "state" / "pin.json"
    service = mapped(written())
    write_pin(path, {service.name: service})
    return path


def changes(pin: Path, bodies: dict[str, str], **parts: object) -> tuple[str, ...]:
    """Return what may not be different, of a schema with other messages."""
    read = read_pin(pin)
    assert read is not None
    return compare(read, mapped(written(bodies, **parts))).changed


def test_an_unchanged_schema_is_as_it_was_pinned(pin: Path) -> None:
    read = read_pin(pin)
    assert read is not None
    difference = compare(read, mapped(written()))
    assert (difference.changed, difference.added) == ((), ())


def test_a_pin_is_the_same_text_each_time(pin: Path, tmp_path: Path) -> None:
    service = mapped(written())
    write_pin(tmp_path / "again", {service.name: service})
    assert (tmp_path / "again").read_text() == pin.read_text()


CHANGED = {
    "another number": {"IncreaseRequest": "int64 delta = 2;"},
    "another type": {"IncreaseRequest": "int32 delta = 1;"},
    "another name": {"IncreaseRequest": "int64 count = 1;"},
    "another field beside the old one": {
        "IncreaseRequest": "int64 delta = 7; string trace_id = 1;"
    },
    "a field that is gone": {"InitReply": "string id = 1; int64 max_size = 2;"},
    "another nesting": {"HeartbeatRequest": "I instance = 1;", "I": "string id = 1;"},
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_changed_meaning_of_a_pinned_field_is_refused(pin: Path, case: str) -> None:
    assert mapped(written(CHANGED[case])).whole
    assert changes(pin, CHANGED[case])


def test_other_numbers_of_states_are_refused(pin: Path) -> None:
    swapped = STATES.replace("RUNNING", "X").replace("DELETING", "RUNNING").replace("X", "DELETING")
    assert len(changes(pin, {}, states=swapped)) == 2


def test_an_update_that_streams_no_more_is_refused(pin: Path) -> None:
    bodies = {"UpdateReply": "repeated I instances = 1;", "I": "string id = 1; State state = 2;"}
    assert any("method Update" in one for one in changes(pin, bodies, stream=False))


def test_a_service_of_another_name_is_refused(pin: Path) -> None:
    (message,) = changes(pin, {}, package="test.v2")
    assert "test.v1.Plugin" in message


def test_additions_are_noted(pin: Path) -> None:
    read = read_pin(pin)
    assert read is not None
    bodies = {
        "InitReply": f"{BODIES['InitReply']} string homepage = 9;",
        "HeartbeatReply": "bool healthy = 1;",
    }
    methods = {"Suspend": ("DecreaseRequest", "DecreaseReply")}
    difference = compare(
        read, mapped(written(bodies, methods=methods, states=f"{STATES} STATE_STOPPED"))
    )
    assert difference.changed == ()
    message = "\n".join(difference.added)
    for part in ("homepage", "Heartbeat.reply.healthy is new", "Suspend is new", "stopped is new"):
        assert part in message


def from_binary(tmp_path: Path, pin: Path, bodies: dict[str, str]) -> Learnt:
    runner = tmp_path / "runner"
    runner.write_bytes(b"\x7fELF" + written(bodies).SerializeToString(deterministic=True))
    now = datetime(2026, 11, 21, tzinfo=UTC)
    return learn(Learning(processes=ProcFolder(0), now=lambda: now, choice=str(runner), pin=pin))


def test_a_runner_that_is_not_as_pinned_is_not_served(tmp_path: Path, pin: Path) -> None:
    assert from_binary(tmp_path, pin, {}).refusal == ""
    learnt = from_binary(tmp_path, pin, {"IncreaseRequest": "int64 delta = 2;"})
    assert learnt.served == ()
    assert (
        "Increase.request.count: pinned as delta int64 = 1, now delta int64 = 2" in learnt.refusal
    )
    assert str(pin) in learnt.refusal
    assert not any("serving" in line.text for line in learnt.log)


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 9, "services": {}}', b"\xff"])
def test_a_damaged_pin_is_refused(tmp_path: Path, content: bytes) -> None:
    pin = tmp_path / "pin"
    pin.write_bytes(content)
    with pytest.raises(BadPin):
        read_pin(pin)
    assert str(pin) in from_binary(tmp_path, pin, {}).refusal


def test_no_pin_is_no_trouble(tmp_path: Path) -> None:
    assert read_pin(tmp_path / "none") is None
