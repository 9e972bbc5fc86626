"""Hosts that somebody names: into the pool, as a machine, or taken from another installation."""

import pytest
from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.hosts.claims import ADOPTED, CLEAN
from hostler.domain.hosts.pool import adopted, pooled, taken_over, with_room
from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.commands import REQUEST_REFUSED, SaveFleet, SaveHost
from hostler.domain.model.host import Host, HostCondition, HostGoal, HostOrigin, ReleasePolicy
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import OrphanClass, OwnerTag, Resource, Stage
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot
from hostler.testing.fakes.planner import FakePlanner
from hostler.testing.scenes.builders import BEGIN, FLEET, HOME, WEB
from hostler.testing.scenes.hosts import BOX, HIS, MAIN, MINE, box, fleet_snapshot, on_host, record

ADD = Request(number=1, kind=RequestKind.POOL_ADD, fleet=WEB, at=BEGIN, actor="ann", host=BOX)
RETIRE = replace(ADD, kind=RequestKind.RETIRE)
ADOPT = replace(ADD, kind=RequestKind.POOL_ADOPT, machines=(MINE,))


def snapshot(
    resource: Resource,
    *requests: Request,
    machines: tuple[Machine, ...] = (),
    hosts: tuple[Host, ...] = (),
    bindings: dict[MachineId, HostId] | None = None,
) -> Snapshot:
    found = fleet_snapshot(machines, (resource,), hosts=hosts, bindings=bindings)
    return replace(found, requests=requests, pool="pool-")


@pytest.mark.parametrize("stage", ["pool", "other", "unnamed", "parked"])
def test_a_host_that_is_named_is_dirty_and_goes_into_the_pool(stage: str) -> None:
    old = record(wiped=BEGIN, wiping=BEGIN, quarantined_until=BEGIN, scheduled=BEGIN, pool="")
    for hosts in ((), (old,)):
        (command,) = pooled(MAIN, snapshot(box(stage), ADD, hosts=hosts))
        host = command.host
        assert (host.condition, host.goal) == (HostCondition.DIRTY, HostGoal.POOLED)
        assert (host.ownership.pool, host.fleet, host.ownership.name) == (
            "pool-",
            WEB,
            box(stage).name,
        )
        times = (
            host.cleaning.wiped,
            host.cleaning.wiping,
            host.health.quarantined_until,
            host.purchase.scheduled,
        )
        assert times == (None, None, None, None)


@pytest.mark.parametrize(
    ("requests", "goal"),
    [
        ((ADD, ADD), HostGoal.POOLED),
        ((ADD, RETIRE), HostGoal.RETIRED),
        ((RETIRE, ADD), HostGoal.POOLED),
    ],
)
def test_a_host_of_which_two_things_are_asked_at_once_is_saved_once_as_asked_last(
    requests: tuple[Request, ...], goal: HostGoal
) -> None:
    """A second save in one cycle would be refused, and so would be every cycle after it."""
    decision = decide(snapshot(box(), *requests, hosts=(record(),)), FakePlanner())
    saved = [command.host for command in decision.commands if isinstance(command, SaveHost)]
    assert [(host.id, host.goal) for host in saved] == [(BOX, goal)]


def test_no_host_in_use_and_none_of_another_installation_goes_into_the_pool() -> None:
    assert not [*pooled(MAIN, snapshot(box("claimed"), ADD, bindings={HIS: BOX}))]
    assert not [*pooled(MAIN, snapshot(box("foreign"), ADD))]
    assert not [*pooled(MAIN, snapshot(box("other", host=HostId("host-2")), ADD))]
    assert not [*pooled(MAIN, snapshot(box("other"), ADOPT))]


def test_a_host_on_its_way_into_the_pool_can_be_retired_whatever_it_is_called_yet() -> None:
    on_its_way = record(goal=HostGoal.POOLED)
    decision = decide(snapshot(box("other"), RETIRE, hosts=(on_its_way,)), FakePlanner())
    (save,) = (command for command in decision.commands if isinstance(command, SaveHost))
    assert save.host.goal is HostGoal.RETIRED
    decision = decide(snapshot(box("other"), RETIRE, hosts=(record(),)), FakePlanner())
    assert not [command for command in decision.commands if isinstance(command, SaveHost)]


@pytest.mark.parametrize("request_", [ADD, RETIRE, ADOPT], ids=lambda r: str(r.kind))
def test_the_name_of_a_living_machine_protects_the_host_that_bears_it(request_: Request) -> None:
    """Whichever host the machine has: nothing is done to one on the strength of a name."""
    elsewhere = snapshot(box("claimed", holder=HIS), request_, bindings={HIS: HostId("host-2")})
    decision = decide(elsewhere, FakePlanner())
    assert not [command for command in decision.commands if isinstance(command, SaveHost)]
    (save,) = (command for command in decision.commands if isinstance(command, SaveFleet))
    assert save.adopted == ()
    (refusal,) = (event for event in save.events if event.kind == REQUEST_REFUSED)
    assert f"the name of machine {HIS}, which has another host" in refusal.detail


