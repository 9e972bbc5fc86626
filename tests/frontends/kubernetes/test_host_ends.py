"""A Host's object that is deleted stays until its host is nobody's, and left as it asks for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, Zone, machine_id
from hostler.domain.model.calls import Shows
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.reporting.hosts import HostStatus
from hostler.frontends.kubernetes.fleets.host_ends import left, wanted_at_end
from hostler.frontends.kubernetes.fleets.hosts import Around, Known, about_hold
from hostler.frontends.kubernetes.objects.models import Written
from hostler.kubernetes.objects import Metadata
from hostler.ports.power import PowerState
from hostler.queries.power_states import Operation, OperationKind, PowerStatus, Progress
from hostler.testing.scenes.builders import FLEET, asked

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RACK = replace(FLEET, account=AccountName("rack"))
HERE = Around(fleets=(RACK,), now=NOW)
OURS = "home/tower (Host)"
DOWN = Operation(kind=OperationKind.SCALE_DOWN, owner="hostler", since=NOW, until=None)


def tower(policy: str = "") -> Written:
    spec = {"provider": "rack", **({"deletionPolicy": policy} if policy else {})}
    metadata = Metadata(name="tower", namespace="home", deletion_timestamp=NOW)
    return Written(metadata=metadata, spec=spec)


def known(
    held: HoldKind | None = None,
    power: PowerState = PowerState.ON,
    *,
    machine: bool = False,
    operation: Operation | None = None,
) -> Known:
    until = NOW + timedelta(days=1)
    hold = Hold(kind=held, until=until, actor=OURS, why="its object was deleted") if held else None
    record = Host(
        id=HostId("tower"),
        account=RACK.account,
        zone=Zone(""),
        condition=HostCondition.FREE,
        since=NOW,
        hold=hold,
    )
    host = HostStatus(
        id=record.id,
        account=record.account,
        record=record,
        binding=machine_id(1) if machine else None,
    )
    progress = Progress.READY if power is PowerState.ON else Progress.SHUTDOWN
    return Known(host=host, power=PowerStatus(progress=progress, power=power, operation=operation))


@pytest.mark.parametrize("policy", ["", "leave", "on", "off"])
def test_10_an_object_stays_while_a_machine_has_its_host(policy: str) -> None:
    assert "m-" in left(tower(policy), known(HoldKind.RESERVED, machine=True), HERE)


@pytest.mark.parametrize("held", [None, HoldKind.ON])
def test_10_an_object_stays_until_machines_are_kept_off_its_host(held: HoldKind | None) -> None:
    assert left(tower(), known(held), HERE)


def test_10_an_object_stays_while_its_host_is_switched() -> None:
    assert left(tower(), known(HoldKind.RESERVED, operation=DOWN), HERE)


@pytest.mark.parametrize(
    ("policy", "held", "power", "goes"),
    [
        ("", HoldKind.RESERVED, PowerState.ON, True),
        ("leave", HoldKind.RESERVED, PowerState.UNKNOWN, True),
        ("leave", HoldKind.MAINTENANCE, PowerState.OFF, True),
        ("off", HoldKind.OFF, PowerState.OFF, True),
        ("off", HoldKind.OFF, PowerState.ON, False),
        ("off", HoldKind.OFF, PowerState.UNKNOWN, False),
        ("on", HoldKind.RESERVED, PowerState.ON, True),
        ("on", HoldKind.RESERVED, PowerState.OFF, False),
    ],
)
def test_10_a_host_is_left_as_its_object_asks_for(
    policy: str, held: HoldKind, power: PowerState, *, goes: bool
) -> None:
    assert bool(left(tower(policy), known(held, power), HERE)) is not goes


def test_what_nobody_knows_or_asks_for_needs_no_object() -> None:
    unrecorded = replace(known(), host=replace(known().host, record=None))
    assert left(tower(), None, HERE) == ""
    assert left(tower("off"), unrecorded, HERE) == ""
    assert left(tower("off"), known(), replace(HERE, fleets=())) == ""
    assert left(tower("off"), known(machine=True), replace(HERE, fleets=()))


@pytest.mark.parametrize(
    ("policy", "stays"), [("", False), ("leave", False), ("off", True), ("on", True)]
)
def test_a_host_waits_for_its_provider_where_it_is_to_be_switched(
    policy: str, *, stays: bool
) -> None:
    around = replace(HERE, fleets=(), waiting=frozenset({RACK.account}))
    assert bool(left(tower(policy), known(), around)) is stays
    assert not left(tower(policy), retired(), around)


@pytest.mark.parametrize(
    ("policy", "power", "kind"),
    [
        ("", PowerState.ON, HoldKind.RESERVED),
        ("leave", PowerState.OFF, HoldKind.RESERVED),
        ("off", PowerState.ON, HoldKind.OFF),
        ("on", PowerState.OFF, HoldKind.ON),
        ("on", PowerState.UNKNOWN, HoldKind.ON),
        ("on", PowerState.ON, HoldKind.RESERVED),
    ],
)
def test_a_hold_brings_the_host_of_a_deleted_object_there(
    policy: str, power: PowerState, kind: HoldKind
) -> None:
    one, host = tower(policy), known(power=power)
    accepted = about_hold(one, wanted_at_end(one, host), host, HERE)
    assert accepted is not None
    assert (accepted.request.kind, accepted.request.hold) == (RequestKind.HOLD, kind)


def retired(**more: Any) -> Known:
    """Return a host that somebody gave up."""
    one = known(**more)
    assert one.host.record is not None
    record = replace(one.host.record, goal=HostGoal.RETIRED, condition=HostCondition.RETIRING)
    return replace(one, host=replace(one.host, record=record))


@pytest.mark.parametrize("policy", ["", "leave", "on", "off"])
@pytest.mark.parametrize("power", [PowerState.ON, PowerState.OFF, PowerState.UNKNOWN])
def test_a_retired_host_is_asked_nothing_and_let_go(policy: str, power: PowerState) -> None:
    """No machine takes it, and no hold is granted on it that would bring its power there."""
    one, host = tower(policy), retired(power=power)
    assert left(one, host, HERE) == ""
    assert about_hold(one, wanted_at_end(one, host), host, HERE) is None
    living = structs.replace(one, metadata=Metadata(name="tower", namespace="home"))
    assert about_hold(living, wanted_at_end(one, host), host, HERE) is None


def test_an_object_stays_while_its_retired_host_has_a_machine() -> None:
    """What counts as its way down may never come to an end, where the box has left already."""
    assert "m-" in left(tower(), retired(machine=True), HERE)
    assert left(tower(), retired(operation=DOWN), HERE) == ""


def test_what_was_switched_on_for_its_end_is_then_barred() -> None:
    one, host = tower("on"), known(HoldKind.ON)
    accepted = about_hold(one, wanted_at_end(one, host), host, HERE)
    assert accepted is not None
    assert accepted.request.hold is HoldKind.RESERVED


def test_what_observations_lack_is_not_waited_for_and_is_asked_nothing() -> None:
    """A Host that was wrong when its engine began is not in force, and no hold is granted there."""
    there = known()
    record = there.host.record
    assert record is not None
    missing = replace(record, condition=HostCondition.ABSENT)
    absent = replace(there, host=replace(there.host, record=missing))
    assert left(tower("off"), there, HERE)
    assert not left(tower("off"), absent, HERE)
    assert about_hold(tower("off"), wanted_at_end(tower("off"), absent), absent, HERE) is None


@pytest.mark.parametrize(("policy", "shows"), [("on", Shows.REST), ("off", Shows.POWER)])
def test_an_object_stays_while_a_command_of_before_may_make_its_host_otherwise(
    policy: str, shows: Shows
) -> None:
    """A box that was asked to shut down is still seen on, and would be left on, and go off."""
    power = PowerState.ON if policy == "on" else PowerState.OFF
    found = known(HoldKind.RESERVED if policy == "on" else HoldKind.OFF, power)
    for passed, waits in ((timedelta(minutes=9), True), (timedelta(minutes=10), False)):
        command = replace(asked("command", NOW - passed, shows=shows), closed=NOW - passed)
        assert found.host.record is not None
        record = replace(found.host.record, asked=(command,))
        one = replace(found, host=replace(found.host, record=record))
        assert bool(left(tower(policy), one, HERE)) is waits
        assert left(tower(), one, HERE) == ""
