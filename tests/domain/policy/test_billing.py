from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.billing import (
    DAILY,
    HOURLY,
    MONTHLY,
    Terms,
    cost_so_far,
    paid,
    paid_until,
    remaining,
    waste,
)

BORN = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)
H = timedelta(hours=1)
D = timedelta(days=1)


@pytest.mark.parametrize(
    ("terms", "after", "until"),
    [
        (HOURLY, 0 * H, 0 * H),
        (HOURLY, 5 * H, 5 * H),
        (DAILY, 0 * H, 24 * H),
        (DAILY, 23 * H, 24 * H),
        (DAILY, 24 * H, 24 * H),
        (DAILY, 25 * H, 25 * H),
        (MONTHLY, 1 * H, 30 * D),
        (MONTHLY, 30 * D - H, 30 * D),
        (MONTHLY, 30 * D, 60 * D),
        (MONTHLY, 61 * D, 90 * D),
    ],
)
def test_a_host_is_paid_until_the_end_of_its_window_and_then_as_it_stands(
    terms: Terms, after: timedelta, until: timedelta
) -> None:
    assert paid_until(terms, BORN, BORN + after) == BORN + until


@pytest.mark.parametrize(
    ("cancelled", "after", "until"),
    [
        (3 * D, 10 * D, 30 * D),
        (3 * D, 31 * D, 31 * D),
        (29 * D, 45 * D, 45 * D),
        (31 * D, 45 * D, 60 * D),
        (50 * D, 10 * D, 30 * D),
    ],
)
def test_a_cancelled_commitment_ends_with_the_window_in_which_it_was_cancelled(
    cancelled: timedelta, after: timedelta, until: timedelta
) -> None:
    terms = Terms(floor=D, renews=30 * D, cancelled=BORN + cancelled)
    assert paid_until(terms, BORN, BORN + after) == BORN + until


def test_nothing_is_paid_before_the_delivery() -> None:
    assert paid(DAILY, BORN, BORN - H) == timedelta(0)
    assert remaining(DAILY, BORN, BORN - H) == timedelta(0)


def test_what_is_paid_and_not_used_is_what_an_end_now_would_waste() -> None:
    now = BORN + 6 * H
    assert remaining(DAILY, BORN, now) == 18 * H
    assert cost_so_far(DAILY, BORN, now, 0.5) == pytest.approx(12.0)
    assert waste(DAILY, BORN, now, 0.5) == pytest.approx(9.0)
    assert waste(DAILY, BORN, BORN + 30 * H, 0.5) == 0.0
    assert cost_so_far(HOURLY, BORN, now, 0.5) == pytest.approx(3.0)
