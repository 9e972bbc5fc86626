"""Sweep and adopt: the ledger of suspects, what may be reclaimed, and taking over what stands."""

import itertools
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.fleets.reclaim import CAP, LACKED, NO_CALL
from hostler.domain.ids import ResourceId
from hostler.domain.model.capabilities import HostCapabilities
from hostler.domain.model.commands import Decision, Reclaim, SaveFleet, SaveOrphans
from hostler.domain.model.fleet import Caps
from hostler.domain.model.inventory import Inventory
from hostler.domain.model.machine import Origin, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, OrphanClass, Resource, Slot
from hostler.domain.model.snapshot import RequestKind
from hostler.testing.fakes.planner import ADDRESS, SERVER
from hostler.testing.scenes.builders import (
    ABROAD,
    BEGIN,
    FLEET,
    HOME,
    MIN,
    ZONE,
    S,
    address,
    machine,
    server,
)
from hostler.testing.scenes.fleet import Scene

GRACE, GAP = FLEET.timers.grace, FLEET.timers.sighting_gap
PATIENCE = timedelta(minutes=1)
"""The consistency delay of the scene's provider: so long lists may lag, or be empty."""
ORPHAN = server(machine(50))


def littered(*resources: Resource, reclaim: bool = True, size: int = 30) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=size, reclaim=reclaim), now=BEGIN + GRACE)
    scene.furnish(*(machine(n) for n in range(1, size + 1)))
    scene.exist(*(resources or (ORPHAN,)))
    scene.observe()
    return scene


def reclaimed(decision: Decision) -> list[ResourceId]:
    return [p.id for c in decision.commands if isinstance(c, Reclaim) for p in c.resources]


def sighted(scene: Scene) -> Decision:
    """Return what is decided once everything was seen a second time, a gap later."""
    scene.reconcile()
    scene.later(GAP)
    scene.observe()
    return scene.reconcile()


def test_nothing_is_reclaimed_where_the_count_is_old() -> None:
    """Two sightings and the grace period are no proof of a zone that fails to be listed since."""
    scene = littered(reclaim=False)
    sighted(scene)
    scene.fleet = replace(scene.fleet, reclaim=True)
    scene.later(FLEET.timers.observation_limit + 1 * S)
    scene.observe(complete=False)
    assert not reclaimed(scene.reconcile())
    assert "could not be observed whole" in scene.orphans[ORPHAN.id].blocked
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]


# ---------------------------------------------------------------- the ledger


def test_resource_that_no_record_explains_is_in_the_orphan_report_within_one_pass() -> None:
    scene = littered(reclaim=False)
    scene.later(2 * timedelta(hours=1))
    scene.observe()
    scene.reconcile()
    orphan = scene.orphans[ORPHAN.id]
    assert orphan.cls is OrphanClass.UNRECORDED
    assert orphan.first == scene.now
    assert orphan.owner == f"{machine(50).id} of home"
    assert orphan.cost == pytest.approx(0.01 * 2.25)
    assert "younger" not in orphan.blocked


def test_foreign_resource_is_in_the_orphan_report_as_foreign() -> None:
    scene = littered(server(machine(50), installation=ABROAD))
    sighted(scene)
    orphan = next(iter(scene.orphans.values()))
    assert orphan.cls is OrphanClass.FOREIGN
    assert orphan.installation == ABROAD
    assert "another installation" in orphan.blocked


def inserted(decision: Decision) -> int:
    return sum(len(c.inserts) for c in decision.commands if isinstance(c, SaveFleet))


@pytest.mark.parametrize("sort", ["foreign", "unissued", "unexplained"])
def test_nothing_is_made_while_an_empty_list_hides_what_somebody_else_may_have_made(
    sort: str,
) -> None:
    """A store that was lost bought its fleet again in the minute in which lists were empty."""
    scene = Scene(fleet=replace(FLEET, size=3), now=BEGIN + GRACE)
    there = {
        "foreign": server(machine(50), installation=ABROAD),
        "unissued": server(machine(50)),
        "unexplained": server(machine(51)),
    }[sort]
    (scene.exist if sort == "unexplained" else scene.intrude)(there)
    scene.observe()
    assert not inserted(scene.reconcile())
    for _ in range(2):
        scene.later(30 * S)
        scene.observe(only=())
        assert not inserted(scene.reconcile()), scene.orphans
    scene.later(30 * S)
    scene.observe()
    assert not inserted(scene.reconcile())
    scene.vanish(there.id)
    for _ in range(2):
        scene.later(PATIENCE)
        scene.observe()
        scene.reconcile()
    assert inserted(scene.reconcile()) == 3
    assert not scene.orphans


