"""A proof of a wipe is used once: a host that was used since is wiped again."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.free import is_clean
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import AccountName, CycleId, Epoch, HostId, ResourceId, Zone
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import HOST, Host, HostCondition, HostGoal, HostOwnership
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import Asked, CallState
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    Condition,
    HostFacts,
    Observation,
    ObservedScope,
    Resource,
    Scope,
    Slot,
    Stage,
)
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.fields import with_fields
from hostler.testing.scenes.hosts import CAPABILITIES

ZONE = Zone("fr-par-1")
MAC = HostId("mac-1")
MIN = timedelta(minutes=1)
OLD = Asked(
    kind="mac.reinstall",
    slot=HOST,
    attempt=0,
    at=BEGIN - 60 * MIN,
    epoch=Epoch(1),
    shows=Shows.WIPE,
    call_state=CallState.DONE,
    closed=BEGIN - 59 * MIN,
)


def snapshot(host: Host, stage: str, at: datetime = BEGIN, name: str = "") -> AccountSnapshot:
    resource = Resource(
        id=ResourceId(MAC),
        slot=HOST,
        zone=ZONE,
        status="ready",
        condition=Condition.UP,
        name=name or host.ownership.name,
        host=HostFacts(stage=Stage(stage)),
    )
    observed = ObservedScope(scope=Scope(ZONE, HOST.kind), begun=at, complete=True)
    return AccountSnapshot(
        cycle=CycleId("t"),
        now=at,
        account=host.account,
        hosts={MAC: host},
        bindings={},
        machines={},
        past={},
        issued=frozenset(),
        inventory=merge(Inventory(), Observation(observed=(observed,), resources=(resource,))),
        capabilities=Capabilities(main=Slot("server"), hosts=CAPABILITIES.hosts),
        epoch=Epoch(1),
        took=BEGIN - 600 * MIN,
        steady=BEGIN - 600 * MIN,
    )


def host(condition: HostCondition, **changes: object) -> Host:
    plain = Host(
        id=MAC,
        account=AccountName("main"),
        zone=ZONE,
        condition=condition,
        ownership=HostOwnership(name="pool-1", pool="p"),
    )
    return with_fields(plain, **changes)


def after(snapshot: AccountSnapshot) -> Host:
    (step,) = decide_hosts(snapshot)
    return step.host


def test_wipe_that_was_seen_finished_leaves_a_proof_and_no_call() -> None:
    wiped = after(
        snapshot(
            host(
                HostCondition.WIPING,
                goal=HostGoal.CLEAN,
                wiping=BEGIN - MIN,
                asked=(replace(OLD, closed=BEGIN - MIN),),
            ),
            "wiping",
        )
    )
    assert wiped.cleaning.wiped == BEGIN
    assert wiped.asked == ()


@pytest.mark.parametrize("condition", [HostCondition.ALLOCATED, HostCondition.ABSENT])
def test_host_that_nobody_holds_is_not_proved_clean_by_an_older_wipe(
    condition: HostCondition,
) -> None:
    found = after(snapshot(host(condition, asked=(OLD,)), "claimed"))
    assert found.condition is HostCondition.DIRTY
    reclaimed = after(snapshot(replace(found, goal=HostGoal.CLEAN), "wiping", BEGIN + MIN))
    assert (reclaimed.cleaning.wiping, reclaimed.cleaning.wiped) == (None, None)


def test_host_whose_quarantine_ended_is_wiped_once_more() -> None:
    served = after(
        snapshot(
            host(
                HostCondition.QUARANTINED,
                quarantined_until=BEGIN - MIN,
                wiped=BEGIN - 58 * MIN,
                wiping=OLD.closed,
                asked=(OLD,),
            ),
            "wiping",
        )
    )
    later = after(snapshot(served, "wiping", BEGIN + MIN))
    assert later.goal is HostGoal.CLEAN
    assert (later.cleaning.wiping, later.cleaning.wiped) == (None, None)


def free() -> Host:
    return host(HostCondition.FREE, wiped=BEGIN - MIN, wiping=BEGIN - 2 * MIN)


def test_free_host_stays_clean_under_its_own_name() -> None:
    same = snapshot(free(), "pool")
    assert after(same).condition is HostCondition.FREE
    assert is_clean(free(), same.inventory.sightings[ResourceId(MAC)].resource, CAPABILITIES)


def test_free_host_under_another_name_of_the_pool_was_in_somebodys_hands() -> None:
    """A person lent it and put it back between two looks: it is wiped before it is claimed."""
    other = snapshot(free(), "pool", name="pool-by-hand")
    assert not is_clean(free(), other.inventory.sightings[ResourceId(MAC)].resource, CAPABILITIES)
    assert after(other).condition is HostCondition.DIRTY
    assert after(other).cleaning.wiped is None
