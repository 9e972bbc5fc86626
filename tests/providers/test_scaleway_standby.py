"""Standby, as a pure function: requested once, of what is up, and woken again after it."""

from datetime import timedelta

from msgspec.structs import replace
from scaleway_kit import NOW, provider
from scaleway_steps import FULL, made

from hostler.domain.ids import Epoch
from hostler.domain.model.calls import Effect
from hostler.domain.model.machine import RESTED
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.subject import ask
from hostler.providers.scaleway.instances.plan.calls import SERVER


def standing(
    resources: tuple[Resource, ...], condition: Condition, *allowed: str
) -> tuple[Resource, ...]:
    return tuple(
        replace(p, condition=condition, allowed=allowed) if p.slot == SERVER else p
        for p in resources
    )


def up(resources: tuple[Resource, ...]) -> tuple[Resource, ...]:
    return standing(resources, Condition.UP, "poweroff", "stop_in_place")


def test_resting_asks_once_for_standby_and_only_of_what_is_up():
    record, resources, _ = made(FULL)[-1]
    assert provider().next_calls(Goal.STANDBY, record, resources, NOW) == ()
    (call,) = provider().next_calls(Goal.STANDBY, record, up(resources), NOW)
    assert (call.kind, call.once, call.effect) == ("server.standby", True, Effect.CHANGE)
    asked = ask(replace(record, since=NOW - timedelta(seconds=1)), call, NOW, Epoch(1))
    assert provider().next_calls(Goal.STANDBY, asked, up(resources), NOW) == ()


def test_what_rested_is_switched_on_again():
    record, resources, _ = made(FULL)[-1]
    resources = standing(resources, Condition.STANDBY, "poweron", "terminate")
    assert provider().next_calls(Goal.PRESENT, record, resources, NOW) == ()
    rested = record.with_fact(RESTED, NOW + timedelta(hours=1))
    (call,) = provider().next_calls(Goal.PRESENT, rested, resources, NOW)
    assert (call.kind, call.once) == ("server.poweron", True)
