from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.demand import Demand, demand_of
from hostler.domain.policy.forecast import Outlook, alike, likely, lost, worth_keeping

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
H = timedelta(hours=1)
D = timedelta(days=1)
NEVER = (0,) * 25


def by_day(*wanted: int) -> Demand:
    """Return a demand that is the same all day long, day by day."""
    return demand_of([(MONDAY + n * D, w) for n, w in enumerate(wanted)], MONDAY + len(wanted) * D)


def wanted_after(steps: int) -> tuple[int, ...]:
    """Return a course on which one host is wanted after so many steps."""
    return (*(0,) * steps, 1, *(0,) * (24 - steps))


def test_working_days_are_like_working_days_and_weekends_like_weekends() -> None:
    past, now = by_day(1, 2, 3, 4, 5, 0, 0), MONDAY + 7 * D
    monday = alike(past, now, now, Outlook())
    assert monday == (3 * D, 4 * D, 5 * D, 6 * D, 7 * D)
    saturday = alike(past, now, now + 5 * D, Outlook())
    assert saturday == (6 * D, 7 * D)


def test_only_the_newest_days_are_observed() -> None:
    past, now = by_day(1, 2, 3, 4, 5, 0, 0), MONDAY + 7 * D
    assert alike(past, now, now, Outlook(back=5 * D)) == (3 * D, 4 * D, 5 * D)


def test_a_day_that_is_not_over_is_no_sample() -> None:
    past, now = by_day(1, 2, 3), MONDAY + 2.5 * D
    assert alike(past, now, now, Outlook()) == (1 * D, 2 * D)
    assert alike(past, now, now + 1 * D, Outlook()) == (2 * D, 3 * D)


def test_what_is_otherwise_now_counts_at_first_and_fades() -> None:
    now = MONDAY + 3 * D
    (first, *_) = likely(by_day(4, 4, 4), now, 8, Outlook(step=H, ahead=6 * H, fades=4 * H))
    assert first == (8, 8, 7, 6, 5, 4, 4)
    (lower, *_) = likely(by_day(4, 4, 4), now, 0, Outlook(step=H, ahead=6 * H, fades=4 * H))
    assert lower == (0, 0, 1, 2, 3, 4, 4)


def test_the_most_of_a_step_counts() -> None:
    steps = [(MONDAY, 0), (MONDAY + 3.5 * H, 5), (MONDAY + 3.6 * H, 1), (MONDAY + 5 * H, 0)]
    outlook = Outlook(step=H, ahead=6 * H)
    (course,) = likely(demand_of(steps, MONDAY + D), MONDAY + D, 0, outlook)
    assert course == (0, 0, 0, 0, 5, 1, 0)


def test_without_a_record_there_is_nothing_to_go_by() -> None:
    assert likely(by_day(1), MONDAY + H, 1, Outlook()) == ()
    assert worth_keeping((), 0, 2, 48) == 0


def test_a_window_loses_what_nobody_wants_of_it() -> None:
    day = [(MONDAY, 0), (MONDAY + 9 * H, 2), (MONDAY + 15 * H, 0)]
    past = demand_of(day, MONDAY + 3 * D)
    assert lost(past, MONDAY + 3 * D, D, Outlook()) == 18 * H
    assert lost(past, MONDAY + 3 * D, 12 * H, Outlook()) == 6 * H
    assert lost(past, MONDAY + 21 * H, D, Outlook()) == 12 * H, "of half a window the half"


def test_a_peak_counts_for_its_hour() -> None:
    steps = [(MONDAY, 0), (MONDAY + 9.2 * H, 2), (MONDAY + 9.6 * H, 0)]
    assert lost(demand_of(steps, MONDAY + 3 * D), MONDAY + 3 * D, D, Outlook()) == 23 * H


def test_a_window_that_serves_the_next_morning_too_loses_less() -> None:
    steps = [(MONDAY, 0), (MONDAY + 12 * H, 1), (MONDAY + 18 * H, 0), (MONDAY + 32 * H, 1)]
    past = demand_of([*steps, (MONDAY + 38 * H, 0)], MONDAY + 3 * D)
    assert lost(past, MONDAY + 3 * D, D, Outlook()) == 14 * H, "the night, and not the morning"


def test_where_nothing_was_bought_a_whole_window_would_be_lost() -> None:
    assert lost(by_day(3, 3), MONDAY + 2 * D, D, Outlook()) == D
    assert lost(by_day(), MONDAY, D, Outlook()) == D


def test_what_was_lost_long_ago_does_not_count() -> None:
    steps = [(MONDAY, 0), (MONDAY + 9 * H, 2), (MONDAY + 10 * H, 0)]
    steps += [(MONDAY + 9 * D, 1), (MONDAY + 9 * D + 18 * H, 0)]
    past = demand_of(steps, MONDAY + 12 * D)
    assert lost(past, MONDAY + 12 * D, D, Outlook(back=5 * D)) == 6 * H
    assert lost(past, MONDAY + 12 * D, D, Outlook(back=12 * D)) > 12 * H


@pytest.mark.parametrize(("wait", "count"), [(0, 1), (9, 1), (10, 0), (24, 0)])
def test_a_host_is_kept_for_less_time_than_another_one_would_lose(wait: int, count: int) -> None:
    assert worth_keeping((wanted_after(wait),), 0, 3, saves=10) == count


def test_a_host_is_kept_only_while_it_is_likely_enough_that_somebody_comes() -> None:
    soon = wanted_after(2)
    assert worth_keeping((soon, NEVER, NEVER), 0, 1, saves=9) == 1, "2 + 3 + 3 are less than 9"
    assert worth_keeping((soon, NEVER, NEVER), 0, 1, saves=8) == 0
    assert worth_keeping((soon, NEVER, NEVER, NEVER), 0, 1, saves=9) == 0


def test_who_comes_late_may_pay_where_who_comes_first_does_not() -> None:
    courses = (wanted_after(8), wanted_after(9), wanted_after(9))
    assert worth_keeping(courses, 0, 1, saves=10) == 1, "26 are less than 30, 28 are not than 10"


def test_as_many_are_kept_as_are_wanted_beside_the_others() -> None:
    course = (0, 0, 3, *(0,) * 20)
    assert worth_keeping((course,), 0, 5, saves=10) == 3
    assert worth_keeping((course,), 2, 5, saves=10) == 1
    assert worth_keeping((course,), 3, 5, saves=10) == 0
    assert worth_keeping((course,), 0, 2, saves=10) == 2


def test_a_day_of_which_there_are_fewer_samples_is_nothing_in_the_others() -> None:
    """On a Friday evening: many days were like it, and one weekend."""
    past, friday = by_day(1, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1), MONDAY + 11 * D + 18 * H
    courses = likely(past, friday, 1, Outlook(step=H, ahead=12 * H))
    assert [course[-1] for course in courses][:3] == [2, 2, 0]
