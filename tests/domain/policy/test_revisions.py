"""When a changed list is brought to a host that is in use, and when no more."""

from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.revisions import Drift, Roll, Rolls, next_roll, roll_failed

ROLLS = Rolls()
NOW = datetime(2026, 6, 1, tzinfo=UTC)
S, MIN = timedelta(seconds=1), timedelta(minutes=1)


def roll(drift: Drift, wanted: str = "new", applied: str = "old", rolls: Rolls = ROLLS) -> Roll:
    return next_roll(drift, wanted, applied, NOW, rolls)


def after(failures: int, ago: timedelta | None, digest: str = "new") -> Drift:
    return Drift(digest=digest, failures=failures, last=None if ago is None else NOW - ago)


Row = tuple[Drift, bool, timedelta | None, bool]
ROWS: list[Row] = [
    # memory: due, again in, stuck
    (Drift(), True, None, False),
    (after(1, 29 * S), False, 1 * S, False),
    (after(1, 30 * S), True, None, False),
    (after(2, 119 * S), False, 1 * S, False),
    (after(4, 299 * S), False, 1 * S, False),
    (after(4, 300 * S), True, None, False),
    (after(5, 300 * S), False, 25 * MIN, True),
    (after(5, 30 * MIN), True, None, True),
    (after(9, 30 * MIN), True, None, True),
    (after(9, 29 * MIN), False, 1 * MIN, True),
    (after(5, None), True, None, True),
    (after(5, -1 * S), True, None, True),  # the clock went back
    (after(5, 1 * S, digest="older"), True, None, False),
]


@pytest.mark.parametrize("row", ROWS)
def test_change_is_tried_by_what_became_of_it_so_far(row: Row) -> None:
    drift, due, retry_at, stuck = row
    found = roll(drift)
    assert (found.due, found.stuck) == (due, stuck)
    assert found.retry_at == (None if retry_at is None else NOW + retry_at)
    assert found.why


def test_nothing_is_tried_where_all_is_as_wanted() -> None:
    for drift in (Drift(), after(9, 1 * S)):
        for wanted in ("", "old"):
            assert not roll(drift, wanted=wanted).due
            assert not roll(drift, wanted=wanted).stuck


def test_failures_count_against_the_digest_that_failed() -> None:
    """Not against the one that is applied, or no bound would ever be reached."""
    drift = Drift()
    for number in range(1, 6):
        drift = roll_failed(drift, "new", NOW - number * timedelta(hours=1))
        assert drift.failures == number
    assert roll(drift).stuck
    assert roll(drift, wanted="newer").due
    assert not roll(drift, wanted="newer").stuck
    assert roll_failed(drift, "newer", NOW) == Drift(digest="newer", failures=1, last=NOW)


def test_limits_of_zero_are_off() -> None:
    always, once = Rolls(attempts=0), Rolls(cooldown=timedelta(0))
    assert roll(after(99, 5 * MIN), rolls=always) == Roll(
        due=True, why="it failed 99 times in a row"
    )
    stuck = roll(after(5, timedelta(days=9)), rolls=once)
    assert (stuck.due, stuck.stuck, stuck.retry_at) == (False, True, None)