def test_what_was_removed_counts_until_its_absence_is_proved() -> None:
    """Its removal may have been refused, and a list may be empty for a minute."""
    scene = littered()
    sighted(scene)
    assert scene.orphans[ORPHAN.id].tried
    scene.vanish(ORPHAN.id)
    scene.fleet = replace(scene.fleet, size=31)
    scene.later(GAP)
    scene.observe()
    assert not inserted(scene.reconcile())
    scene.later(PATIENCE)
    scene.observe()
    scene.reconcile()
    assert ORPHAN.id not in scene.orphans
    assert inserted(scene.reconcile()) == 1


def test_resource_of_ours_is_no_orphan_in_any_phase() -> None:
    scene = littered()
    scene.vanish(ORPHAN.id)
    for number, phase in enumerate(Phase, start=1):
        if phase is not Phase.DELETED:
            scene.keep(replace(scene.the(number), phase=phase))
    scene.observe()
    scene.reconcile()
    assert not scene.orphans


def test_orphan_leaves_the_orphan_report_when_two_complete_observations_lack_it() -> None:
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.vanish(ORPHAN.id)
    scene.later(1 * S)
    scene.observe(complete=False)
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].missing is None
    scene.later(2 * FLEET.timers.absence_gap)
    scene.observe()
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].blocked == LACKED, "one observation is nothing"
    scene.later(PATIENCE - 1 * S)
    scene.observe()
    scene.reconcile()
    assert scene.orphans, "two that follow one another so soon are one"
    scene.later(1 * S)
    scene.observe()
    scene.reconcile()
    assert not scene.orphans


def test_orphan_that_one_empty_list_lacked_never_left_the_orphan_report() -> None:
    """An empty list of Macs, which are listed each quarter of an hour, hid it for as long."""
    scene = littered(reclaim=False)
    scene.reconcile()
    before = scene.orphans[ORPHAN.id]
    scene.later(15 * MIN)
    scene.observe(only=scene.resources.keys() - {ORPHAN.id})
    decision = scene.reconcile()
    assert decision.due == scene.now + PATIENCE
    assert scene.orphans[ORPHAN.id].missing == scene.now
    scene.later(FLEET.timers.absence_gap)
    scene.observe()
    scene.reconcile()
    found = scene.orphans[ORPHAN.id]
    assert (found.missing, found.first) == (None, before.first)
    assert found.blocked != LACKED


def test_time_that_another_engine_counted_proves_no_end_of_an_orphan() -> None:
    """Macs 98000006: the listing that could prove it was awaited from too early on."""
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.vanish(ORPHAN.id)
    scene.later(15 * MIN)
    scene.observe()
    missing = scene.now
    assert list(scene.reconcile().provable.values()) == [missing + PATIENCE]
    scene.later(PATIENCE - 1 * S)
    scene.took = scene.now
    for _ in range(2):
        scene.observe()
        decision = scene.reconcile()
        assert list(decision.provable.values()) == [scene.took + PATIENCE]
        assert scene.orphans
        scene.later(PATIENCE / 2)
    scene.observe()
    assert not scene.reconcile().provable
    assert not scene.orphans


def test_orphan_that_is_gone_leaves_the_orphan_report_although_the_clock_jumped_back() -> None:
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.vanish(ORPHAN.id)
    scene.later(-timedelta(hours=2))
    scene.jumped, scene.inventory = scene.now, Inventory()
    scene.observe()
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].last == scene.now
    for _ in range(2):
        assert scene.orphans
        scene.later(PATIENCE + 1 * S)
        scene.observe()
        scene.reconcile()
    assert not scene.orphans


