from datetime import UTC, datetime, timedelta

from hostler.domain.demand import Demand, demand_of
from hostler.domain.forecast import Course, Outlook, Windows, alike, likely, paid, worth_keeping

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
H = timedelta(hours=1)
D = timedelta(days=1)


def by_day(*wanted: int) -> Demand:
    """Return a demand that is the same all day long, day by day."""
    return demand_of([(MONDAY + n * D, w) for n, w in enumerate(wanted)], MONDAY + len(wanted) * D)


def test_working_days_are_like_working_days_and_weekends_like_weekends() -> None:
    past, now = by_day(1, 2, 3, 4, 5, 0, 0), MONDAY + 7 * D
    monday = alike(past, now, now, Outlook(samples=3))
    assert monday == (3 * D, 4 * D, 5 * D)
    saturday = alike(past, now, now + 5 * D, Outlook(samples=3))
    assert saturday == (6 * D, 7 * D)


def test_a_day_that_is_not_over_is_no_sample() -> None:
    past, now = by_day(1, 2, 3), MONDAY + 2.5 * D
    assert alike(past, now, now, Outlook()) == (1 * D, 2 * D)
    assert alike(past, now, now + 1 * D, Outlook()) == (2 * D, 3 * D)


def test_what_is_otherwise_now_counts_at_first_and_fades() -> None:
    now = MONDAY + 3 * D
    (first, *_) = likely(by_day(4, 4, 4), now, 8, Outlook(step=H, ahead=6 * H, fades=4 * H))
    assert first.wanted == (8, 8, 7, 6, 5, 4, 4)
    (lower, *_) = likely(by_day(4, 4, 4), now, 0, Outlook(step=H, ahead=6 * H, fades=4 * H))
    assert lower.wanted == (0, 0, 1, 2, 3, 4, 4)


def test_the_most_of_a_step_counts_and_what_comes_soon_is_known() -> None:
    steps = [(MONDAY, 0), (MONDAY + 3.5 * H, 5), (MONDAY + 3.6 * H, 1), (MONDAY + 5 * H, 0)]
    outlook = Outlook(step=H, ahead=6 * H, near=2 * H)
    (course,) = likely(demand_of(steps, MONDAY + D), MONDAY + D, 0, outlook)
    assert course.wanted == (0, 0, 0, 0, 5, 1, 0)
    assert course.soon == (0, 0, 5, 5, 5, 1, 0)


def test_without_a_record_there_is_nothing_to_go_by() -> None:
    assert likely(by_day(1), MONDAY + H, 1, Outlook()) == ()
    assert worth_keeping((), Windows(dues=(0, 0), floor=48), 2) == 0


def test_what_is_short_is_bought_and_what_is_over_is_ended() -> None:
    course = Course(wanted=(1, 0, 0, 2, 0, 0), soon=(1, 0, 0, 2, 0, 0))
    windows = Windows(dues=(0,), floor=2)
    assert paid(course, windows, 0, 0) == 1 + 0 + 0 + 2 + 2 + 0
    assert paid(course, windows, 1, 3) == 1 + 1 + 1 + 2 + 1 + 0


def test_a_host_is_kept_if_another_one_would_cost_more_and_no_more_than_that() -> None:
    soon = Course(wanted=(0, 0, 2, *(0,) * 30), soon=(0, 0, 2, *(0,) * 30))
    later = Course(wanted=(*(0,) * 30, 2), soon=(*(0,) * 30, 2))
    windows = Windows(dues=(0, 0, 0), floor=20)
    assert worth_keeping((soon,), windows, 3) == 2
    assert worth_keeping((later,), windows, 3) == 0
