"""A roll of Macs in a simulation: what it comes to, and what its judge does not let pass."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.resource import Stage
from hostler.lab.kubernetes.faults import ClusterScenario, draw_cluster
from hostler.lab.kubernetes.rolls.course import RollCourse
from hostler.lab.kubernetes.rolls.environment import FLOOR
from hostler.lab.macs.names import HostName
from hostler.lab.mutants.rolls import MUTANTS
from hostler.lab.scenario.faults import HOUR, Size
from hostler.lab.scenario.run import play
from hostler.ports.http import HttpRequest


class Watched(RollCourse):
    """A roll that notes when it is over: when each Machine of before has gone."""

    over: float = 0.0

    def _tick(self) -> None:
        super()._tick()
        names = {str(one["metadata"]["name"]) for one in self.environment.site.hostler_machines()}
        if not self.over and self._old and not names & self._old:
            self.over = self.loop.time()


def scenario() -> ClusterScenario:
    return MUTANTS["roll-ends-its-hosts"].scenario(draw_cluster(1, Size()))


def test_a_roll_inside_the_floor_is_over_long_before_it_and_deletes_no_host(
    tmp_path: Path,
) -> None:
    drawn = scenario()
    assert drawn.roll is not None
    course = Watched(drawn, drawn.roll, tmp_path)
    result = play(course)
    assert result.violation is None, "\n".join(result.story)
    floors = [FLOOR - age for age in drawn.roll.ages]
    assert drawn.roll.at < course.over < min(drawn.roll.at + 2 * HOUR, *floors)
    macs = list(course.environment.world.cloud.macs)
    assert [mac.ended for mac in macs] == [None for _ in drawn.roll.ages]


@dataclass
class Judged:
    """A roll that was opened, and the first law that does not hold."""

    course: RollCourse

    @property
    def law(self) -> str:
        first = self.course.environment.roll_checker.first
        return "" if first is None else first.invariant


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Judged]:
    drawn = scenario()
    assert drawn.roll is not None
    made = Judged(RollCourse(drawn, drawn.roll, tmp_path))
    made.course.session.found_home(replicas=1)
    yield made
    made.course.loop.close()


@pytest.mark.parametrize(("method", "law"), [("DELETE", "released"), ("GET", "")])
def test_nobody_asks_for_the_end_of_a_host(judged: Judged, method: str, law: str) -> None:
    checker = judged.course.environment.roll_checker
    (mac, *_) = judged.course.environment.world.cloud.macs
    path = f"/apple-silicon/v1alpha1/zones/{mac.zone}/servers/{mac.id}"
    checker.asked(checker.shadows[0], HttpRequest(method=method, path=path), holds_lease=True)
    assert judged.law == law


COPIED = HostName(
    stage=Stage.CLAIMED,
    installation=InstallationId("i1"),
    fleet=FleetName("macs"),
    machine=MachineId("m-aaaaaaaaaa"),
    pool="0" * 6,
)


class Counting(RollCourse):
    """A roll that says how many Macs count as there for it."""

    @property
    def many(self) -> int:
        return len(self._whole())


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("POOLother", True),
        ("renamed by hand 7", False),
        (str(COPIED), True),  # it never had that machine
    ],
)
def test_no_more_are_wanted_than_people_left_to_hostler(
    tmp_path: Path, name: str, *, counts: bool
) -> None:
    """Kubernetes 238046827: two Macs of three bore other names, and two were wanted."""
    drawn = scenario()
    assert drawn.roll is not None
    course = Counting(drawn, drawn.roll, tmp_path)
    with closing(course.loop):
        course.session.found_home(replicas=1)
        world, checker = course.environment.world, course.environment.roll_checker
        (mac, *others) = world.cloud.macs
        assert not list(checker.truth.changes())
        (pool,) = drawn.roll.macs.pools
        world.console.rename(mac.id, name.replace("POOL", pool))
        assert [change.what for change in checker.truth.changes()] == ["renamed"]
        assert course.many == len(others) + counts


def test_an_object_that_is_to_go_does_so_soon(judged: Judged) -> None:
    checker, loop = judged.course.environment.roll_checker, judged.course.loop
    going = {"metadata": {"name": "worker-1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    async def wait(hours: float) -> None:
        checker.objects([going])
        await asyncio.sleep(hours * HOUR)
        judged.course.environment.world.advance()
        checker.objects([going])

    loop.run_until_complete(wait(1.4))
    assert judged.law == ""
    loop.run_until_complete(wait(0.2))
    assert judged.law == "leaves"
