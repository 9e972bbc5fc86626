"""What somebody does to stores by hand: put back, robbed of records; and the judge's account."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OrphanClass, OwnerTag
from hostler.domain.model.snapshot import Orphan
from hostler.lab.checks import issued_ids
from hostler.lab.checks.shadow_store import ShadowStore, shadow_for
from hostler.lab.harness.store_place import StorePlace
from hostler.lab.macs.environment import MacEnvironment
from hostler.lab.macs.faults import DAYS as MAC_DAYS
from hostler.lab.macs.faults import MacScenario, draw_macs
from hostler.lab.metal.environment import MetalEnvironment
from hostler.lab.metal.faults import DAYS as METAL_DAYS
from hostler.lab.metal.faults import MetalScenario, draw_metal
from hostler.lab.scenario.faults import (
    HISTORY_PRUNED,
    RECORD_REMOVED,
    STORE_COPIED,
    STORE_RESTORED,
    STORE_TWINNED,
    Scenario,
    Size,
    severity_of,
)
from hostler.lab.scenario.run import play
from hostler.lab.scenario.session import Session
from hostler.lab.scenario.store_faults import (
    STORE_OF_HOSTS,
    do_by_hand,
    prune,
    start_twin,
    with_pruned_history,
    with_store_by_hand,
    with_twin,
)
from hostler.lab.scenario.stores import store_place
from hostler.lab.servers.environment import ServerEnvironment
from hostler.lab.servers.faults import draw_servers
from hostler.lab.simulate.providers import MACS, engines
from hostler.lab.simulate.seeds import run_seed
from hostler.ports.store import Fence, Store
from hostler.stores.sqlite.worker import Threaded
from hostler.testing.invariants import Thing
from hostler.testing.scenes.builders import BEGIN, FLEET, machine

OWN = InstallationId("i1")
SIZE = Size()


def by_hand(seed: int) -> Scenario:
    return with_store_by_hand(draw_servers(seed, SIZE))


# ------------------------------------------------------------ the judge's account


def thing(of: Machine, attempt: int = 1, *, installation: str = OWN) -> Thing:
    """Return a server that carries a machine's tag."""
    tag = OwnerTag(
        installation=InstallationId(installation), fleet=FLEET.name, machine=of.id, attempt=attempt
    )
    return Thing(id=ResourceId(f"s-{of.id}-{attempt}"), kind="server", created=0.0, owner_tag=tag)


def shadow(*machines: Machine) -> ShadowStore:
    """Return what a store holds that made these machines."""
    found = shadow_for(OWN, (FLEET,), 30.0)
    found.inserted(machines)
    return found


def orphan(of: Thing, cls: OrphanClass) -> Orphan:
    assert of.owner_tag is not None
    return Orphan(
        resource=of.id,
        kind=of.kind,
        zone=FLEET.offers[0].zone,
        fleet=FLEET.name,
        cls=cls,
        first=BEGIN,
        last=BEGIN,
        installation=of.owner_tag.installation,
        machine=of.owner_tag.machine,
    )


def test_what_the_store_never_issued_may_not_be_changed():
    newer = thing(machine(2))
    found = issued_ids.changed(shadow(machine(1)), newer, "DELETE /servers/x")
    assert [violation.invariant for violation in found] == ["S5"]


def test_an_attempt_that_no_record_handed_out_was_never_issued():
    mine = shadow(machine(1))
    assert not issued_ids.is_unissued(mine, thing(machine(1), attempt=1))
    assert issued_ids.is_unissued(mine, thing(machine(1), attempt=9))


def test_what_was_issued_or_is_of_others_is_judged_by_other_rules():
    mine = shadow(machine(1))
    mine.forget_record(machine(1).id)
    assert not issued_ids.changed(mine, thing(machine(1)), "DELETE")
    assert not issued_ids.changed(mine, thing(machine(2), installation="i2"), "DELETE")


