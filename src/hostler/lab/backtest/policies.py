"""Policies: the default, and those that it is compared with."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.policy.demand import Demand
from hostler.domain.policy.purchasing import (
    Ended,
    Policy,
    Purchase,
    Situation,
    default,
    purchase,
    windows_over,
)


def never_end(situation: Situation) -> Purchase:
    """Order what waits; end nothing."""
    return purchase(situation, (), ())


def idle_after(time: timedelta) -> Policy:
    """Return the policy that ends what was free for a fixed time, once its window is over.

    With no time at all a host is ended as soon as it is let go, without a wipe.
    """

    def policy(situation: Situation) -> Purchase:
        ends = {
            host.id: max(host.paid_until, host.free_from + time if time else host.paid_until)
            for host in situation.hosts
            if host.free_from is not None
        }
        due = [end for end in ends.values() if end > situation.now]
        over = [host for host, end in ends.items() if end <= situation.now]
        why = "it was free for as long as is allowed"
        return purchase(situation, tuple(Ended(host=host, why=why) for host in over), due)

    return policy


def knowing(demand: Demand, ahead: timedelta) -> Policy:
    """Return the policy that knows the demand so far ahead, and keeps what is wanted by then.

    Nobody can have it. It says what a perfect forecast of the hours to come would be worth.
    """
    steps = tuple(zip(demand.times, demand.wanted, strict=True))

    def policy(situation: Situation) -> Purchase:
        now, over = situation.now, windows_over(situation)
        others = len(situation.hosts) + len(situation.coming) - len(over)
        soon = [wanted for time, wanted in steps if now < time <= now + ahead]
        needed = max(0, max([demand.at(now), *soon]) - others)
        ends = tuple(Ended(host=host.id, why="nobody wants it soon") for host in over[needed:])
        return purchase(situation, ends, (now + timedelta(minutes=10),) if over[:needed] else ())

    return policy


def patient(time: timedelta) -> Policy:
    """Return the default with so much patience: what waits for less is not bought for."""

    def policy(situation: Situation) -> Purchase:
        limits = replace(situation.limits, patience=time)
        return default(replace(situation, limits=limits))

    return policy


POLICIES: Mapping[str, Policy] = {
    "default": default,
    "patience-30m": patient(timedelta(minutes=30)),
    "patience-1h": patient(timedelta(hours=1)),
    "idle-24h": idle_after(timedelta(hours=24)),
    "idle-1h": idle_after(timedelta(hours=1)),
    "end-at-once": idle_after(timedelta(0)),
    "never-end": never_end,
}
"""The policies by name."""
