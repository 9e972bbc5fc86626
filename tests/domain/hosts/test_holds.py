"""What a person had for a while is wiped before the next machine has it, where a wipe cleans."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts import holds
from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import AccountSnapshot, Request, RequestKind
from hostler.testing.scenes.builders import BEGIN, FLEET, WEB
from hostler.testing.scenes.hosts import (
    BOX,
    CAPABILITIES,
    MAIN,
    account_snapshot,
    box,
    fleet_snapshot,
    hosts_snapshot,
    record,
)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
UNTIL = BEGIN + HOUR
HAD = (HoldKind.RESERVED, HoldKind.MAINTENANCE)
FREE, DIRTY = HostCondition.FREE, HostCondition.DIRTY


def held(kind: HoldKind = HoldKind.RESERVED, **fields: object) -> Host:
    """Return the record of a clean host that somebody wants like this for an hour."""
    hold = Hold(kind=kind, until=UNTIL, actor="anna", why="a look")
    clean = record(condition=FREE, wiped=BEGIN, cleaned=BEGIN, name=box().name, **fields)
    return replace(clean, hold=hold)


def after(host: Host, now: datetime, cleaning: Cleaning = Cleaning.WIPE) -> Host:
    names = Ownership.NAMES if cleaning is Cleaning.WIPE else Ownership.RECORD
    hosts = HostCapabilities(ownership=names, cleaning=cleaning)
    snapshot = hosts_snapshot(host, box(), now=now)
    described = replace(snapshot, capabilities=replace(CAPABILITIES, hosts=hosts))
    (transition,) = decide_hosts(described)
    return transition.host


@pytest.mark.parametrize("kind", HAD)
def test_it_is_wiped_by_the_next_claim_once_the_hold_is_over(kind: HoldKind) -> None:
    before = after(held(kind), UNTIL - SECOND)
    assert (before.condition, before.cleaning.wiped) == (FREE, BEGIN)
    over = after(held(kind), UNTIL)
    assert (over.condition, over.cleaning.wiped, over.hold) == (DIRTY, None, None)
    assert over.reason == "a person had it"
    assert after(over, UNTIL + HOUR) == over


@pytest.mark.parametrize("kind", [HoldKind.ON, HoldKind.OFF])
def test_one_that_was_only_to_be_on_or_off_was_nobodys(kind: HoldKind) -> None:
    assert after(held(kind), UNTIL + HOUR).condition is FREE


@pytest.mark.parametrize("cleaning", [one for one in Cleaning if one is not Cleaning.WIPE])
def test_what_is_clean_as_its_owner_leaves_it_stays_so(cleaning: Cleaning) -> None:
    assert after(held(), UNTIL + HOUR, cleaning).condition is FREE


def test_one_that_became_free_after_the_hold_was_over_is_clean() -> None:
    """A machine had it all the time, and it was wiped since."""
    assert after(held(since=UNTIL), UNTIL + HOUR).condition is FREE
    assert after(held(since=UNTIL - SECOND), UNTIL + HOUR).condition is DIRTY


def fits(offer: Offer, resource: Resource) -> str:
    del offer, resource
    return ""


@pytest.mark.parametrize("passed", [-SECOND, timedelta(0), HOUR])
def test_no_machine_takes_it_before_its_record_says_that_it_is_dirty(passed: timedelta) -> None:
    now = UNTIL + passed
    account = account_snapshot([box()], [held()], observed=now, now=now)
    assert free_hosts(account, FLEET, fits) == ()
    seen: AccountSnapshot = replace(account, hosts={BOX: after(held(), UNTIL)})
    (free,) = free_hosts(seen, FLEET, fits)
    assert not free.clean


def asked(kind: RequestKind, hold: HoldKind | None = None) -> Request:
    blank = Request(number=1, kind=kind, fleet=WEB, at=BEGIN, actor="anna", host=BOX)
    return replace(blank, hold=hold, until=UNTIL + HOUR if hold else None)


LIFT = asked(RequestKind.LIFT)


@pytest.mark.parametrize(
    ("before", "request_", "condition"),
    [
        (HoldKind.RESERVED, LIFT, DIRTY),
        (HoldKind.MAINTENANCE, LIFT, DIRTY),
        (HoldKind.OFF, LIFT, FREE),
        (HoldKind.RESERVED, asked(RequestKind.HOLD, HoldKind.ON), DIRTY),
        (HoldKind.RESERVED, asked(RequestKind.HOLD, HoldKind.MAINTENANCE), FREE),
        (HoldKind.ON, asked(RequestKind.HOLD, HoldKind.RESERVED), FREE),
    ],
)
def test_a_hold_that_is_lifted_or_replaced_is_over_at_once(
    before: HoldKind, request_: Request, condition: HostCondition
) -> None:
    snapshot = fleet_snapshot((), (box(),), hosts=(held(before),), now=BEGIN + SECOND)
    (saved,) = holds.saved(MAIN, replace(snapshot, requests=(request_,)))
    assert saved.host.condition is condition
    assert (saved.host.hold is None) == (request_ is LIFT)
