"""Units: times and durations in whole numbers, by the unit in the name of their field."""

from datetime import UTC, datetime

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from schema_kit import BODIES, CONNECTOR, mapped, written

from hostler.frontends.fleeting.contract import ConnectInfo, Connector
from hostler.frontends.fleeting.schema.codec.codec import Codec

WHEN = datetime(2026, 11, 21, 12, 30, 15, 123457, tzinfo=UTC)
NANOS = 1_795_264_215_123_457_000
WITHOUT = BODIES["ConnectInfoReply"].replace(" google.protobuf.Timestamp expires = 5;", "")
INFO = ConnectInfo(id="a", connector=Connector(), external="1.2.3.4", expires=WHEN)

POINTS = {
    "expires_at_unix": NANOS // 10**9,
    "expires_unix_milli": NANOS // 10**6,
    "expires_unix_micro": NANOS // 1000,
    "expires_unix_nano": NANOS,
    "expires_at_ns": NANOS,
}


@pytest.mark.parametrize("name", POINTS)
def test_a_moment_is_told_in_the_unit_of_its_name(name: str) -> None:
    service = mapped(written({"ConnectInfoReply": f"{WITHOUT} int64 {name} = 20;"}))
    assert service.whole
    assert getattr(Codec(service).reached(INFO), name) == POINTS[name]


def test_a_moment_under_an_unknown_name_is_told_in_its_unit() -> None:
    text = '[ConnectInfo.reply]\nexpires = "not_after_unix_nano"'
    body = f"{WITHOUT} int64 not_after_unix_nano = 20;"
    service = mapped(written({"ConnectInfoReply": body}), text)
    reply = Codec(service).reached(INFO)
    assert getattr(reply, "not_after_unix_nano") == NANOS  # noqa: B009 - a field of the schema


@pytest.mark.parametrize("kind", ["int32", "uint32", "google.protobuf.Int32Value"])
def test_a_number_that_is_too_small_for_its_unit_is_refused(kind: str) -> None:
    file = written({"ConnectInfoReply": f"{WITHOUT} {kind} expires_at_ms = 20;"})
    assert any("too small" in line for line in mapped(file).refused())
    text = '[ConnectInfo.reply]\nexpires = "expires_at_ms"'
    assert any("too small" in line for line in mapped(file, text).refused())
    assert mapped(written({"ConnectInfoReply": f"{WITHOUT} {kind} expires_at = 20;"})).whole


@pytest.mark.parametrize("answered", ["timeout_weeks", "timeout_years"])
def test_a_duration_in_a_unit_that_nobody_knows_goes_only_to_a_field_of_its_name(
    answered: str,
) -> None:
    ours = "google.protobuf.Duration timeout"
    bodies = {
        "InitRequest": "bytes config = 1; Config connector = 2;",
        "Config": CONNECTOR.replace(ours, "int64 timeout_weeks"),
        "Connector": CONNECTOR.replace(ours, f"int64 {answered}"),
    }
    asked = '[Init.request]\ntimeout = "connector.timeout_weeks"'
    service = mapped(
        written(bodies), f'{asked}\n[ConnectInfo.reply]\ntimeout = "connector.{answered}"'
    )
    same = answered == "timeout_weeks"
    refused = {line.partition(": ")[0] for line in service.refused()}
    assert refused == (set() if same else {f"ConnectInfo.reply.connector.{answered}"})
    assert (service.calls["ConnectInfo"].leaf("reply", "timeout") is not None) is same


SPANS = {
    "minutes to seconds": ("int64 timeout_minutes", 2, "int64 timeout_seconds", 120),
    "minutes to hours": ("int64 timeout_minutes", 120, "int32 timeout_hours", 2),
    "a day to a duration": ("int32 timeout_days", 1, "google.protobuf.Duration timeout", 86_400),
    "a part of a second": ("int64 timeout_ms", 1500, "int64 timeout_s", 0),
    "whole seconds": ("int64 timeout_ms", 2000, "uint32 timeout_s", 2),
    "what is too large": ("int64 timeout_s", 30, "int32 timeout_ns", 0),
    "what is large enough": ("int64 timeout_s", 3, "fixed32 timeout_ns", 3_000_000_000),
}


@pytest.mark.parametrize("case", SPANS)
def test_a_duration_is_told_as_it_is_or_not_at_all(case: str) -> None:
    asked, value, answered, expected = SPANS[case]
    ours = "google.protobuf.Duration timeout"
    bodies = {
        "InitRequest": "bytes config = 1; Config connector = 2;",
        "Config": CONNECTOR.replace(ours, asked),
        "Connector": CONNECTOR.replace(ours, answered),
    }
    service = mapped(written(bodies))
    assert list(service.refused()) == []
    codec = Codec(service)
    request = GetMessageClass(service.calls["Init"].method.input_type)()
    ParseDict({"connector": {asked.split()[1]: value}}, request)
    _, connector = codec.begin(request)
    reply = codec.reached(ConnectInfo(id="a", connector=connector, external="1.2.3.4"))
    found = getattr(getattr(reply, "connector"), answered.split()[1])  # noqa: B009
    assert getattr(found, "seconds", found) == expected
