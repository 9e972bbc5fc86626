from datetime import UTC, datetime, timedelta

import pytest

from hostler.domain.policy.demand import Demand, demand_of, machine_hours

T = datetime(2026, 1, 5, tzinfo=UTC)
H = timedelta(hours=1)
STEPS = [(T, 1), (T + 2 * H, 3), (T + 3 * H, 0), (T + 5 * H, 2)]


def test_a_demand_holds_from_each_step_on_and_is_unknown_from_its_end() -> None:
    demand = demand_of(STEPS, T + 6 * H)
    asked = (T - H, T, T + 2 * H, T + 4 * H, T + 5.5 * H, T + 6 * H)
    assert [demand.at(time) for time in asked] == [0, 1, 3, 0, 2, 0]


def test_what_is_known_of_a_demand_at_a_time_has_no_step_that_comes_later() -> None:
    known = demand_of(STEPS, T + 6 * H).known(T + 3 * H)
    assert known == Demand(times=(T, T + 2 * H, T + 3 * H), wanted=(1, 3, 0), until=T + 3 * H)


def test_the_last_step_of_a_time_counts_and_what_changes_nothing_is_left_out() -> None:
    demand = demand_of([(T, 1), (T + H, 4), (T + H, 2), (T + 2 * H, 2)], T + 3 * H)
    assert demand.times == (T, T + H)
    assert demand.wanted == (1, 2)


def test_the_hours_of_machines_add_up() -> None:
    assert machine_hours(demand_of(STEPS, T + 6 * H)) == pytest.approx(2 + 3 + 0 + 2)


def test_steps_that_do_not_rise_in_time_are_refused() -> None:
    with pytest.raises(ValueError, match="rise"):
        Demand(times=(T, T), wanted=(1, 2), until=T + H)
    with pytest.raises(ValueError, match="a number"):
        Demand(times=(T,), wanted=(), until=T + H)