def test_orphan_that_was_lacking_before_a_clock_jumped_back_is_lacking_from_now_on() -> None:
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.vanish(ORPHAN.id)
    scene.later(15 * MIN)
    scene.observe()
    scene.reconcile()
    scene.later(-timedelta(hours=2))
    scene.jumped, scene.inventory = scene.now, Inventory()
    scene.observe()
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].missing == scene.now
    scene.later(PATIENCE)
    scene.observe()
    scene.reconcile()
    assert not scene.orphans


def test_orphan_is_counted_from_now_when_the_clock_jumped_back() -> None:
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.later(-timedelta(hours=2))
    scene.jumped, scene.inventory = scene.now, Inventory()
    scene.observe()
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].first == scene.orphans[ORPHAN.id].counted == scene.now
    scene.later(GAP)
    scene.observe()
    scene.reconcile()
    assert scene.orphans[ORPHAN.id].sightings == 2


def test_orphan_leaves_the_orphan_report_when_a_record_explains_it() -> None:
    scene = littered(reclaim=False)
    scene.reconcile()
    scene.add(machine(50))
    scene.reconcile()
    assert not scene.orphans


def test_orphan_stays_in_the_orphan_report_while_it_is_being_reclaimed() -> None:
    """Otherwise a removal that fails begins again as something never seen before."""
    scene = littered()
    sighted(scene)
    before = scene.orphans[ORPHAN.id]
    scene.moving.add(machine(50).id)
    scene.reconcile()
    assert scene.orphans[ORPHAN.id] == before


def test_orphan_report_is_written_only_when_more_than_time_changed() -> None:
    scene = littered(reclaim=False)
    sighted(scene)
    scene.later(1 * S)
    scene.observe()
    assert not any(isinstance(c, SaveOrphans) for c in scene.decide().commands)


def test_resource_without_an_owner_tag_is_an_orphan_by_its_owner() -> None:
    disk = Resource(
        id=ResourceId("disk"), slot=Slot("volume", 0), zone=ZONE, owner=ORPHAN.id, price=1.0
    )
    scene = littered(ORPHAN, disk)
    scene.reconcile()
    assert {ORPHAN.id, disk.id} == set(scene.orphans)


# ---------------------------------------------------------------- may it be removed?


def test_stray_is_reclaimed_after_grace_and_two_sightings() -> None:
    assert reclaimed(sighted(littered())) == [ORPHAN.id]


def test_nothing_is_reclaimed_on_one_sighting() -> None:
    scene = littered()
    for _ in range(5):
        assert reclaimed(scene.reconcile()) == []
        scene.later(GAP)
    scene = littered()
    for _ in range(59):
        assert reclaimed(scene.reconcile()) == []
        scene.later(1 * S)
        scene.observe()


def test_nothing_is_reclaimed_by_incomplete_sightings() -> None:
    scene = littered()
    scene.reconcile()
    for _ in range(5):
        scene.later(GAP)
        scene.observe(complete=False)
        assert reclaimed(scene.reconcile()) == []


def test_nothing_is_reclaimed_within_the_grace_period() -> None:
    young = replace(ORPHAN, created=BEGIN + GRACE)
    scene = littered(young)
    assert reclaimed(sighted(scene)) == []
    scene.later(GRACE)
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]


def test_resource_that_is_dated_in_the_future_is_as_old_as_its_first_sight() -> None:
    """Our clock jumped back: it must not wait until that date, and the grace period after it."""
    scene = littered(replace(ORPHAN, created=BEGIN + timedelta(hours=9)))
    assert reclaimed(sighted(scene)) == []
    scene.later(GRACE)
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]


def test_resource_without_a_date_is_as_old_as_its_first_sight() -> None:
    scene = littered(replace(ORPHAN, created=None))
    assert reclaimed(sighted(scene)) == []
    scene.later(GRACE - GAP)
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]


def test_nothing_is_reclaimed_where_nobody_asked_for_it() -> None:
    scene = littered(reclaim=False)
    assert reclaimed(sighted(scene)) == []
    assert "report only" in scene.orphans[ORPHAN.id].blocked