def test_the_report_must_call_it_what_it_is():
    mine, newer, removed = shadow(machine(1)), thing(machine(2)), thing(machine(1))
    mine.forget_record(machine(1).id)
    there = (newer, removed)
    for one, right, wrong in (
        (newer, OrphanClass.UNISSUED, OrphanClass.UNRECORDED),
        (removed, OrphanClass.UNRECORDED, OrphanClass.UNISSUED),
    ):
        assert not issued_ids.reported(mine, (orphan(one, right),), there)
        assert issued_ids.reported(mine, (orphan(one, wrong),), there)


def test_nothing_is_created_beside_it_once_it_is_reported():
    mine, newer = shadow(machine(1)), thing(machine(2))
    assert not issued_ids.created_beside(mine, (newer,), 1000.0)
    mine.reported[newer.id] = 900.0
    assert not issued_ids.created_beside(mine, (newer,), 900.0 + issued_ids.AT_ONCE)
    assert issued_ids.created_beside(mine, (newer,), 1000.0)
    mine.inserted((machine(2),))  # adopted
    assert not issued_ids.created_beside(mine, (newer,), 1000.0)


def test_nothing_is_created_beside_what_has_lost_its_record():
    mine, left = shadow(machine(1)), thing(machine(1))
    mine.reported[left.id] = 900.0
    assert not issued_ids.created_beside(mine, (left,), 1000.0)
    mine.forget_record(machine(1).id)
    assert issued_ids.created_beside(mine, (left,), 1000.0)
    assert not issued_ids.created_beside(mine, (left,), 900.0 + issued_ids.AT_ONCE)


def test_its_fleet_says_so_once_it_is_reported():
    mine, newer = shadow(machine(1)), thing(machine(2))
    silent = FleetRow(name=FLEET.name, created=BEGIN)
    assert not issued_ids.concealed(mine, silent, (newer,), 1000.0)
    mine.reported[newer.id] = 900.0
    assert not issued_ids.concealed(mine, silent, (newer,), 900.0 + issued_ids.AT_ONCE)
    assert issued_ids.concealed(mine, silent, (newer,), 1000.0)
    assert not issued_ids.concealed(mine, replace(silent, condition="why"), (newer,), 1000.0)
    assert not issued_ids.concealed(
        mine, replace(silent, name=FleetName("other")), (newer,), 1000.0
    )
    assert not issued_ids.concealed(mine, None, (newer,), 1000.0)


def test_the_judge_knows_no_more_than_the_store_that_was_put_back():
    mine = shadow(machine(1))
    backup = mine.copy()
    mine.inserted((machine(2),))
    mine.machines[machine(1).id] = replace(machine(1), version=7)
    mine.put_back(backup, 10.0, 20.0)
    assert mine.issued == {machine(1).id}
    assert [entry.version for entry in mine.living()] == [1]
    assert [mine.has_forgotten(at) for at in (9.0, 10.0, 19.0, 20.0)] == [False, True, True, False]


# ------------------------------------------------------------ the stores


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    path = tmp_path / "1.db" if request.param == "sqlite" else None
    return store_place(OWN, path, exclusive=True)


async def insert(store: Store, *machines: Machine) -> None:
    lease = next((one for one in await store.leases()), None)
    taken = await store.take_lease(f"fleet/{FLEET.name}", "a", lease)
    assert taken is not None
    known = await store.add_fleet(FleetRow(name=FLEET.name, created=BEGIN))
    await store.save_fleet(known, machines, (), Fence(lease=taken.name, epoch=taken.epoch))


async def recorded(place: StorePlace) -> tuple[list[MachineId], frozenset[MachineId]]:
    store = place.open()
    living = [one.id for one in await store.machines(FLEET.name)]
    issued = await store.issued((machine(1).id, machine(2).id))
    await store.close()
    return living, issued


