"""Pins: which host key is trusted, row by row."""

from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.host_keys import Pin, Ruling, expected, judge

BEGIN = datetime(2026, 6, 1, tzinfo=UTC)
OLD, NEW = "SHA256:old", "SHA256:new"
NOW = BEGIN + timedelta(days=9)
PINNED = BEGIN + timedelta(days=2)
BEFORE, AFTER = PINNED - timedelta(hours=1), PINNED + timedelta(hours=1)
PIN = Pin(key=OLD, at=PINNED)

Row = tuple[Pin | None, datetime | None, str, Ruling, Pin | None]
ROWS: list[Row] = [
    # pin, wiped, shown, ruling, the pin afterwards
    (None, None, OLD, Ruling.PIN, Pin(key=OLD, at=NOW)),
    (None, AFTER, OLD, Ruling.PIN, Pin(key=OLD, at=NOW)),
    (None, None, "", Ruling.REFUSE, None),
    (PIN, None, OLD, Ruling.ACCEPT, PIN),
    (PIN, BEFORE, OLD, Ruling.ACCEPT, PIN),
    (PIN, AFTER, OLD, Ruling.ACCEPT, Pin(key=OLD, at=NOW)),
    (PIN, None, NEW, Ruling.REFUSE, PIN),
    (PIN, BEFORE, NEW, Ruling.REFUSE, PIN),
    (PIN, PINNED, NEW, Ruling.REFUSE, PIN),
    (PIN, AFTER, NEW, Ruling.REPIN, Pin(key=NEW, at=NOW)),
    (PIN, None, "", Ruling.REFUSE, PIN),
    (PIN, AFTER, "", Ruling.REFUSE, PIN),
]


@pytest.mark.parametrize("row", ROWS)
def test_key_is_ruled_on_by_pin_and_recorded_wipe(row: Row) -> None:
    pin, wiped, shown, ruling, then = row
    found = judge(pin, wiped, shown, NOW)
    assert (found.ruling, found.pin) == (ruling, then)
    assert bool(found.why) == (ruling is not Ruling.ACCEPT)


@pytest.mark.parametrize("row", ROWS)
def test_expected_key_and_ruling_never_disagree(row: Row) -> None:
    """What is checked while dialling is what is ruled afterwards."""
    pin, wiped, shown, ruling, then = row
    wanted = expected(pin, wiped)
    assert (ruling is not Ruling.REFUSE) == bool(shown and wanted in {"", shown})
    if then is not None:
        assert wanted in {"", then.key}


@pytest.mark.parametrize("first", [OLD, NEW])
def test_recorded_wipe_opens_a_pin_once(first: str) -> None:
    """Also a key that stayed the same uses it up: the next other key is a stranger's."""
    used = judge(PIN, AFTER, first, NOW)
    again = judge(used.pin, AFTER, "SHA256:third", NOW + timedelta(minutes=1))
    assert again.ruling is Ruling.REFUSE


def test_refusal_names_both_keys_and_what_may_be_the_matter() -> None:
    why = judge(PIN, BEFORE, NEW, NOW).why
    assert OLD in why
    assert NEW in why
    assert str(BEFORE) in why
    assert "nothing was sent" in why