def test_nothing_is_reclaimed_beside_foreign_resources() -> None:
    scene = littered(ORPHAN, server(machine(51), installation=ABROAD))
    assert reclaimed(sighted(scene)) == []
    assert scene.row.destructions == ()


def test_nothing_is_reclaimed_while_the_fleet_is_paused() -> None:
    scene = littered()
    pause = Protection(until=scene.now + timedelta(hours=1), why="", actor="ann")
    scene.row = replace(scene.row, pause=pause)
    assert reclaimed(sighted(scene)) == []
    scene.later(timedelta(hours=1))
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]


def test_clock_that_jumps_forward_makes_nothing_old() -> None:
    scene = littered(replace(ORPHAN, created=BEGIN + GRACE))
    scene.reconcile()
    scene.later(timedelta(days=1))
    scene.jumped = scene.now
    scene.observe()
    assert reclaimed(scene.reconcile()) == []
    scene.later(GAP)
    scene.observe()
    assert reclaimed(scene.reconcile()) == []


def test_lost_store_is_not_reclaimed() -> None:
    """A new store is another installation: what stands is foreign to it, for ever."""
    scene = littered()
    for entry in tuple(scene.machines):
        del scene.machines[entry]
    scene.ours = (ABROAD,)
    scene.observe()
    for _ in range(20):
        decision = scene.reconcile()
        assert reclaimed(decision) == []
        assert not any(c.inserts for c in decision.commands if isinstance(c, SaveFleet))
        scene.later(5 * MIN)
        scene.observe()


def test_caps_bound_a_reclaim_and_are_taken_once_for_each_resource() -> None:
    orphans = [server(machine(50 + n)) for n in range(8)]
    scene = littered(*orphans)
    first = reclaimed(sighted(scene))
    assert len(first) == 3, "a tenth of thirty"
    assert len(scene.row.destructions) == 3
    scene.later(GAP)
    scene.observe()
    second = reclaimed(scene.reconcile())
    assert set(first) < set(second), "what did not go is tried again, and is not counted again"
    assert len(second) == 6
    assert len(scene.row.destructions) == 6


def test_removal_is_tried_once_in_a_while_and_eats_no_room_while_it_cannot_be_made() -> None:
    scene = littered(replace(ORPHAN, condition=Condition.STOPPING, allowed=()))
    assert reclaimed(sighted(scene)) == []
    assert scene.row.destructions == ()
    scene.exist(ORPHAN)
    scene.observe()
    assert reclaimed(scene.reconcile()) == [ORPHAN.id]
    scene.later(GAP - 1 * S)
    scene.observe()
    assert reclaimed(scene.reconcile()) == []
    assert scene.row.destructions == (BEGIN + GRACE + GAP,)


def test_reclaim_stands_for_the_machine_that_the_owner_tags_name() -> None:
    owned = address(machine(50), owner=ORPHAN.id)
    decision = sighted(littered(ORPHAN, owned))
    command = next(c for c in decision.commands if isinstance(c, Reclaim))
    assert command.placeholder.id == machine(50).id
    assert command.placeholder.goal is Goal.ABSENT
    assert {place.slot: place.bound for place in command.placeholder.places} == {
        SERVER: ORPHAN.id,
        ADDRESS: owned.id,
    }


def test_cap_of_one_reclaim_holds() -> None:
    orphans = [server(machine(50 + n)) for n in range(8)]
    scene = littered(*orphans)
    scene.fleet = replace(scene.fleet, caps=Caps(share=1.0, per_reclaim=2))
    assert len(reclaimed(sighted(scene))) == 2


def blocks(scene: Scene) -> list[str]:
    """Return what each orphan waits for, as the report has it."""
    return sorted(orphan.blocked for orphan in scene.orphans.values())


def test_what_the_caps_hold_back_says_so_and_is_not_written_again() -> None:
    orphans = [server(machine(50 + n)) for n in range(5)]
    scene = littered(*orphans)
    scene.fleet = replace(scene.fleet, caps=Caps(share=1.0, per_reclaim=2, per_hour=2))
    assert len(reclaimed(sighted(scene))) == 2
    assert blocks(scene) == ["", "", CAP, CAP, CAP]
    scene.later(1 * S)
    scene.observe()
    again = scene.reconcile()
    saved = [o.blocked for c in again.commands if isinstance(c, SaveOrphans) for o in c.orphans]
    assert CAP not in saved
    scene.later(60 * MIN)
    scene.observe()
    scene.reconcile()
    assert blocks(scene).count(CAP) == 1, "two more had room in the next hour"


