from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.policy.demand import Demand, demand_of
from hostler.domain.policy.forecast import Outlook
from hostler.domain.policy.purchasing import (
    Lead,
    Leased,
    Limits,
    Situation,
    allowed,
    default,
    let_go_first,
    taken_first,
    windows_over,
)

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
M = timedelta(minutes=1)
H = timedelta(hours=1)
D = timedelta(days=1)
NOTHING = Demand(times=(), wanted=(), until=MONDAY)


def host(number: int, age: timedelta, now: datetime, free: timedelta | None = None) -> Leased:
    """Return a host of an age; `free` is since when it is free (None: at work)."""
    born = now - age
    free_from = None if free is None else now - free
    return Leased(
        id=HostId(f"h-{number}"), delivered=born, paid_until=born + D, free_from=free_from
    )


def workdays(days: int) -> Demand:
    """Return days on which two machines are wanted from nine to six, but for an hour's lunch."""
    steps = list[tuple[datetime, int]]()
    for day in range(days):
        start = MONDAY + day * D
        steps += [(start, 0), (start + 9 * H, 2), (start + 12 * H, 0), (start + 13 * H, 2)]
        steps.append((start + 18 * H, 0))
    return demand_of(steps, MONDAY + days * D)


def situation(now: datetime, *hosts: Leased, past: Demand = NOTHING, waiting: int = 0) -> Situation:
    since = (now - H,) * waiting
    return Situation(now=now, hosts=hosts, past=replace(past, until=now), waiting=since)


def test_what_waits_is_ordered_less_what_is_coming_or_free_before_a_delivery() -> None:
    wiping = host(1, 5 * H, MONDAY, free=-5 * H / 60)
    late = host(2, 5 * H, MONDAY, free=-1 * H)
    asked = situation(MONDAY, wiping, late, waiting=4)
    assert default(asked).order == 3
    assert default(replace(asked, coming=(MONDAY + H,))).order == 2


def test_a_free_host_is_kept_while_its_window_runs_and_the_end_of_the_window_is_due() -> None:
    free = host(1, 5 * H, MONDAY, free=2 * H)
    decided = default(situation(MONDAY, free))
    assert decided.ends == ()
    assert decided.due == MONDAY + 19 * H


def test_a_host_at_work_is_never_ended() -> None:
    assert default(situation(MONDAY, host(1, 90 * H, MONDAY))).ends == ()


def test_without_a_record_a_free_host_is_ended_when_its_window_is_over() -> None:
    free = host(1, 24 * H, MONDAY, free=2 * H)
    assert [end.host for end in default(situation(MONDAY, free)).ends] == [free.id]


def test_a_host_whose_window_is_over_is_kept_over_lunch_and_ended_in_the_evening() -> None:
    past = workdays(3)
    noon = MONDAY + 2 * D + 12 * H
    hosts = (host(1, 27 * H, noon, free=timedelta(0)), host(2, 27 * H, noon, free=timedelta(0)))
    decided = default(situation(noon, *hosts, past=past))
    assert decided.ends == ()
    assert decided.due is not None
    assert noon < decided.due <= noon + H
    evening = noon + 6 * H
    hosts = (host(1, 33 * H, evening, free=timedelta(0)), host(2, 33 * H, evening, free=0 * H))
    assert len(default(situation(evening, *hosts, past=past)).ends) == 2


def test_what_no_machine_can_have_is_no_supply_and_never_kept_past_its_window() -> None:
    noon = MONDAY + 2 * D + 12 * H
    past = workdays(3)
    bad = replace(host(1, 27 * H, noon, free=timedelta(0)), useless=True)
    good = [host(number, 27 * H, noon, free=timedelta(0)) for number in (2, 3)]
    decided = default(situation(noon, bad, *good, past=past))
    assert [end.host for end in decided.ends] == [bad.id]
    decided = default(situation(noon, bad, *good))
    assert [end.host for end in decided.ends] == [bad.id, *(host.id for host in good)]
    running = replace(bad, paid_until=noon + H)
    assert default(situation(noon, running, past=past)).ends == ()
    assert default(situation(noon, running, waiting=1)).order == 1


def test_only_as_many_are_kept_as_the_record_wanted() -> None:
    noon = MONDAY + 2 * D + 12 * H
    hosts = [host(number, 27 * H, noon, free=timedelta(0)) for number in range(5)]
    assert len(default(situation(noon, *hosts, past=workdays(3))).ends) == 3


def test_the_hosts_that_are_paid_and_those_on_the_way_are_counted_before_one_more_is_kept() -> None:
    noon = MONDAY + 2 * D + 12 * H
    free, paid = host(1, 27 * H, noon, free=0 * H), host(2, 5 * H, noon, free=0 * H)
    alone = situation(noon, free, past=workdays(3))
    assert default(alone).ends == ()
    assert default(replace(alone, hosts=(free, paid))).ends == ()
    assert len(default(replace(alone, hosts=(free, paid), coming=(noon + H / 4,))).ends) == 1


