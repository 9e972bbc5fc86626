"""A host's record: how it stands, whether it is given up, and what it remembers."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.domain.ids import Epoch, HostId, machine_id
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.host import (
    HOST,
    HostCondition,
    HostOrigin,
    ReleasePolicy,
    allocation_of,
    host_of,
)
from hostler.domain.model.machine import CallState
from hostler.domain.model.subject import ask
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import BOX, call, record

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("origin", "policy", "retires"),
    [
        (HostOrigin.POOL, None, False),
        (HostOrigin.POOL, ReleasePolicy.KEEP, False),
        (HostOrigin.POOL, ReleasePolicy.TERMINATE, True),
        (HostOrigin.ORDERED, None, True),
        (HostOrigin.ORDERED, ReleasePolicy.KEEP, False),
        (HostOrigin.ORDERED, ReleasePolicy.TERMINATE, True),
    ],
)
def test_what_a_release_comes_to_by_origin_and_policy(
    origin: HostOrigin, policy: ReleasePolicy | None, retires: bool
) -> None:
    assert record(origin=origin, policy=policy).retires is retires


@given(st.uuids(), st.integers(min_value=0, max_value=2**50 - 1))
def test_an_allocation_names_its_host(host: object, number: int) -> None:
    assert host_of(allocation_of(HostId(str(host)), machine_id(number))) == str(host)


def test_two_allocations_of_a_host_are_two_resources() -> None:
    assert allocation_of(BOX, machine_id(1)) != allocation_of(BOX, machine_id(2))


def test_staying_in_a_condition_keeps_its_time() -> None:
    free = record(condition=HostCondition.FREE, reason="wiped")
    assert free.now(HostCondition.FREE, BEGIN + HOUR, "again") is free
    dirty = free.now(HostCondition.DIRTY, BEGIN + HOUR)
    assert (dirty.since, dirty.reason) == (BEGIN + HOUR, "wiped")


def test_a_quarantine_lasts_until_its_end() -> None:
    out = record(quarantined_until=BEGIN + HOUR)
    assert out.quarantined(BEGIN)
    assert not out.quarantined(BEGIN + HOUR)
    assert not record().quarantined(BEGIN)


def test_a_call_is_remembered_by_its_kind_before_it_is_sent() -> None:
    older = record(asked=(call("wipe", CallState.DONE), call("mark", CallState.DONE)))
    new = Call(
        kind="wipe",
        slot=HOST,
        zone=ZONE,
        effect=Effect.DESTROY,
        once=True,
        shows=Shows.WIPE,
        witness="w",
    )
    after = ask(older, new, BEGIN + HOUR, Epoch(3))
    asked = after.last_asked("wipe")
    assert asked is not None
    assert (asked.call_state, asked.at, asked.epoch) == (CallState.OPEN, BEGIN + HOUR, 3)
    assert asked.witness == "w"
    assert [entry.kind for entry in after.asked] == ["mark", "wipe"]
    assert after.last_asked("free") is None
