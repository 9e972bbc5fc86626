"""Clock jumps: times of the future come back to now, and in their order."""

from datetime import timedelta

from hostler.domain.policy.clock_jumps import caught_up
from hostler.testing.scenes.builders import BEGIN, MIN, S

LATER = BEGIN + timedelta(hours=2)
TICK = timedelta(microseconds=1)


def test_what_is_past_stays_as_it_is() -> None:
    assert caught_up((), BEGIN) is None
    assert caught_up((None, BEGIN, BEGIN - MIN), BEGIN) is None


def test_times_to_come_keep_their_order() -> None:
    past = caught_up((LATER + S, None, LATER, LATER + MIN, LATER, BEGIN - S), BEGIN)
    assert past is not None
    brought = [past(at) for at in (BEGIN - S, LATER, LATER + S, LATER + MIN)]
    assert brought == [BEGIN - S, BEGIN - 2 * TICK, BEGIN - TICK, BEGIN]
    assert past(None) is None


def test_what_was_brought_back_is_not_brought_back_again() -> None:
    past = caught_up((LATER, LATER + S), BEGIN)
    assert past is not None
    assert caught_up((past(LATER), past(LATER + S)), BEGIN) is None


def test_wait_that_began_in_the_future_begins_anew_and_is_as_long_as_it_was() -> None:
    past = caught_up((LATER, LATER + S, BEGIN - MIN), BEGIN)
    assert past is not None
    assert past.end(LATER + MIN, LATER) == BEGIN - TICK + MIN
    assert past.end(BEGIN + S, BEGIN - MIN) == BEGIN + S
    assert past.end(LATER, None) == LATER
    assert past.end(None, LATER) is None
