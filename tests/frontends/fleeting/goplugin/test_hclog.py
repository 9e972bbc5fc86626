"""Hclog: no event can make a line that a host cannot read, or that it dies of."""

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.frontends.fleeting.goplugin.logging.hclog import LONGEST, line

NOW = datetime(2026, 1, 2, 15, 4, 5, tzinfo=UTC)
LEVELS = {"trace", "debug", "info", "warn", "error"}
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Unshowable:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no")


def values() -> st.SearchStrategy[object]:
    plain = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.text(st.characters(codec=None))
        | st.binary()
        | st.datetimes()
        | st.builds(Unshowable)
        | st.builds(lambda: Text("x"))
        | st.builds(lambda: 10**5000)
    )
    return st.recursive(
        plain,
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=20,
    )


def read(made: bytes) -> dict[str, object]:
    assert made.endswith(b"\n")
    assert made.count(b"\n") == 1
    assert len(made) <= LONGEST
    decoded: dict[str, object] = json.loads(made, parse_constant=pytest.fail)
    return decoded


def check(made: bytes) -> dict[str, object]:
    """What a host needs of every line (go-plugin v1.8.0, log_entry.go)."""
    event = read(made)
    assert event["@level"] in LEVELS
    assert isinstance(event["@message"], str)
    assert isinstance(event["@timestamp"], str)
    assert STAMP.fullmatch(event["@timestamp"])
    assert {key for key in event if key.startswith("@")} == {"@level", "@message", "@timestamp"}
    return event


@given(st.text(), st.text(), st.dictionaries(st.text(), values()))
def test_every_event_makes_a_line_that_a_host_can_read(
    level: str, message: str, fields: dict[str, object]
) -> None:
    check(line(level, message, NOW, fields))


@given(st.dictionaries(st.sampled_from(["@level", "@message", "@@timestamp", "@x", "@"]), values()))
def test_no_field_takes_the_place_of_the_hosts_own(fields: dict[str, object]) -> None:
    event = check(line("info", "said", NOW, fields))
    assert event["@message"] == "said"
    assert event["@level"] == "info"


@pytest.mark.parametrize("longest", [LONGEST - 200, LONGEST, 10 * LONGEST])
@pytest.mark.parametrize("text", ["x", "ü", "\n", "\U0001f600"])
def test_long_texts_are_cut_in_the_middle(text: str, longest: int) -> None:
    event = check(line("info", "said", NOW, {"why": "begin" + text * longest + "end", "n": 1}))
    assert str(event["why"]).startswith("begin")
    assert str(event["why"]).endswith("end")
    assert event["n"] == 1


def test_long_messages_are_cut_too() -> None:
    assert str(check(line("info", "x" * LONGEST * 2, NOW, {}))["@message"]).startswith("xxx")


def test_too_many_fields_are_counted() -> None:
    event = check(line("info", "said", NOW, {f"key{n}": "v" * 20 for n in range(9000)}))
    assert event["cut"] == "9000 keys"


def test_a_list_that_is_too_long_is_cut_as_text() -> None:
    event = check(line("info", "said", NOW, {"ids": [f"m-{n}" for n in range(20_000)]}))
    assert "cut" in str(event["ids"])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("warning", "warn"), ("WARNING", "warn"), ("critical", "error"), ("ERROR", "error"),
     ("debug", "debug"), ("NOTSET", "info"), ("", "info"), ("exception", "error")],
)  # fmt: skip
def test_levels_are_the_hosts(ours: str, theirs: str) -> None:
    assert check(line(ours, "", NOW, {}))["@level"] == theirs


def test_values_that_json_has_keep_their_kind_and_others_are_their_text() -> None:
    fields = {
        "count": 3,
        "ratio": 0.5,
        "yes": True,
        "none": None,
        "ids": ("a", "b"),
        "price": Decimal("1.50"),
        "time": timedelta(seconds=90),
        "nan": math.nan,
        "odd": Unshowable(),
    }
    event = check(line("info", "", NOW, fields))
    assert event["count"] == 3
    assert event["ratio"] == 0.5
    assert event["yes"] is True
    assert event["none"] is None
    assert event["ids"] == ["a", "b"]
    assert event["price"] == "1.50"
    assert event["time"] == "0:01:30"
    assert event["nan"] == "nan"
    assert event["odd"] == "<Unshowable: RuntimeError when shown>"


def test_times_are_told_in_utc_with_six_digits_always() -> None:
    there = datetime(2026, 7, 1, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    assert check(line("info", "", there, {}))["@timestamp"] == "2026-07-01T10:00:00.000000Z"