@pytest.mark.parametrize("request_", [ADD, ADOPT], ids=lambda r: str(r.kind))
def test_a_host_that_is_about_to_be_deleted_is_refused_unless_we_had_asked_for_that(
    request_: Request,
) -> None:
    """The command line refuses it too; somebody may have had it deleted since."""
    ends = box("other", scheduled=True)
    for hosts in ((), (record(),)):
        decision = decide(snapshot(ends, request_, hosts=hosts), FakePlanner())
        (save,) = (command for command in decision.commands if isinstance(command, SaveFleet))
        (refusal,) = (event for event in save.events if event.kind == REQUEST_REFUSED)
        assert "going to delete it" in refusal.detail
        assert save.adopted == ()
    retiring = record(goal=HostGoal.RETIRED)
    decision = decide(
        snapshot(box("retiring", scheduled=True), ADD, hosts=(retiring,)), FakePlanner()
    )
    (saved,) = (command for command in decision.commands if isinstance(command, SaveHost))
    assert saved.host.goal is HostGoal.POOLED


def test_a_host_that_we_pay_for_is_kept_when_somebody_puts_it_into_the_pool() -> None:
    (bought,) = pooled(MAIN, snapshot(box(), ADD, hosts=(record(origin=HostOrigin.ORDERED),)))
    assert bought.host.purchase.policy is ReleasePolicy.KEEP
    (found,) = pooled(MAIN, snapshot(box(), ADD, hosts=(record(policy=ReleasePolicy.TERMINATE),)))
    assert found.host.purchase.policy is None


def test_a_host_that_is_adopted_begins_as_a_machine_whose_disk_may_be_kept() -> None:
    (machine,) = adopted(snapshot(box("other"), ADOPT), 4)
    assert (machine.id, machine.host, machine.serial) == (MINE, BOX, 5)
    assert machine.fact(ADOPTED) == BEGIN
    assert machine.fact(CLEAN) is None
    (command,) = adopted(snapshot(box("other"), replace(ADOPT, keep=True)), 4)
    assert command.fact(CLEAN) == BEGIN


def test_no_host_in_use_and_none_of_another_installation_is_adopted() -> None:
    assert not [*adopted(snapshot(box("claimed"), ADOPT, bindings={HIS: BOX}), 0)]
    assert not [*adopted(snapshot(box("foreign"), ADOPT), 0)]
    assert not [*adopted(snapshot(box("other"), replace(ADOPT, machines=())), 0)]
    again = snapshot(box("other"), ADOPT, machines=(on_host(),))
    assert not [*adopted(again, 0)], "the wish was granted before"


def test_a_fleet_makes_room_for_those_that_join_it() -> None:
    """It grows by them, where it is full; one that lacks machines grows no further than that."""
    full, joins = (on_host(machine=HIS),), snapshot(box("other"), ADOPT)
    row = replace(joins.row, size=1)
    assert with_room(row, full, joins).size == 2
    assert with_room(replace(row, size=3), full, joins).size == 3
    assert with_room(row, (), joins).size == 1
    parked = replace(full[0], goal=Goal.STANDBY)
    assert with_room(row, (parked,), joins).size == 1
    assert with_room(row, full, snapshot(box("other"))) == row


def foreign(named: str) -> Resource:
    owner_tag = OwnerTag(installation=HOME, fleet=WEB, machine=HIS, attempt=0)
    return replace(box("foreign", tagged=Stage(named)), owner_tag=owner_tag)


@pytest.mark.parametrize(
    ("named", "condition", "goal"),
    [
        ("wiping", HostCondition.DIRTY, HostGoal.CLEAN),
        ("parked", HostCondition.DIRTY, HostGoal.CLEAN),
        ("retiring", HostCondition.RETIRING, HostGoal.RETIRED),
    ],
)
def test_what_is_taken_over_is_wiped_anew_or_goes_on_to_its_end(
    named: str, condition: HostCondition, goal: HostGoal
) -> None:
    resource = foreign(named)
    (command,) = taken_over((resource,), snapshot(resource, hosts=(record(wiped=BEGIN),)))
    host = command.host
    assert (host.condition, host.goal, host.ownership.adopted) == (condition, goal, True)
    assert (host.cleaning.wiped, host.machine) == (None, HIS)
    assert host.cleaning.image == FLEET.offers[0].image
    assert not [*taken_over((replace(resource, owner_tag=None),), snapshot(resource))]


def test_a_host_that_a_machine_has_is_not_taken_over_whatever_it_is_called() -> None:
    """A person copied another machine's name onto it: it is in use."""
    resource = foreign("wiping")
    held = snapshot(resource, hosts=(record(wiped=BEGIN),), bindings={MINE: BOX})
    assert not [*taken_over((resource,), held)]
    double = replace(resource, orphan=OrphanClass.DOUBLE)
    assert not [*taken_over((double,), held)]


@pytest.mark.parametrize("cls", [OrphanClass.UNRECORDED, OrphanClass.UNISSUED])
def test_a_host_whose_machine_no_record_knows_is_taken_over_for_all_its_binding(
    cls: OrphanClass,
) -> None:
    """Somebody removed that record by force: `adopt` was taken, and did nothing, for ever."""
    resource = replace(foreign("claimed"), orphan=cls)
    (command,) = taken_over((resource,), snapshot(resource, bindings={MINE: BOX}))
    assert (command.host.condition, command.host.goal) == (HostCondition.DIRTY, HostGoal.CLEAN)
