"""A modelled runner over the real group: what it is told holds, whatever the faults."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, machine_id
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.frontends.fleeting.contract import Instance, State
from hostler.lab.checks.trace import Trace
from hostler.lab.gitlab_runner.checker import STUCK, Checker, Reported
from hostler.lab.gitlab_runner.course import RunnerCourse
from hostler.lab.gitlab_runner.faults import ALL, OURS, draw_runner
from hostler.lab.gitlab_runner.ground_truth import GroundTruth
from hostler.lab.mutants.runner import MUTANTS
from hostler.lab.scaleway.bystanders import SECRET
from hostler.lab.scaleway.owner_tags import Owned, tags_for
from hostler.lab.scaleway.world import ScalewayWorld
from hostler.lab.scenario.faults import Size
from hostler.lab.scenario.run import Result, play
from hostler.lab.simulate.providers import FLEETING, PROVIDERS
from hostler.lab.simulate.seeds import main
from hostler.lab.simulate.seeds import run_seed as run_any
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.records import Server

SIZE = Size()
MANY = 20
AT_ONCE = 5
PAST_FAILURES = {
    232000564: "R4: a server that hung while it started was protected meanwhile (the judge)",
    232000017: "R13: what one list lacked was not reached any more",
    134000299: "R4: a server that hung while it started was up right before its bound (the judge)",
    122000017: "R1: a guest that goes right after it answered a probe did answer (the judge)",
    12010149: "R8: one list showed four servers once more that were gone (the judge)",
    5010354: "L: only people can know of a server that lost tags and name at once (the lab)",
    2008: "R7: a machine that went down soon after its start was remembered to rest",
    2288: "R4: a server on its way up cannot be deleted yet (the judge)",
    300044: "R1: a guest that goes right after it answered did answer (the judge)",
    100260: "R8: a machine that was stuck, its place given away, was made again",
    310029: "R2: a server that the provider locked was told to be deleting all the while",
    2138: "R2: no delete may begin while its zone is dead (the judge)",
    700769: "R2: a server that somebody protected was told to be deleting all the while",
    700944: "R2: nobody could delete while no plugin ran (the judge)",
    2100004: "S6: a person took an address away, so that its instance was failed (the judge)",
    98000227: "S6: two answers of one moment proved that a server was gone",
    111000679: "R2: nobody can tell whose a server is that lost tags and name (the judge)",
    84000004: "R4: no end could be tried while the network was down or the disk full (the judge)",
    108000016: "E1: a machine rested while lists showed an address that an answer had removed",
    701384: "R2: a clock that is put back comes to old pauses again (the judge)",
}
"""Seeds of failures that were found and mended, and what each found."""


def run_seed(seed: int, size: Size, bug: str = "") -> Result:
    return run_any(seed, size, bug, FLEETING)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("first", range(1, MANY, AT_ONCE))
def test_every_promise_to_a_runner_holds_whatever_the_faults(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        result = run_seed(seed, SIZE)
        assert result.violation is None, "\n".join(result.story)


@pytest.mark.parametrize("seed", PAST_FAILURES)
def test_seed_of_a_past_failure_holds(seed: int) -> None:
    result = run_seed(seed, SIZE)
    assert result.violation is None, "\n".join(result.story)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_of_a_plugin_is_caught(name: str) -> None:
    seeds = range(1, MUTANTS[name].within + 1)
    found = [run_seed(seed, SIZE, name).violation for seed in seeds]
    broken = {violation.invariant for violation in found if violation is not None}
    assert broken
    assert broken <= set(MUTANTS[name].caught)


@pytest.mark.parametrize("name", MUTANTS)
def test_scenario_of_a_mutant_alone_breaks_nothing(name: str, tmp_path: Path) -> None:
    result = PROVIDERS[FLEETING].control(1, SIZE, tmp_path, name)
    assert result.violation is None, "\n".join(result.story)


def test_a_seed_of_a_runner_replays_to_the_same_byte() -> None:
    assert run_seed(13, SIZE) == run_seed(13, SIZE)


_DIGEST = (
    "from hostler.lab.scenario.faults import Size;"
    "from hostler.lab.simulate.providers import FLEETING;"
    "from hostler.lab.simulate.seeds import run_seed;"
    "print(*(run_seed(s, Size(days=0.01), '', FLEETING).digest for s in (4, 6, 18, 27, 40)))"
)


@pytest.mark.timeout(120)
def test_no_order_of_hashes_reaches_what_a_runner_is_told() -> None:
    digests = {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _DIGEST],
            env={**os.environ, "PYTHONHASHSEED": number},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for number in ("1", "271828")
    }
    assert len(digests) == 1


def test_run_of_a_runner_serves_jobs() -> None:
    course = RunnerCourse(draw_runner(7, SIZE))
    result = play(course)
    assert result.calm
    assert result.violation is None
    assert course.runner.served.done >= len(course.scenario.jobs) // 2
    assert course.runner.served.broken == 0


def test_every_fault_of_the_runner_is_drawn_within_a_hundred_seeds() -> None:
    climates = [draw_runner(seed, SIZE) for seed in range(1, 101)]
    drawn = {disruption.fault for scenario in climates for disruption in scenario.disruptions}
    drawn |= {fault for scenario in climates for fault in scenario.base.world.rates}
    assert drawn == set(ALL)
    assert set(OURS) < drawn
    assert any(State.STOPPED in scenario.states for scenario in climates)
    assert any(State.STOPPED not in scenario.states for scenario in climates)


@pytest.mark.parametrize(
    ("state", "most"), [(State.CREATING, 2), (State.RUNNING, 2), (State.DELETING, 2 + STUCK)]
)
def test_r8_fires_when_more_are_told_than_may_be(state: State, most: int) -> None:
    def broken(many: int) -> bool:
        checker = Checker(ScalewayWorld(lambda: 0.0, Random(1)), Trace(lambda: 0.0), most=2)
        checker.accepted = many
        names = [f"m-{number}" for number in range(many)]
        for name in names:
            checker.reported[name] = Reported(key=b"", state=State.CREATING, ran=True)
        checker.updated([Instance(id=name, state=state) for name in names])
        return checker.first is not None and checker.first.invariant == "R8"

    assert not broken(most)
    assert broken(most + 1)


@pytest.mark.parametrize("stands", [False, True])
def test_r8_passes_over_what_a_list_shows_once_more(stands: bool) -> None:
    """It was gone, and told so; its place is another's. What truly stands counts."""
    world, names = ScalewayWorld(lambda: 0.0, Random(1)), [*map(machine_id, range(2 + STUCK))]
    checker = Checker(world, Trace(lambda: 0.0), most=1)
    checker.accepted = len(names)
    for name in names:
        if stands:
            owner_tag = replace(OWNER_TAG, machine=name)
            _make_server(world, tags_for(Owned(owner_tag, Slot("server"))))
        checker.reported[name] = Reported(key=b"", ran=True, left=True, tried=True)
    checker.updated([Instance(id=name, state=State.DELETING) for name in names])
    assert (checker.first is not None) is stands
    assert checker.first is None or checker.first.invariant == "R8"


