"""Whole engines over boxes: a group's maximum follows what people want of the boxes."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.metal import MetalScene
from hostler.queries.live import EngineRecords
from hostler.testing.scenes.builders import FLEET, MIN

pytestmark = pytest.mark.looptime

NODES = replace(FLEET, size=1, maximum=10)


async def test_a_box_that_is_in_maintenance_is_no_room_until_that_ends() -> None:
    scene = MetalScene(NODES, boxes=3)
    async with scene.running() as engine:
        records = EngineRecords(engine.loops[0], NODES.name)
        await scene.until([Phase.READY], 10 * MIN)
        (machine,) = await scene.machines()

        def room() -> int | None:
            return records.room(NODES, scene.clock.now())

        async def maintain(box: str) -> None:
            asked = replace(
                scene.blank(RequestKind.HOLD),
                host=HostId(box),
                hold=HoldKind.MAINTENANCE,
                until=until,
            )
            await scene.store.request(asked)
            await scene.pass_by(MIN)

        assert room() == 3
        until = scene.clock.now() + timedelta(hours=1)
        assert machine.host is not None
        await maintain(next(f"box-{n}" for n in (1, 2, 3) if f"box-{n}" != machine.host))
        assert room() == 2
        await maintain(machine.host)
        assert room() == 2, "the machine that is up there stays a node"
        await scene.pass_by(timedelta(hours=1))
        assert room() == 3


async def test_boxes_that_were_not_observed_since_the_lead_was_taken_are_no_less_room() -> None:
    """Cluster Autoscaler was told of fewer nodes for a moment, at each takeover (208000088)."""
    scene = MetalScene(NODES, boxes=3)
    async with scene.running() as engine:
        (loop,) = engine.loops
        records = EngineRecords(loop, NODES.name)
        await scene.until([Phase.READY], 10 * MIN)
        assert records.room(NODES, scene.clock.now()) == 3
        loop.state.forget_observations()
        assert records.room(NODES, scene.clock.now()) is None
        await scene.pass_by(MIN)
        assert records.room(NODES, scene.clock.now()) == 3
