"""What the judge of metal says of boxes that machines take: are they clean, and off for long?"""

import asyncio
from collections.abc import Generator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Observation
from hostler.lab.checks.shadow_store import shadow_for
from hostler.lab.checks.trace import Trace
from hostler.lab.metal.checker import MetalChecker
from hostler.lab.metal.environment import ZONE
from hostler.lab.metal.faults import draw_metal
from hostler.lab.metal.ground_truth import MetalTruth
from hostler.lab.scenario.faults import Size
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.fakes.world import FakeWorld
from hostler.testing.scenes.builders import FLEET, HOME, machine
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

BOX = HostId("box-1")


class Here:
    """One box that a command cleans, and the judge of who has it."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        rack = MetalWorld(FakeWorld(SimClock(self.loop)))
        self.box = rack.add(BOX, ZONE)
        self.truth = MetalTruth(rack, self.loop)
        drawn = draw_metal(1, Size())
        power = replace(drawn.power, least_off=timedelta(minutes=5))
        scenario = replace(drawn, cleaning=Cleaning.COMMAND, power=power)
        self.judge = MetalChecker(self.truth, Trace(self.loop.time), 60.0, scenario)
        self.shadow = shadow_for(HOME, (FLEET,), 60.0)
        self.judge.shadows.append(self.shadow)

    def last(self, **time: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(timedelta(**time).total_seconds()))

    def takes(self, number: int) -> Machine:
        """Let a machine take the box; the judge has then said what it has to say of that."""
        taker = replace(machine(number), host=BOX, phase=Phase.STARTING)
        self.shadow.bindings[BOX] = taker.id
        self.judge.machine_saved(self.shadow, taker, ())
        return taker

    def leaves(self, leaver: Machine) -> None:
        for phase in (Phase.STOPPING, Phase.DELETED):
            self.judge.machine_saved(self.shadow, replace(leaver, phase=phase), ())
        del self.shadow.machines[leaver.id], self.shadow.bindings[BOX]

    def wrong(self) -> str | None:
        """Return the law that did not hold since the last time that this was asked."""
        first, self.judge.first = self.judge.first, None
        return first.invariant if first else None


@pytest.fixture
def here() -> Generator[Here]:
    here = Here()
    yield here
    here.loop.close()


def _ran(here: Here) -> Machine:
    """Let a machine take the box and have it on for a while."""
    runner = here.takes(1)
    here.truth.rack.switch_on(here.box)
    here.last(minutes=10)
    here.truth.rack.switch_off(here.box)
    here.last(minutes=10)
    return runner


@pytest.mark.parametrize("cleaned", [True, False])
def test_a_box_on_which_a_machine_ran_is_clean_once_it_was_cleaned(
    here: Here, *, cleaned: bool
) -> None:
    here.leaves(_ran(here))
    here.last(minutes=10)
    if cleaned:
        here.truth.cleanings[BOX] = here.truth.now
    here.takes(2)
    assert here.wrong() == (None if cleaned else "S12")


def test_a_box_that_was_off_while_a_machine_had_it_is_as_clean_as_before(here: Here) -> None:
    here.last(minutes=10)
    here.leaves(here.takes(1))
    here.takes(2)
    assert here.wrong() is None


def test_and_as_dirty_as_before(here: Here) -> None:
    here.leaves(_ran(here))
    here.leaves(here.takes(2))
    assert here.wrong() == "S12"
    here.takes(3)
    assert here.wrong() == "S12"


@pytest.mark.parametrize(
    ("stood_still", "listed", "wrong"),
    [(False, False, "power"), (True, True, "power"), (True, False, None)],
)
def test_a_box_is_taken_once_it_was_off_for_long_enough_as_far_as_anybody_may_know(
    here: Here, *, stood_still: bool, listed: bool, wrong: str | None
) -> None:
    here.truth.rack.switch_on(here.box)
    here.last(minutes=10)
    here.truth.rack.cut(here.box)
    here.last(minutes=2)
    if stood_still:
        here.judge.struck("paused")
    if listed:
        here.judge.observed(Observation(observed=(), resources=here.truth.rack.boxes()))
    here.takes(1)
    assert here.wrong() == wrong