@pytest.mark.parametrize(
    ("minutes", "network_down", "broken"),
    [(11, True, False), (11, False, True), (1, True, True), (0, False, True)],
    ids=["no request went out", "it could be tried", "given up too soon", "given up at once"],
)
def test_r4_fires_when_an_instance_is_given_up_whose_end_nobody_tried(
    minutes: int, *, network_down: bool, broken: bool
) -> None:
    clock, name = [0.0], machine_id(1)
    world = ScalewayWorld(lambda: clock[0], Random(1))
    _make_server(world, tags_for(Owned(replace(OWNER_TAG, machine=name), Slot("server"))))
    checker = Checker(world, Trace(lambda: clock[0]), most=1)
    checker.accepted = 1
    checker.updated([Instance(id=name, state=State.CREATING)])
    clock[0] = 500.0
    checker.tick()
    checker.decreased([name])
    checker.awake = not network_down
    for _ in range(minutes * 60):
        clock[0] += 1.0
        checker.updated([Instance(id=name, state=State.CREATING)])
    checker.awake = True
    checker.updated([Instance(id=name, state=State.TIMEOUT)])
    assert (checker.first is not None) is broken
    assert checker.first is None or checker.first.invariant == "R4"


class Guest(GroundTruth):
    """One server of one instance, whose guest answers or not."""

    answers = True

    def owner(self, thing: str) -> str:
        del thing
        return "m-1"

    def well(self, instance: str) -> bool:
        del instance
        return self.answers


