"""While nothing moves a provider is asked as seldom as it says, and at once when something does."""

from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.capabilities import PowerLimits
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, Observation, Scope
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.metal import MetalScene
from hostler.ports.provider import Provider
from hostler.requests.recording import refusals
from hostler.testing.fakes.metal import FakeMetal
from hostler.testing.fakes.metal_planner import SWITCH_ON
from hostler.testing.scenes.builders import FLEET, MIN, S

pytestmark = pytest.mark.looptime

BOX = HostId("box-1")
ROUNDS_APART = timedelta(milliseconds=250)


class Counted(FakeMetal):
    """A rack that notes when all of its boxes are asked."""

    asked: list[float]

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        if any((scope.kind, scope.machine) == ("host", None) for scope in scopes):
            self.asked.append(self.rack.world.clock.boot())
        return await super().observe(scopes)


class Quiet(MetalScene):
    """A rack of two boxes whose provider wants a pause of a minute."""

    def counted(self) -> Counted:
        metal = Counted(self.rack, replace(self.metal.capabilities, quiet=timedelta(minutes=1)))
        metal.asked = []
        self.metal = metal
        return metal

    def served(self) -> Provider:
        return self.metal


async def test_no_box_is_asked_more_than_once_a_minute_while_nothing_moves() -> None:
    scene = Quiet(replace(FLEET, size=1))
    metal = scene.counted()
    async with scene.running():
        await scene.until([Phase.READY], 5 * MIN)
        await scene.pass_by(5 * MIN)
        metal.asked.clear()
        await scene.pass_by(60 * MIN)
    assert 55 <= len(metal.asked) <= 60
    gaps = [later - earlier for earlier, later in pairwise(metal.asked)]
    assert min(gaps) >= 60.0


async def test_what_is_asked_for_is_seen_at_once_however_long_the_pause() -> None:
    scene = Quiet(replace(FLEET, size=0))
    metal = scene.counted()
    async with scene.running():
        await scene.pass_by(10 * MIN)
        metal.asked.clear()
        await scene.request(RequestKind.SCALE, size=1)
        took = await scene.until([Phase.READY], 5 * MIN)
    assert took <= 30 * S
    assert metal.asked


async def test_a_box_that_is_asked_for_is_switched_on_without_a_pause() -> None:
    """A machine is made, gets its box and is begun: each of these waited for a pause of its own."""
    scene = Quiet(replace(FLEET, size=0))
    scene.counted()
    async with scene.running():
        await scene.pass_by(10 * MIN)
        begun = scene.clock.now()
        await scene.request(RequestKind.SCALE, size=1)
        await scene.until([Phase.READY], 5 * MIN)
    (on,) = [at for at, kind, _ in scene.world.journal if kind == SWITCH_ON]
    assert on - begun < ROUNDS_APART


async def test_what_is_refused_for_what_was_seen_of_a_box_is_refused_for_what_is_seen_now() -> None:
    """Somebody had switched it on by hand: to switch it off and on was refused, as it was off."""
    scene = Quiet(replace(FLEET, size=0), power=PowerLimits(least_on=60 * MIN))
    scene.counted()
    async with scene.running():
        await scene.pass_by(10 * MIN)
        scene.rack.switch_on(ResourceId(BOX))
        await scene.pass_by(20 * S)
        asked = await scene.store.request(replace(scene.blank(RequestKind.CYCLE), host=BOX))
        await scene.pass_by(10 * S)
        assert await refusals(scene.store, 0, {asked.number}) == {}
        assert await scene.store.requests() == ()


async def test_a_box_that_is_to_be_cleaned_does_not_wait_for_the_pause() -> None:
    """What proves that it is clean comes with the next observation: it went off a minute late."""
    scene = Quiet(replace(FLEET, size=1))
    scene.settings = replace(scene.settings, quiet=2 * S)
    scene.counted()
    async with scene.running():
        await scene.until([Phase.READY], 5 * MIN)
        await scene.pass_by(5 * MIN)
        await scene.request(RequestKind.SCALE, size=0)
        await scene.until([], 5 * MIN)
        await scene.pass_by(15 * S)
        assert [box.condition for box in scene.rack.boxes()] == [Condition.OFF] * 2
