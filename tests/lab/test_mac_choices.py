"""What the judge of Macs knows of hosts: which there are, and who may give one up."""

from typing import cast

import pytest
from msgspec.structs import replace

from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.machine import Asked as Call
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import OrphanClass, Slot, Stage
from hostler.domain.model.snapshot import Orphan, Request, RequestKind
from hostler.lab.checks import issued_ids
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.macs.checker import MacChecker
from hostler.lab.macs.effects import Effects
from hostler.lab.macs.faults import draw_macs
from hostler.lab.macs.given_up import GivenUp
from hostler.lab.macs.ground_truth import Asked, Change, Fact, GroundTruth
from hostler.lab.macs.names import HostName
from hostler.lab.scaleway.world import ScalewayWorld
from hostler.lab.scenario.faults import Size
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.testing.scenes.builders import ZONE, S, machine
from hostler.testing.time.clock import BEGINNING

HOST, OURS = HostId("h1"), InstallationId("i1")
ISSUED = [
    (OrphanClass.UNISSUED, 1, False),
    (OrphanClass.UNISSUED, 2, True),
    (OrphanClass.UNRECORDED, 1, True),
]
M = MachineId("m-aaaaaaaaaa")
BY = Asked(ours=(OURS,), machine=M, act="update", name="", begun=0.0)


class Mac:
    """A host as far as it is asked whether there is one."""

    def __init__(self, ended: float | None) -> None:
        self.ended = ended


class Cloud:
    """A cloud with hosts alone."""

    def __init__(self, macs: dict[str, Mac]) -> None:
        self.macs = macs


class World:
    """A world with a cloud alone."""

    def __init__(self, **macs: Mac) -> None:
        self.cloud = Cloud(macs)
        self.faults = dict[str, int]()


@pytest.mark.parametrize(("mac", "there"), [(Mac(None), True), (Mac(3.0), False), (None, False)])
def test_a_host_is_there_until_it_ended(mac: Mac | None, there: bool) -> None:
    world = cast("ScalewayWorld", cast("object", World(**({"h1": mac} if mac else {}))))
    checker = MacChecker(world, Trace(lambda: 0.0), 60.0, draw_macs(1, Size()))
    assert checker.has_host(HOST) is there


def named(stage: str) -> Fact:
    """Return a host with a hostler's name; `stage` is what that says is done with it."""
    name = HostName(
        stage=Stage(stage), installation=OURS, fleet=FleetName("macs"), machine=M, pool="0" * 6
    )
    return Fact(name=str(name), named=0.0, cycle=0, status=MacStatus.READY, moved=0.0, used=0)


def is_wrong(before: str, *requests: Request) -> bool:
    """Tell whether the judge objects to a host that is named to end."""
    truth = GroundTruth(cast("ScalewayWorld", cast("object", World())), 60.0)
    truth.hosts[HOST] = named("retiring")
    change = Change(what="renamed", host=HOST, by=BY, before=named(before), late=False)
    return bool(GivenUp(truth).changed(change, requests))


def test_a_host_of_the_pool_is_given_up_where_a_person_asked_for_that_alone() -> None:
    asked = Request(
        number=1,
        kind=RequestKind.RETIRE,
        fleet=FleetName("macs"),
        at=BEGINNING,
        actor="ann",
        machine=M,
    )
    assert is_wrong("wiping")
    assert is_wrong("wiping", replace(asked, kind=RequestKind.DELETE))
    assert not is_wrong("wiping", asked)
    assert not is_wrong("ordered")


@pytest.mark.parametrize("kind", [HoldKind.RESERVED, HoldKind.MAINTENANCE, HoldKind.ON])
def test_no_host_goes_that_a_person_has_for_a_while(kind: HoldKind) -> None:
    truth = GroundTruth(cast("ScalewayWorld", cast("object", World())), 60.0)
    given_up = GivenUp(truth)
    deleted = Change(what="gone", host=HOST, by=BY, before=named("ordered"), late=False)
    hold = Hold(kind=kind, until=BEGINNING, actor="ann")
    assert bool(given_up.changed(deleted, (), hold)) is kind.bars_machines
    assert not given_up.changed(deleted, (), None)
    by_person = replace(deleted, by=None)
    assert not given_up.changed(by_person, (), hold)


@pytest.mark.parametrize(("cls", "number", "holds"), ISSUED)
def test_what_was_issued_is_not_told_as_never_issued(
    cls: OrphanClass, number: int, *, holds: bool
) -> None:
    shadow = ShadowStore(own=OURS, fleets={})
    shadow.inserted([machine(1)])
    orphan = Orphan(
        resource=ResourceId(HOST),
        kind="host",
        zone=ZONE,
        fleet=FleetName("macs"),
        cls=cls,
        first=BEGINNING,
        last=BEGINNING,
        installation=OURS,
        machine=machine(number).id,
    )
    assert (not issued_ids.disowned(shadow, [orphan])) == holds
    assert not issued_ids.disowned(shadow, [replace(orphan, installation=InstallationId("i2"))])


@pytest.mark.parametrize(
    ("call_state", "aim", "answered", "borne", "holds"),
    [
        (CallState.DONE, Stage.PENDING, False, False, False),
        (CallState.DONE, Stage.PENDING, True, False, True),
        (CallState.DONE, Stage.PENDING, False, True, True),
        (CallState.OPEN, Stage.PENDING, False, False, True),
        (CallState.DONE, Stage.RETIRING, False, False, True),
    ],
)
def test_a_name_is_on_record_as_given_only_where_it_was_answered_well_or_is_so(
    call_state: CallState, aim: Stage, *, answered: bool, borne: bool, holds: bool
) -> None:
    truth = GroundTruth(cast("ScalewayWorld", cast("object", World())), 60.0)
    truth.hosts[HOST], effects = named("wiping"), Effects(truth)
    asked = Call(
        kind="rename",
        slot=Slot("server"),
        attempt=1,
        at=BEGINNING + 100 * S,
        epoch=Epoch(1),
        shows=Shows.OWNER_TAG,
        call_state=call_state,
        closed=BEGINNING + 110 * S,
        aim=aim,
    )
    record = replace(machine(1), id=M, host=HOST)
    if answered:
        truth.ask(HOST, replace(BY, name=named("pending").name))
        effects.promised(HOST)
    if borne:
        pending = replace(BY, name="pool-1")
        effects.changed(
            Change(what="renamed", host=HOST, by=pending, before=named("pending"), late=False),
            105.0,
        )
    after = replace(record, asked=(asked,))
    assert (not effects.saved(record, after)) == holds
    assert not effects.saved(after, after), "it is told once"