@pytest.mark.parametrize(
    ("jobs", "ended", "answered", "broken"),
    [
        (1, False, True, True),
        (0, False, True, False),
        (1, True, True, False),
        (1, False, False, False),
    ],
    ids=["a job runs", "no job", "the runner asked for it", "its guest had not answered"],
)
def test_s6_fires_when_an_instance_ends_on_which_a_job_runs(
    jobs: int, *, ended: bool, answered: bool, broken: bool
) -> None:
    world = ScalewayWorld(lambda: 0.0, Random(1))
    checker = Checker(world, Trace(lambda: 0.0), most=2)
    checker.truth = guest = Guest(world)
    checker.jobs = lambda _: jobs
    checker.reported["m-1"] = Reported(key=b"", ended=0.0 if ended else None)
    guest.answers = answered
    checker.tick()
    guest.answers = True
    path = "/instance/v1/zones/fr-par-1/servers/00000000-0000-4000-8000-000000000001"
    checker.sends(HttpRequest(method="DELETE", path=path), network_down=False)
    assert (checker.first is not None) is broken
    assert checker.first is None or checker.first.invariant == "S6"


OWNER_TAG = OwnerTag(
    installation=InstallationId("i1"), fleet=FleetName("ci"), machine=machine_id(1), attempt=1
)


def _make_server(world: ScalewayWorld, tags: tuple[str, ...]) -> Server:
    body = {
        "project": world.options.project,
        "name": "s",
        "commercial_type": "DEV1-S",
        "image": "ubuntu_noble",
        "tags": tags,
    }
    request = HttpRequest(
        method="POST",
        path="/instance/v1/zones/fr-par-1/servers",
        headers=(("X-Auth-Token", SECRET),),
        body=msgspec.json.encode(body),
    )
    world.handle(request, "us")
    return list(world.cloud.servers)[-1]


def test_only_people_know_of_a_server_whose_tags_went_before_any_record_had_it() -> None:
    """Seed 5010354: its tags and its name were taken away before anybody saw it."""
    world = ScalewayWorld(lambda: 0.0, Random(1))
    ours = _make_server(world, tags_for(Owned(OWNER_TAG, Slot("server"))))
    strange = _make_server(world, ())
    truth = GroundTruth(world)
    truth.note()
    assert truth.taken(()) == []
    ours.tags, ours.name = [], "renamed"
    assert truth.taken(()) == [ours]
    assert truth.taken({ours.id}) == []
    assert strange.tags == []


def test_only_people_can_delete_a_server_that_nobody_knows_of_any_longer() -> None:
    """Seed 111000679: it counted as a server that the plugin did not delete (R2)."""
    world = ScalewayWorld(lambda: 0.0, Random(1))
    ours = _make_server(world, tags_for(Owned(OWNER_TAG, Slot("server"))))
    truth, name = GroundTruth(world), str(OWNER_TAG.machine)
    truth.note()
    assert not truth.deleting(name, ())
    ours.tags, ours.name = [], "renamed"
    assert truth.deleting(name, ())
    assert not truth.deleting(name, {ours.id})
    _make_server(world, tags_for(Owned(OWNER_TAG, Slot("server"))))
    truth.note()
    assert not truth.deleting(name, ())


def test_program_itself_deletes_a_volume_that_a_record_or_its_tags_explain() -> None:
    """Seed 5010354: the volume of that server was in a record, and its name had been ours."""
    world = ScalewayWorld(lambda: 0.0, Random(1))
    server = _make_server(world, ())
    truth, (volume,) = GroundTruth(world), server.volumes.values()
    assert truth.taken_volumes(server, ()) == [volume.id]
    assert truth.taken_volumes(server, {volume.id}) == []
    volume.tags = list(tags_for(Owned(OWNER_TAG, Slot("volume"))))
    assert truth.taken_volumes(server, ()) == []


def test_simulate_reports_seeds_of_a_runner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(provider=FLEETING, seeds=2, seed=5, days=0.005, jobs=1, json=True) == 0
    reported = msgspec.json.decode(capsys.readouterr().out, type=dict[str, object])
    assert (reported["seeds"], reported["failed"], reported["unreached_pairs"]) == (2, [], [])
    assert set(msgspec.convert(reported["unreached"], list[str])) <= set(ALL)


def test_simulate_tells_how_to_see_a_failure_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(provider=FLEETING, seeds=1, seed=3, jobs=1, bug="running-at-once") == 1
    again = "again: hostler simulate --seeds 1 --seed 3 --provider fleeting --bug running-at-once"
    assert again in capsys.readouterr().out


def test_simulate_knows_the_mutants_of_each_provider(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(provider=FLEETING, bug="no-rollback") == 2
    assert "key-lost" in capsys.readouterr().err
    assert main(bug="key-lost") == 2
    assert "no-rollback" in capsys.readouterr().err