def test_what_takes_no_call_now_says_so() -> None:
    scene = littered(replace(ORPHAN, condition=Condition.STOPPING, allowed=()))
    sighted(scene)
    assert blocks(scene) == [NO_CALL]
    scene.exist(ORPHAN)
    scene.observe()
    scene.reconcile()
    assert blocks(scene) == [""]


def test_every_orphan_that_is_not_being_removed_says_why() -> None:
    """A grid of what may keep one: age, sightings, modes, owners, caps, and states."""
    changed = replace(machine(51), id=machine(51).id)
    for reclaim, per_reclaim, resource in itertools.product(
        (True, False),
        (1, 5),
        (ORPHAN, replace(ORPHAN, allowed=(), condition=Condition.STOPPING), server(changed)),
    ):
        scene = littered(resource, server(machine(52)))
        caps = Caps(share=1.0, per_reclaim=per_reclaim)
        scene.fleet = replace(scene.fleet, reclaim=reclaim, caps=caps)
        for _ in range(4):
            scene.later(GRACE)
            scene.observe()
            going = set(reclaimed(scene.reconcile()))
            for orphan in scene.orphans.values():
                tried = orphan.tried is not None
                assert orphan.blocked or tried or orphan.resource in going, orphan


# ---------------------------------------------------------------- late parts


def test_resource_of_a_machine_in_the_history_opens_its_record_again() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    deleted = machine(1, Phase.DELETED)
    scene.history[deleted.id] = deleted
    scene.exist(server(deleted))
    scene.observe()
    scene.reconcile()
    assert scene.the().phase is Phase.STOPPING
    assert scene.the().reason == "appeared_late"
    assert not scene.orphans
    advance = scene.advance()
    assert advance is not None
    assert advance.goal is Goal.ABSENT


# ---------------------------------------------------------------- adopt


def strange(condition: Condition = Condition.UP) -> Scene:
    scene = Scene(fleet=replace(FLEET, size=1))
    up = server(machine(7), condition, installation=ABROAD, attempt=3)
    scene.exist(up, address(machine(7), owner=up.id, installation=ABROAD))
    scene.observe()
    return scene


def adopt(scene: Scene) -> None:
    request = scene.request(RequestKind.ADOPT)
    scene.requests[-1] = replace(request, installation=ABROAD)
    scene.reconcile()


def test_nothing_of_theirs_is_touched_until_somebody_adopts_it() -> None:
    scene = strange()
    for _ in range(10):
        assert not any(isinstance(c, Reclaim) for c in scene.reconcile().commands)
        scene.later(GRACE)
        scene.observe()
    assert not scene.machines


def test_adopted_machine_goes_on_with_every_resource_bound_and_becomes_ready() -> None:
    scene = strange()
    adopt(scene)
    entry = scene.the(7)
    assert (entry.phase, entry.origin) == (Phase.STARTING, Origin.ADOPTED)
    assert entry.bound(SERVER) == server(machine(7)).id
    assert entry.bound(ADDRESS) == address(machine(7)).id
    assert entry.place(SERVER).attempt == 3
    assert scene.ours == (HOME, ABROAD)
    scene.reconcile()
    assert scene.the(7).phase is Phase.READY
    assert len(scene.machines) == 1, "it counts: nothing is bought twice"


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("hosts", [False, True])
def test_adopted_machine_has_cost_what_its_resources_have_cost_so_far(
    *, hosts: bool, dated: bool
) -> None:
    """The orphan report had it, and nobody's sum may fall; a host had tenants before."""
    scene = strange()
    if not dated:
        scene.intrude(*(replace(one, created=None) for one in scene.resources.values()))
    if hosts:
        scene.capabilities = replace(scene.capabilities, hosts=HostCapabilities())
    scene.observe()
    scene.reconcile()
    scene.later(timedelta(hours=2))
    scene.observe()
    scene.reconcile()
    reported = sum(orphan.cost for orphan in scene.orphans.values())
    assert reported > 0
    adopt(scene)
    entry = scene.the(7)
    assert entry.billing.cost(scene.now) == pytest.approx(0 if hosts else reported)
    scene.reconcile()
    scene.later(timedelta(hours=1))
    later = scene.the(7).billing.cost(scene.now)
    assert later == pytest.approx((0 if hosts else reported) + scene.the(7).billing.price)


