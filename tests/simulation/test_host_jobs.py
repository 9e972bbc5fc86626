"""S6: jobs on hosts that are asked whether they are busy; and hosts that only people can free."""

import dataclasses
from random import Random

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId
from hostler.domain.model.machine import Deletion, Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Stage
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.macs.ground_truth import Fact, GroundTruth
from hostler.lab.macs.host_jobs import HostJobs
from hostler.lab.macs.names import HostName
from hostler.lab.macs.quiescence import to_people
from hostler.simulators.scaleway.state.mac_records import MacStatus
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Found
from hostler.testing.scenes.builders import BEGIN, machine

OURS, OTHERS = InstallationId("i1"), InstallationId("i2")
DRAIN = 1800.0
DELETION = Deletion(at=BEGIN, actor="ann", why="a whim")


class Scene:
    """One host, its machine, and the jobs that run there."""

    def __init__(self) -> None:
        self.now = 0.0
        self.world = World(lambda: self.now, Random(1))
        (host,) = self.world.stock_macs(1, "M2-L", "fr-par-1", "pool-")
        self.host, self.truth = HostId(host), GroundTruth(self.world, 60.0)
        self.jobs = HostJobs(self.truth, 1)
        self.shadow = ShadowStore(own=OURS, fleets={})
        self.ready = replace(machine(1), phase=Phase.READY, host=self.host)
        assert not tuple(self.truth.changes())

    def at(self, now: float) -> None:
        self.now = now
        self.world.advance()

    def saves(self, saved: Machine) -> None:
        self.jobs.saved(self.shadow, saved)

    def to_job(self) -> None:
        """Let time pass until a job runs."""
        latest = self.now + 10_000
        while not self.jobs.is_busy(self.host):
            self.at(self.now + 30.0)
            assert self.now < latest, "a job was to begin by now"

    def wiped(self, by: InstallationId = OURS) -> Found:
        return self.jobs.ended(ShadowStore(own=by, fleets={}), self.host, "reinstall", DRAIN)


def working() -> Scene:
    scene = Scene()
    scene.saves(scene.ready)
    scene.to_job()
    return scene


def test_host_on_which_a_job_runs_is_not_wiped() -> None:
    scene = working()
    (violation,) = scene.wiped()
    assert (violation.invariant, violation.machine) == ("S6", scene.ready.id)
    scene.saves(replace(scene.ready, phase=Phase.STOPPING))
    assert scene.wiped(), "that its record moves on ends no job"
    assert not scene.wiped(by=OTHERS), "who has it by a name is judged by S5"


def test_job_ends_by_its_timetable_and_another_begins() -> None:
    scene = working()
    while scene.jobs.is_busy(scene.host):
        scene.at(scene.now + 30.0)
    assert not scene.wiped()
    scene.to_job()
    assert scene.wiped()


@pytest.mark.parametrize(
    "leaves", [{"phase": Phase.DRAINING}, {"phase": Phase.FAILED}, {"goal": Goal.STANDBY}]
)
def test_no_job_begins_on_a_machine_on_its_way_out(leaves: dict[str, object]) -> None:
    scene = Scene()
    scene.saves(scene.ready)
    scene.saves(replace(scene.ready, **leaves))
    with pytest.raises(AssertionError, match="was to begin"):
        scene.to_job()


def test_no_job_begins_where_no_machine_was_ever_ready() -> None:
    scene = Scene()
    scene.saves(replace(scene.ready, phase=Phase.STARTING))
    with pytest.raises(AssertionError, match="was to begin"):
        scene.to_job()


def test_drained_for_its_bound_or_ended_at_once_it_may_be_wiped() -> None:
    scene = working()
    scene.saves(replace(scene.ready, phase=Phase.DRAINING, deletion=DELETION))
    assert scene.wiped()
    scene.jobs.allocations[scene.host].until = scene.now - DRAIN
    assert not scene.wiped()
    at_once = working()
    at_once.saves(replace(at_once.ready, deletion=replace(DELETION, now=True)))
    assert not at_once.wiped()


def test_job_is_broken_where_its_host_went_down_or_was_named_anew() -> None:
    down, named = working(), working()
    mac = down.truth.mac(down.host)
    assert mac is not None
    mac.status = MacStatus.REBOOTING
    assert not down.wiped()
    named.truth.hosts[named.host].handled = named.now
    assert not named.wiped()


# ---------------------------------------------------------------- what only people can free

HELD, COPY, FAR = HostId("held"), HostId("copy"), MachineId("m-cccccccccc")


def named(who: MachineId, by: InstallationId = OURS, stage: Stage = Stage.CLAIMED) -> Fact:
    name = HostName(
        stage=stage, installation=by, fleet=FleetName("macs"), machine=who, pool="000000"
    )
    return Fact(name=str(name), named=9.0, cycle=0, status=MacStatus.READY, moved=0.0, used=0)


def freed(fact: Fact, *, lost: bool = False) -> bool:
    """Tell whether people free a host whose name says this, beside one that a machine has."""
    tenant = replace(machine(1), phase=Phase.READY, host=HELD)
    truth = GroundTruth(World(lambda: 99.0, Random(1)), 60.0)
    truth.hosts = {HELD: dataclasses.replace(named(tenant.id), late=9.0), COPY: fact}
    ours = ShadowStore(own=OURS, fleets={})
    ours.machines[tenant.id] = tenant
    shadows = [ours, ShadowStore(own=OTHERS, fleets={}, lost=lost)]
    return to_people(truth, shadows) == [COPY]


def test_people_free_what_came_late_or_was_copied_of_a_machine_that_lives_elsewhere() -> None:
    living = machine(1).id
    assert freed(dataclasses.replace(named(FAR), late=9.0))
    assert freed(dataclasses.replace(named(living), by_person=True))
    assert freed(dataclasses.replace(named(FAR, OTHERS), by_person=True), lost=True)


def test_people_free_nothing_that_the_program_can_mend() -> None:
    living = machine(1).id
    assert not freed(named(FAR))
    assert not freed(named(living))
    assert not freed(dataclasses.replace(named(FAR), late=8.0))
    assert not freed(dataclasses.replace(named(FAR), by_person=True))
    assert not freed(dataclasses.replace(named(FAR, OTHERS), by_person=True))
    assert not freed(dataclasses.replace(named(FAR, stage=Stage.PARKED), late=9.0))