async def test_a_store_that_is_put_back_has_issued_no_more_than_its_backup(place: StorePlace):
    store = place.open()
    await insert(store, machine(1))
    place.copy()
    await insert(store, machine(2))
    await store.close()
    place.put_back()
    assert await recorded(place) == ([machine(1).id], {machine(1).id})


async def test_a_record_that_is_removed_by_force_leaves_its_id_issued(place: StorePlace):
    store = place.open()
    await insert(store, machine(1), machine(2))
    await store.close()
    place.remove_record(machine(1).id)
    assert await recorded(place) == ([machine(2).id], {machine(1).id, machine(2).id})


@pytest.mark.parametrize("wired", [True, False])
def test_a_seed_that_speaks_real_http_hands_its_stores_work_to_the_stores_queue(
    wired: bool, tmp_path: Path
):
    scenario = replace(draw_servers(1, SIZE), wired=wired, sqlite=True)
    session = Session(ServerEnvironment(scenario), tmp_path)
    store = session.found_home(replicas=1).place.open()
    with patch.object(Threaded, "run", autospec=True, side_effect=Threaded.run) as handed:
        session.loop.run_until_complete(store.requests())
    session.loop.run_until_complete(store.close())
    session.loop.close()
    assert handed.called is wired


@pytest.mark.parametrize("draw", [draw_macs, draw_metal])
def test_more_than_half_of_the_seeds_of_hosts_have_their_store_in_a_file(
    draw: Callable[[int, Size], MacScenario | MetalScenario],
):
    filed = sum(draw(seed, SIZE).base.sqlite for seed in range(1, 201))
    assert 90 <= filed <= 140


# ------------------------------------------------------------ the seeds


def test_a_share_of_the_seeds_is_drawn_and_all_others_draw_what_they_did():
    some = [seed for seed in range(1, 1001) if by_hand(seed) != draw_servers(seed, SIZE)]
    assert 30 <= len(some) <= 80
    assert "calm" not in {severity_of(seed) for seed in some}
    faults = {fault for seed in some for fault in by_hand(seed).faults}
    assert {STORE_RESTORED, RECORD_REMOVED} <= faults
    for seed in some:
        struck = [one.fault for one in by_hand(seed).disruptions]
        assert struck.count(STORE_RESTORED) == struck.count(STORE_COPIED)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [121, 180, 183, 4000371])  # the last: said to be well as it shrank
def test_what_somebody_does_to_the_store_breaks_no_invariant(seed: int):
    result = run_seed(seed, SIZE)
    assert result.violation is None, "\n".join(result.story)
    assert {STORE_RESTORED, RECORD_REMOVED} & result.faults.keys()


def test_a_share_of_the_seeds_prunes_its_history_and_all_others_draw_what_they_did():
    drawn = {seed: draw_servers(seed, SIZE) for seed in range(1, 1001)}
    some = {n: with_pruned_history(one) for n, one in drawn.items()}
    pruned = [n for n, one in some.items() if one != drawn[n]]
    assert 30 <= len(pruned) <= 70
    assert all(HISTORY_PRUNED in some[n].faults for n in pruned)
    assert "calm" not in {severity_of(n) for n in pruned}


def test_a_share_of_the_seeds_runs_a_twin_and_all_others_draw_what_they_did():
    drawn = {seed: draw_servers(seed, SIZE) for seed in range(1, 2001)}
    some = {n: with_twin(one) for n, one in drawn.items()}
    twinned = [n for n, one in some.items() if one != drawn[n]]
    assert 25 <= len(twinned) <= 75
    assert all(STORE_TWINNED in some[n].faults for n in twinned)
    assert "calm" not in {severity_of(n) for n in twinned}
    with_both = {"store_lost", "second_installation", STORE_RESTORED, RECORD_REMOVED}
    assert not any(with_both & {*some[n].faults} for n in twinned)
    assert {action.home for n in twinned for action in some[n].actions} >= {0, 1}


