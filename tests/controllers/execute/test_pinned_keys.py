"""Which wipe a pinned host key came after, whatever became of the dates of the two records."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from hostler.controllers.execute.bootstrap import _order, _pinned
from hostler.domain.hosts.lifecycle import without_future
from hostler.domain.ids import Epoch, MachineId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.host import HOST, Host
from hostler.domain.model.machine import Asked, CallState, Machine
from hostler.domain.model.subject import ask
from hostler.domain.observation.certainty import present
from hostler.domain.policy.host_keys import HostKey
from hostler.ports.preparer import Prepared
from hostler.ports.provider import Connection
from hostler.testing.scenes.builders import BEGIN, ZONE
from hostler.testing.scenes.hosts import fleet_snapshot, on_host, record

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HEIR = MachineId("m-heirofhost")
SNAPSHOT = fleet_snapshot(())
LOGIN = Prepared(login=True, fingerprint="SHA256:new")


def wiped(at: datetime, machine: Machine | None = None) -> Asked:
    """Return the wipe of a machine's host, recorded as it was asked for, and seen done."""
    call = Call(kind="mac.reinstall", slot=HOST, zone=ZONE, effect=Effect.CHANGE, shows=Shows.WIPE)
    (asked,) = ask(machine or on_host(), call, at, Epoch(1)).asked
    return replace(asked, call_state=CallState.DONE, closed=at)


def expected(machine: Machine, host: Host) -> str:
    """Return the key that a login must be shown; empty where any is taken."""
    return _order(machine, Connection(address="192.0.2.1"), SNAPSHOT, host, None).fingerprint


def test_a_key_stays_pinned_when_a_clock_jumps_back_before_it_and_before_its_wipe() -> None:
    """The two records have their dates brought back by cycles of their own, one after the other."""
    machine = on_host(asked=(wiped(BEGIN + HOUR),))
    old = record(host_key=HostKey(key="SHA256:old", at=BEGIN))
    assert expected(machine, old) == ""
    host = without_future(_pinned(old, machine, LOGIN, SNAPSHOT, BEGIN + 2 * HOUR), BEGIN)
    machine = present(machine, BEGIN + 2 * MINUTE)
    key, closed = host.bootstrap.host_key, machine.asked[0].closed
    assert key is not None
    assert closed is not None
    assert key.at < closed, "so their dates tell a wrong order"
    assert expected(machine, host) == "SHA256:new"
    for heir, at in ((on_host(), BEGIN + MINUTE), (on_host(machine=HEIR), BEGIN + HOUR)):
        another = present(replace(heir, asked=(wiped(at, heir),)), BEGIN + 2 * MINUTE)
        assert expected(another, host) == "", "that is another wipe"


def test_a_wipe_of_before_the_one_that_a_key_came_after_counts_no_more_either() -> None:
    older = replace(wiped(BEGIN + HOUR), kind="job.clean")
    machine = on_host(asked=(older, wiped(BEGIN + HOUR + MINUTE)))
    host = without_future(_pinned(record(), machine, LOGIN, SNAPSHOT, BEGIN + 2 * HOUR), BEGIN)
    assert expected(present(machine, BEGIN + 2 * MINUTE), host) == "SHA256:new"


def test_a_key_that_stays_the_same_over_a_wipe_came_after_it_too() -> None:
    machine = on_host(asked=(wiped(BEGIN + HOUR),))
    old = record(host_key=HostKey(key="SHA256:new", at=BEGIN))
    host = without_future(_pinned(old, machine, LOGIN, SNAPSHOT, BEGIN + 2 * HOUR), BEGIN)
    assert expected(present(machine, BEGIN + HOUR), host) == "SHA256:new"


def test_a_wipe_that_is_over_only_after_a_login_began_is_not_what_its_key_came_after() -> None:
    before = on_host(asked=(replace(wiped(BEGIN + HOUR), call_state=CallState.OPEN),))
    host = _pinned(record(), before, LOGIN, SNAPSHOT, BEGIN)
    assert expected(on_host(asked=(wiped(BEGIN + HOUR),)), host) == ""


def test_nothing_but_a_wipe_opens_a_pin() -> None:
    other = replace(wiped(BEGIN + HOUR), kind="mac.rename.claimed", shows=Shows.OWNER_TAG)
    host = record(host_key=HostKey(key="SHA256:old", at=BEGIN))
    assert expected(on_host(asked=(other,)), host) == "SHA256:old"


@pytest.mark.parametrize("wipe", ["", "m-other 2026-01-01T00:00:00+00:00"])
@pytest.mark.parametrize("hours", [-1, 1])
def test_other_wipes_than_the_one_that_a_key_came_after_count_by_their_dates(
    wipe: str, hours: int
) -> None:
    """So do all of a record that an older version wrote."""
    host = record(host_key=HostKey(key="SHA256:old", at=BEGIN, wipe=wipe))
    own = wiped(BEGIN + hours * HOUR)
    for asked in (own, replace(own, identity="")):
        assert expected(on_host(asked=(asked,)), host) == ("" if hours > 0 else "SHA256:old")
