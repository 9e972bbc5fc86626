"""Which SSH host key a host must show, and what is done where it shows another one."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.hosts.host_keys import expected_keys, reinstalled
from hostler.domain.hosts.lifecycle import decide_hosts, without_future
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import HostTransition
from hostler.domain.policy.host_keys import HostKey, judge
from hostler.testing.scenes.builders import BEGIN
from hostler.testing.scenes.fields import with_fields
from hostler.testing.scenes.hosts import BOX, CAPABILITIES, box, hosts_snapshot, record

LATER = BEGIN + timedelta(minutes=10)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
OURS, OTHERS = "SHA256:ours", "SHA256:others"


def capabilities(cleaning: Cleaning) -> Capabilities:
    """Return those of hosts that bear whole owner tags, and become clean in some way."""
    hosts = HostCapabilities(ownership=Ownership.TAGS, cleaning=cleaning)
    return replace(CAPABILITIES, hosts=hosts)


def decided(
    host: Host, resource: Resource, cleaning: Cleaning = Cleaning.COMMAND
) -> HostTransition:
    """Return what becomes of the one host."""
    snapshot = hosts_snapshot(host, resource, now=LATER)
    (transition,) = decide_hosts(replace(snapshot, capabilities=capabilities(cleaning)))
    return transition


def test_the_first_key_that_is_shown_is_recorded_and_one_not_shown_takes_none_away() -> None:
    first = decided(record(), box(host_key=OURS)).host
    assert first.bootstrap.host_key == HostKey(key=OURS, at=LATER)
    assert decided(first, box()).host.bootstrap.host_key == first.bootstrap.host_key


def test_a_new_host_is_recorded_with_its_key() -> None:
    snapshot = hosts_snapshot(record(), box(host_key=OURS), now=LATER)
    blank = replace(snapshot, hosts={}, capabilities=capabilities(Cleaning.TRUSTED))
    (transition,) = decide_hosts(blank)
    assert transition.host.bootstrap.host_key == HostKey(key=OURS, at=LATER)


def test_nothing_is_done_at_a_host_that_shows_another_key_and_it_is_said() -> None:
    dirty = record(
        goal=HostGoal.CLEAN,
        condition=HostCondition.DIRTY,
        host_key=HostKey(key=OURS, at=BEGIN),
    )
    assert decided(dirty, box("wiping", host_key=OURS)).goal is HostGoal.CLEAN
    stranger = decided(dirty, box("wiping", host_key=OTHERS))
    assert stranger.goal is None
    assert OTHERS in stranger.blocker
    assert stranger.host.bootstrap.host_key == dirty.bootstrap.host_key


def test_the_word_of_its_owner_rules_over_the_record() -> None:
    known = record(goal=HostGoal.CLEAN, host_key=HostKey(key=OURS, at=BEGIN))
    vouched = decided(known, box("wiping", host_key=OTHERS, key_vouched=True))
    assert vouched.host.bootstrap.host_key == HostKey(key=OTHERS, at=LATER)
    assert (vouched.goal, vouched.blocker) == (HostGoal.CLEAN, "")


@pytest.mark.parametrize("cleaning", Cleaning)
def test_only_a_wipe_lets_another_key_follow(cleaning: Cleaning) -> None:
    known = record(host_key=HostKey(key=OURS, at=BEGIN), cleaned=LATER)
    described = capabilities(cleaning)
    wipes = cleaning is Cleaning.WIPE
    assert reinstalled(known, described) == (LATER if wipes else None)
    assert expected_keys({BOX: known}, described) == ({} if wipes else {BOX: OURS})


def test_a_key_that_is_pinned_after_the_clock_jumped_back_is_newer_than_the_wipe_before() -> None:
    """Else any key was taken until the clock had caught up with the wipe."""
    wiped = record(host_key=HostKey(key=OURS, at=BEGIN), cleaned=LATER + HOUR, wiped=LATER + HOUR)
    known = without_future(wiped, LATER)
    described = capabilities(Cleaning.WIPE)
    assert expected_keys({BOX: known}, described) == {}
    pinned = judge(known.bootstrap.host_key, reinstalled(known, described), OTHERS, LATER + SECOND)
    after = with_fields(known, host_key=pinned.host_key)
    assert expected_keys({BOX: after}, described) == {BOX: OTHERS}


@pytest.mark.parametrize(("pinned", "opened"), [(-SECOND, True), (SECOND, False)])
def test_a_jump_leaves_a_wipe_and_a_key_in_their_order(pinned: timedelta, *, opened: bool) -> None:
    at = LATER + HOUR
    known = record(host_key=HostKey(key=OURS, at=at + pinned), cleaned=at)
    after = without_future(known, LATER)
    expected = {} if opened else {BOX: OURS}
    assert expected_keys({BOX: after}, capabilities(Cleaning.WIPE)) == expected
