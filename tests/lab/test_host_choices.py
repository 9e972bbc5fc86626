"""What the judge says of a fleet that is said to have no host: one waits, or none does."""

from functools import partial

import pytest
from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, InstallationId
from hostler.domain.model.commands import (
    Advance,
    Bind,
    Command,
    Decision,
    SaveFleet,
    SaveHost,
    Verdict,
)
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostPower
from hostler.domain.model.machine import Deletion, Machine, Protection
from hostler.domain.model.phases import Phase
from hostler.lab.checks.host_choices import SENT_LATE, Waiting, waits
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.testing.scenes.builders import BEGIN, FLEET, ZONE, machine
from hostler.testing.time.clock import BEGINNING

NONE = "no_available_host: no host fits"
WAITS = replace(machine(1), phase=Phase.STARTING)
HAS = replace(WAITS, host=HostId("box-9"))
ONE, TWO = HostId("box-1"), HostId("box-2")
RECORD = Host(id=ONE, account=AccountName("rack"), zone=ZONE)
BINDS = Bind(host=RECORD, machine=WAITS.id)
ROW = FleetRow(name=FLEET.name, created=BEGIN)
MAKES = SaveFleet(row=ROW, inserts=(FLEET.offers[0],))
PAUSE = Protection(until=BEGIN, why="x", actor="ann")
LETS_GO = Advance(
    machine=WAITS, changed=True, events=(), verdict=Verdict(machine=WAITS.id, reason="x")
)


def judged(
    machines: tuple[Machine, ...],
    *commands: Command,
    free: tuple[HostId, ...] = (ONE,),
    condition: str = NONE,
    renews: bool = True,
    settled: float = -1.0,
    at_once: bool = True,
    row: FleetRow = ROW,
) -> bool:
    """Tell whether the judge objects to a decision."""
    fleet = replace(FLEET, renews=renews)
    shadow = ShadowStore(own=InstallationId("i1"), fleets={fleet.name: fleet})
    shadow.inserted(machines)
    shadow.rows[fleet.name] = row
    made = Decision(condition=condition, commands=commands)
    found = Waiting(made, fleet.name, shadow, lambda _: free, settled).judged(at_once=at_once)
    assert all(one.invariant == "L3" for one in found)
    return bool(found)


def test_no_fleet_has_no_host_while_one_waits_that_nobody_takes() -> None:
    assert judged(())
    assert judged((HAS,))
    assert not judged((), free=())
    assert not judged((), condition="all is well")
    assert not judged((), renews=False), "it may have asked for another sort"


@pytest.mark.parametrize(
    ("machines", "commands"),
    [((WAITS,), ()), ((), (BINDS,)), ((), (MAKES,)), ((HAS,), (LETS_GO,))],
)
def test_each_machine_that_begins_or_waits_takes_one(
    machines: tuple[Machine, ...], commands: tuple[Command, ...]
) -> None:
    assert not judged(machines, *commands)
    assert judged(machines, *commands, free=(ONE, TWO))


@pytest.mark.parametrize("kind", list(HoldKind))
def test_host_that_the_same_decision_holds_for_a_person_waits_for_nobody(kind: HoldKind) -> None:
    """Seed 238039370 of Kubernetes: what was asked had waited 45 minutes for an engine."""
    hold = Hold(kind=kind, until=BEGIN, actor="ann")
    assert not judged((), SaveHost(host=replace(RECORD, hold=hold)))
    assert judged((), SaveHost(host=RECORD))
    assert judged((), SaveHost(host=replace(RECORD, hold=hold)), free=(ONE, TWO))
    assert not judged((WAITS,), SaveHost(host=replace(RECORD, hold=hold)), condition="")


def test_box_that_a_process_may_yet_switch_off_waits_for_nobody() -> None:
    """Seed 234020044 of metal: two were said to be free."""
    shadow = ShadowStore(own=InstallationId("i1"), fleets={FLEET.name: FLEET})
    begun = (BEGIN - BEGINNING).total_seconds()
    asked = replace(
        RECORD, condition=HostCondition.FREE, since=BEGIN, power=HostPower(unanswered=BEGIN)
    )
    late = begun + SENT_LATE.total_seconds()
    assert [waits(asked, shadow, at) for at in (begun, late - 1, late)] == [False, False, True]
    assert waits(replace(asked, power=HostPower()), shadow, begun)


def test_no_machine_starts_without_a_host_while_one_waits() -> None:
    starts = partial(judged, (WAITS,), condition="", settled=0.0)
    assert starts()
    assert not starts(free=())
    assert not starts(BINDS)
    assert not starts(settled=-1.0), "it is not known yet"
    assert not starts(at_once=False), "it may have to wait for its turn"
    assert not starts(row=replace(ROW, pause=PAUSE))
    assert not judged((HAS,), condition="", settled=0.0)
    ends = replace(WAITS, deletion=Deletion(at=BEGIN, actor="ann", why="x"))
    assert not judged((ends,), condition="", settled=0.0)