@pytest.mark.parametrize("draw", [draw_metal, draw_macs])
def test_a_share_of_the_seeds_of_hosts_has_its_store_changed_by_hand(
    draw: Callable[[int, Size], MacScenario | MetalScenario],
):
    faults = [{*STORE_OF_HOSTS} & {*draw(seed, SIZE).base.faults} for seed in range(1, 1001)]
    assert 80 <= sum(map(bool, faults)) <= 140
    assert set[str]().union(*faults) == {*STORE_OF_HOSTS}


@pytest.mark.timeout(120)
def test_who_reclaims_the_host_of_a_record_that_was_removed_breaks_no_job():
    """S6: a job ran there, of which nobody could know any more (the judge)."""
    assert run_seed(7300397, Size(days=MAC_DAYS), provider=MACS).violation is None


@pytest.mark.timeout(180)
def test_an_empty_list_takes_no_orphan_out_of_the_report() -> None:
    """S1, Macs 43000035: what somebody's removal left was in no report for a quarter of an hour."""
    assert run_seed(43000035, Size(days=MAC_DAYS), provider=MACS).violation is None


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [5, 12, 17, 24, 113, 127, 141, 142])
def test_what_is_done_to_a_store_of_macs_for_sure_breaks_no_invariant(seed: int, tmp_path: Path):
    """L1: a host whose machine's record was removed could not be adopted (5, 12, 17, 24)."""
    drawn = draw_macs(seed, Size(days=MAC_DAYS))
    changed = replace(drawn, base=do_by_hand(drawn.base, Random(seed)))
    result = play(engines(MacEnvironment)(changed, tmp_path))
    assert result.violation is None, "\n".join(result.story)
    assert {STORE_RESTORED, RECORD_REMOVED} & result.faults.keys()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", [6, 9, 12, 15, 17, 24])
def test_what_is_done_to_a_store_of_metal_for_sure_breaks_no_invariant(seed: int, tmp_path: Path):
    """L1: such a box was told nowhere; 15: when one was switched on, an old store knows not."""
    drawn = draw_metal(seed, Size(days=METAL_DAYS))
    changed = replace(drawn, base=do_by_hand(drawn.base, Random(seed)))
    result = play(engines(MetalEnvironment)(changed, tmp_path))
    assert result.violation is None, "\n".join(result.story)
    assert {STORE_RESTORED, RECORD_REMOVED} & result.faults.keys()


def forced(seed: int, how: Callable[[Scenario, Random], Scenario]) -> Scenario:
    """Return a seed's scenario, with something done to its store for sure."""
    return how(draw_servers(seed, SIZE), Random(f"hostler store by hand forced: {seed}"))


def start_twin_of_its_own(scenario: Scenario, rng: Random) -> Scenario:
    """Start a twin as the seeds did that found something."""
    del rng
    return start_twin(scenario, Random(scenario.seed))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("seed", "how", "fault"),
    [
        (51009, do_by_hand, RECORD_REMOVED),  # a machine was made while an orphan was removed
        (50001, prune, HISTORY_PRUNED),
        (50004, prune, HISTORY_PRUNED),
        (8, start_twin, STORE_TWINNED),  # both make machines, and stop for each other's
        (12, start_twin, STORE_TWINNED),
        (30, start_twin, STORE_TWINNED),
        (
            1628,
            start_twin_of_its_own,
            STORE_TWINNED,
        ),  # S5: twice a 404 of what was there (the judge)
        (157, start_twin_of_its_own, STORE_TWINNED),  # S7: its twin made it an address (the judge)
    ],
)
def test_what_is_done_to_a_store_for_sure_breaks_no_invariant(
    seed: int, how: Callable[[Scenario, Random], Scenario], fault: str, tmp_path: Path
):
    result = play(engines(ServerEnvironment)(forced(seed, how), tmp_path))
    assert result.violation is None, "\n".join(result.story)
    assert fault in result.faults