def test_the_less_a_purchase_that_is_spared_saves_the_less_is_kept() -> None:
    noon = MONDAY + 2 * D + 12 * H
    asked = situation(noon, host(1, 27 * H, noon, free=0 * H), past=workdays(3))
    assert default(asked, Outlook(saved=0.1)).ends == ()
    assert len(default(asked, Outlook(saved=0.05)).ends) == 1, "less than the hour of lunch"


def test_demand_takes_the_longest_paid_host_and_lets_the_one_go_that_is_due_first() -> None:
    old, young = host(1, 20 * H, MONDAY, free=H), host(2, 2 * H, MONDAY, free=H)
    assert taken_first((old, young)) == [young, old]
    assert let_go_first((young, old)) == [old, young]


@pytest.mark.parametrize(
    ("limits", "coming", "ordered", "order", "word"),
    [
        (Limits(), 0, 0, 8, ""),
        (Limits(batch=3), 0, 0, 3, "at once"),
        (Limits(stock=2), 0, 0, 2, "the provider has no more"),
        (Limits(most=9), 2, 0, 5, "9 hosts at most"),
        (Limits(most=2), 2, 0, 0, "2 hosts at most"),
        (Limits(cap=60.0), 0, 0, 5, "€60 a day"),
        (Limits(cap=60.0), 0, 3, 2, "€60 a day"),
        (Limits(cap=60.0), 0, 9, 0, "€60 a day"),
    ],
)
def test_orders_stay_within_the_limits_and_say_which_one_is_in_the_way(
    limits: Limits, coming: int, ordered: int, order: int, word: str
) -> None:
    asked = replace(
        situation(MONDAY, waiting=8),
        limits=limits,
        price=0.5,
        coming=(MONDAY + H,) * coming,
        ordered=(MONDAY - H,) * ordered,
    )
    found, why = allowed(asked, 8, 2)
    assert found == order
    assert word in why


def test_nothing_is_ordered_under_a_cap_while_no_price_is_known() -> None:
    found, why = allowed(replace(situation(MONDAY, waiting=8), limits=Limits(cap=60.0)), 8, 2)
    assert found == 0
    assert "no price is known" in why


def test_orders_of_more_than_a_day_ago_do_not_count_against_the_cap() -> None:
    asked = replace(
        situation(MONDAY, waiting=1), limits=Limits(cap=12.0), price=0.5, ordered=(MONDAY - D,)
    )
    assert default(asked).order == 1
    assert default(replace(asked, ordered=(MONDAY - D + H,))).order == 0
    assert default(replace(asked, ordered=(MONDAY - D + H,))).short == 1


def test_the_floor_of_the_lead_is_what_an_order_commits_to() -> None:
    asked = replace(
        situation(MONDAY, waiting=1),
        limits=Limits(cap=12.0),
        price=0.5,
        lead=Lead(floor=30 * D),
    )
    assert default(asked).order == 0


def test_nothing_is_bought_for_a_machine_that_waits_for_less_than_the_patience() -> None:
    since = (MONDAY - 40 * M, MONDAY - 30 * M, MONDAY - 10 * M, MONDAY)
    patient = Limits(patience=30 * M)
    asked = replace(situation(MONDAY), waiting=since, limits=patient)
    decided = default(asked)
    assert (decided.order, decided.short, decided.due) == (2, 2, MONDAY + 20 * M)
    assert decided.limit == "a machine first waits 0:30:00 for a host that comes free"
    assert default(replace(asked, limits=Limits())).order == 4
    assert default(replace(asked, coming=(MONDAY,))).order == 1, "for the longest wait"
    assert default(replace(asked, limits=replace(patient, batch=1))).limit == "1 at once at most"


def test_a_wait_from_before_a_clock_jumped_back_is_over() -> None:
    limits = Limits(patience=30 * M)
    asked = replace(situation(MONDAY), waiting=(MONDAY + H,), limits=limits)
    assert (default(asked).order, default(asked).due) == (1, None)


def test_a_host_that_is_waited_for_is_not_ended_although_nobody_wants_it_at_that_time() -> None:
    night = MONDAY + 2 * D + 20 * H
    asked = situation(night, host(1, 27 * H, night, free=0 * H), past=workdays(3))
    assert len(default(asked).ends) == 1
    assert default(replace(asked, waiting=(night,))).ends == ()


def test_of_the_hosts_whose_window_is_over_those_free_longest_come_first() -> None:
    late, early = host(1, 27 * H, MONDAY, free=H), host(2, 27 * H, MONDAY, free=2 * H)
    assert windows_over(situation(MONDAY, late, early)) == [early, late]


def test_a_cap_is_used_up_to_its_last_cent() -> None:
    asked = replace(situation(MONDAY, waiting=8), limits=Limits(cap=7.2), price=0.1)
    assert allowed(asked, 8, 0)[0] == 3


def test_the_end_of_a_window_is_due_only_where_nobody_is_on_the_host() -> None:
    assert default(situation(MONDAY, host(1, 5 * H, MONDAY))).due is None
