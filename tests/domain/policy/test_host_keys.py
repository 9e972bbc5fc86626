"""Pins: which host key is trusted, row by row."""

from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.host_keys import HostKey, Ruling, expected, judge

BEGIN = datetime(2026, 6, 1, tzinfo=UTC)
OLD, NEW = "SHA256:old", "SHA256:new"
NOW = BEGIN + timedelta(days=9)
PINNED = BEGIN + timedelta(days=2)
BEFORE, AFTER = PINNED - timedelta(hours=1), PINNED + timedelta(hours=1)
HOST_KEY = HostKey(key=OLD, at=PINNED)

Row = tuple[HostKey | None, datetime | None, str, Ruling, HostKey | None]
ROWS: list[Row] = [
    # pin, wiped, shown, ruling, the pin afterwards
    (None, None, OLD, Ruling.HOST_KEY, HostKey(key=OLD, at=NOW)),
    (None, AFTER, OLD, Ruling.HOST_KEY, HostKey(key=OLD, at=NOW)),
    (None, None, "", Ruling.REFUSE, None),
    (HOST_KEY, None, OLD, Ruling.ACCEPT, HOST_KEY),
    (HOST_KEY, BEFORE, OLD, Ruling.ACCEPT, HOST_KEY),
    (HOST_KEY, AFTER, OLD, Ruling.ACCEPT, HostKey(key=OLD, at=NOW)),
    (HOST_KEY, None, NEW, Ruling.REFUSE, HOST_KEY),
    (HOST_KEY, BEFORE, NEW, Ruling.REFUSE, HOST_KEY),
    (HOST_KEY, PINNED, NEW, Ruling.REFUSE, HOST_KEY),
    (HOST_KEY, AFTER, NEW, Ruling.REPIN, HostKey(key=NEW, at=NOW)),
    (HOST_KEY, None, "", Ruling.REFUSE, HOST_KEY),
    (HOST_KEY, AFTER, "", Ruling.REFUSE, HOST_KEY),
]


@pytest.mark.parametrize("row", ROWS)
def test_key_is_ruled_on_by_pin_and_recorded_wipe(row: Row) -> None:
    host_key, wiped, observed_at, ruling, then = row
    found = judge(host_key, wiped, observed_at, NOW)
    assert (found.ruling, found.host_key) == (ruling, then)
    assert bool(found.why) == (ruling is not Ruling.ACCEPT)


@pytest.mark.parametrize("row", ROWS)
def test_expected_key_and_ruling_never_disagree(row: Row) -> None:
    """What is checked while dialling is what is ruled afterwards."""
    host_key, wiped, observed_at, ruling, then = row
    wanted = expected(host_key, wiped)
    assert (ruling is not Ruling.REFUSE) == bool(observed_at and wanted in {"", observed_at})
    if then is not None:
        assert wanted in {"", then.key}


@pytest.mark.parametrize("first", [OLD, NEW])
def test_recorded_wipe_opens_a_pin_once(first: str) -> None:
    """Also a key that stayed the same uses it up: the next other key is a stranger's."""
    used = judge(HOST_KEY, AFTER, first, NOW)
    again = judge(used.host_key, AFTER, "SHA256:third", NOW + timedelta(minutes=1))
    assert again.ruling is Ruling.REFUSE


def test_refusal_names_both_keys_and_what_may_be_the_matter() -> None:
    why = judge(HOST_KEY, BEFORE, NEW, NOW).why
    assert OLD in why
    assert NEW in why
    assert f"{BEFORE:%Y-%m-%d %H:%M} UTC" in why
    assert "nothing was sent" in why
