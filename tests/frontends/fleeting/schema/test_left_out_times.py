"""Times and spans that an answer leaves out: asked about where one may be the time that is ours."""

from datetime import UTC, datetime

import pytest
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import ConnectInfo, Connector
from hostler.frontends.fleeting.schema.advice import override_lines
from hostler.frontends.fleeting.schema.codec.codec import Codec
from hostler.frontends.fleeting.schema.mapping.mapping import ServiceMap

WHEN = datetime(2026, 11, 21, 12, 30, 15, tzinfo=UTC)
WITHOUT = BODIES["ConnectInfoReply"].replace(" google.protobuf.Timestamp expires = 5;", "")
PARTS = {
    "Part": "google.protobuf.Timestamp seen = 1; string text = 2;",
    "Stamp": "int64 seconds = 1; int32 nanos = 2;",
    "Date": "int32 year = 1; int32 month = 2; int32 day = 3;",
}


def unmapped(service: ServiceMap) -> set[str]:
    """Return the fields that are refused."""
    return {line.partition(": ")[0] for line in service.refused()}


TIMES = {
    "a moment": "google.protobuf.Timestamp cheese = 20;",
    "a span": "google.protobuf.Duration cheese = 20;",
    "an optional number": "optional int64 last_seen = 20;",
    "an optional number in a unit": "optional int32 lag_ms = 20;",
    "a number in a wrapper": "google.protobuf.Int64Value changed_at = 20;",
    "a text in a wrapper": "google.protobuf.StringValue valid_time = 20;",
    "a moment of another's": "Stamp last_seen = 20;",
    "a moment by its parts": "Stamp cheese = 20;",
    "a date": "Date cheese = 20;",
    "moments by id": "map<string, google.protobuf.Timestamp> cheese = 20;",
    "numbers by id": "map<string, int64> last_seen = 20;",
}


QUIET = [case for case in TIMES if "by id" not in case and "text" not in case]
"""What nothing else asks about: not what may be of each instance, nor `valid`."""


@pytest.mark.parametrize("case", QUIET)
@pytest.mark.parametrize(
    "message", ["InitReply", "IncreaseReply", "DecreaseReply", "HeartbeatReply", "ShutdownReply"]
)
def test_a_time_whose_absence_can_be_seen_is_left_out(message: str, case: str) -> None:
    assert mapped(written({message: f"{BODIES[message]} {TIMES[case]}", **PARTS})).whole


def test_a_time_of_each_instance_is_left_out() -> None:
    bodies = {
        "UpdateReply": "repeated I instances = 1;",
        "I": "string id = 1; State state = 2; google.protobuf.Timestamp since = 3;",
    }
    assert mapped(written(bodies, stream=False)).whole


@pytest.mark.parametrize("case", TIMES)
def test_a_time_that_may_be_the_end_of_credentials_is_asked_about(case: str) -> None:
    name = TIMES[case].split(" = ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    file = written({"ConnectInfoReply": f"{WITHOUT} {TIMES[case]}", **PARTS})
    assert unmapped(mapped(file)) == {f"ConnectInfo.reply.{name}"}
    value = "0" if TIMES[case].startswith("optional") else "false"
    assert mapped(file, f"[ConnectInfo.reply.always]\n{name} = {value}").whole


@pytest.mark.parametrize("case", QUIET)
def test_beside_an_end_of_credentials_that_is_ours_no_time_is_it(case: str) -> None:
    assert mapped(
        written({"ConnectInfoReply": f"{BODIES['ConnectInfoReply']} {TIMES[case]}", **PARTS})
    ).whole


SILENT = {
    "of what went wrong": "google.protobuf.Timestamp failed_at = 20;",
    "in what went wrong": "Part error = 20;",
    "in entries of a list": "repeated Part history = 20;",
    "a list of moments": "repeated google.protobuf.Timestamp samples = 20;",
    "a number that is no time": "optional int64 rank = 20; optional string zone = 21;",
}


@pytest.mark.parametrize("case", SILENT)
def test_a_time_of_nothing_is_rightly_left_out(case: str) -> None:
    assert mapped(written({"ConnectInfoReply": f"{WITHOUT} {SILENT[case]}", **PARTS})).whole


ENDS = {
    "a moment": ("google.protobuf.Timestamp not_after = 20;", "not_after"),
    "a number": ("optional int64 not_after = 20;", "not_after"),
    "a text": ("google.protobuf.StringValue valid_until = 20;", "valid_until"),
    "in a message": ("Cert certificate = 20;", "certificate.not_after"),
    "one of two": (
        "oneof end { google.protobuf.Timestamp not_after = 20; int64 ttl = 21; }",
        "not_after",
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_end_under_another_name_is_asked_about_and_can_be_named(case: str) -> None:
    added, name = ENDS[case]
    bodies = {
        "ConnectInfoReply": f"{WITHOUT} {added}",
        "Cert": "google.protobuf.Timestamp not_after = 1; string serial = 2;",
    }
    file = written(bodies)
    assert f"ConnectInfo.reply.{name}" in unmapped(mapped(file))
    line = f'expires = "{name}"'
    offered = [one.removeprefix("# ") for one in override_lines(mapped(file), several=False)]
    assert line in offered
    serial = '"certificate.serial" = ""'
    rest = f"\n[ConnectInfo.reply.always]\n{serial}" if "." in name else ""
    assert not rest or f"{serial}   # always" in offered
    settled = mapped(file, f"[ConnectInfo.reply]\n{line}{rest}")
    assert list(settled.refused()) == []
    info = ConnectInfo(id="a", connector=Connector(), external="1.2.3.4", expires=WHEN)
    reply = Codec(settled).reached(info)
    assert "12:30:15" in str(reply) or str(int(WHEN.timestamp())) in str(reply)


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("google.protobuf.Timestamp at = 1;", {"seconds": 1795264215}),
        ("int64 seconds = 1;", 1795264215),
        ("int64 millis = 1;", 1795264215000),
    ],
)
def test_an_end_in_a_message_of_its_own_is_told_in_its_unit(inner: str, expected: object) -> None:
    file = written({"ConnectInfoReply": f"{WITHOUT} End expires = 20;", "End": inner})
    assert unmapped(mapped(file)) == {"ConnectInfo.reply.expires"}
    name = inner.split(" = ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    line = f'expires = "expires.{name}"'
    assert f"# {line}" in override_lines(mapped(file), several=False)
    info = ConnectInfo(id="a", connector=Connector(), external="1.2.3.4", expires=WHEN)
    reply = Codec(mapped(file, f"[ConnectInfo.reply]\n{line}")).reached(info)
    found = getattr(getattr(reply, "expires"), name)  # noqa: B009 - fields of the schema
    assert (found if isinstance(found, int) else {"seconds": found.seconds}) == expected


@pytest.mark.parametrize("name", ["expires", "ttl", "valid_for"])
def test_a_span_is_no_end_and_is_asked_about(name: str) -> None:
    file = written({"ConnectInfoReply": f"{WITHOUT} google.protobuf.Duration {name} = 20;"})
    assert unmapped(mapped(file)) == {f"ConnectInfo.reply.{name}"}
    assert not [one for one in override_lines(mapped(file), several=False) if "expires = " in one]


def test_a_duration_of_ours_that_nobody_can_convert_is_left_out_as_before() -> None:
    bodies = {
        "InitRequest": "bytes config = 1; Config connector = 2;",
        "Config": CONNECTOR.replace("google.protobuf.Duration timeout", "int64 timeout"),
    }
    assert mapped(written(bodies)).whole