def test_adopted_machine_binds_what_its_server_holds_and_not_what_was_left_behind() -> None:
    scene = strange()
    left = replace(address(machine(7), installation=ABROAD), id=ResourceId("a-left-one"))
    scene.exist(left)
    scene.observe()
    adopt(scene)
    assert scene.the(7).bound(ADDRESS) == address(machine(7)).id


def test_adopting_another_installation_adopts_nothing() -> None:
    scene = strange()
    request = scene.request(RequestKind.ADOPT)
    scene.requests[-1] = replace(request, installation=HOME)
    scene.reconcile()
    assert not scene.machines
    assert scene.ours == (HOME,)


def test_unexplained_resources_of_ours_are_adopted_without_a_name() -> None:
    scene = Scene()
    scene.exist(server(machine(7)))
    scene.observe()
    scene.request(RequestKind.ADOPT)
    scene.reconcile()
    assert scene.the(7).phase is Phase.STARTING
    assert scene.ours == (HOME,)


def test_leftovers_without_a_server_are_cleaned_up() -> None:
    scene = Scene(fleet=replace(FLEET, size=0))
    scene.exist(address(machine(7)))
    scene.observe()
    scene.request(RequestKind.ADOPT)
    scene.reconcile()
    assert scene.the(7).phase is Phase.STOPPING


def test_what_was_up_when_it_was_adopted_is_no_mere_rollback_if_it_fails() -> None:
    """Adopting a fleet with a wrong probe must not destroy it, past holds and caps."""
    scene = strange()
    adopt(scene)
    assert scene.the(7).health.was_ready is not None
    other = strange(Condition.OFF)
    adopt(other)
    assert other.the(7).health.was_ready is None


def test_adopted_machine_may_be_of_a_type_that_the_fleet_does_not_know() -> None:
    scene = strange()
    odd = replace(server(machine(7), installation=ABROAD), type="huge")
    scene.exist(odd)
    scene.observe()
    adopt(scene)
    assert scene.the(7).offer.type == "huge"


def test_nothing_is_created_while_what_no_record_explains_is_being_removed() -> None:
    """The fleet said "all is well", and made a machine, during each call that removed an orphan."""
    scene = littered()
    assert reclaimed(sighted(scene)) == [ORPHAN.id]
    scene.fleet = replace(scene.fleet, size=scene.fleet.size + 1)
    scene.moving.add(machine(50).id)
    decision = scene.reconcile()
    assert reclaimed(decision) == []
    assert not [c for c in decision.commands if isinstance(c, SaveFleet) and c.inserts]
    assert scene.row.condition.startswith("no record explains 1 of")


def test_what_a_machine_leaves_behind_in_the_moment_of_its_end_is_no_orphan_yet() -> None:
    ended = machine(60, Phase.DELETED)
    scene = littered(server(machine(1)))
    scene.keep(ended)
    scene.exist(server(ended))
    scene.moving.add(ended.id)
    scene.observe()
    snapshot = scene.snapshot()
    assert (snapshot.late, snapshot.unexplained, snapshot.removing) == ((), (), ())
    scene.moving.clear()
    assert scene.snapshot().late


def test_what_somebody_adopts_is_not_reclaimed_by_the_same_decision() -> None:
    scene = littered()
    scene.reconcile()
    scene.later(GAP)
    scene.observe()
    assert reclaimed(scene.decide()) == [ORPHAN.id]
    scene.request(RequestKind.ADOPT)
    decision = scene.reconcile()
    assert reclaimed(decision) == []
    assert machine(50).id in scene.machines
