"""New machines are saved last: while the record of a lost one cannot be, none is made for it."""

import asyncio

import pytest
from msgspec.structs import replace

from hostler.domain.errors import StoreBusy
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Caps
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.scenes.fake import FakeScene
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.planner import MAKE_SERVER
from hostler.testing.scenes.builders import FLEET, HOME, MIN, S

pytestmark = pytest.mark.looptime

EAGER = Caps(share=1.0, per_hour=1000, per_reclaim=1000)


class Busy(MemoryStore):
    """A store that saves no record of a machine while it is busy; rows it saves."""

    busy = False
    refused = 0

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        if self.busy:
            self.refused += 1
            raise StoreBusy("database is locked")
        return await super().save_machine(machine, events, fence)


async def test_replacement_is_made_only_once_the_loss_of_the_other_is_on_record() -> None:
    """Else each turn of such a minute would buy one more."""
    rig = FakeScene(replace(FLEET, size=2, caps=EAGER))
    rig.store = store = Busy(HOME)
    async with rig.running():
        await rig.until([Phase.READY] * 2, 60 * S)
        await rig.pass_by(5 * MIN)
        before = [machine.id for machine in await rig.machines()]
        lost = rig.world.servers()[0].id
        rig.world.become(lost, Condition.OFF)
        async with asyncio.timeout(60):
            while not any(machine.health.doubt for machine in await rig.machines()):
                await rig.pass_by(0.1 * S)
        store.busy = True
        async with asyncio.timeout(60):
            while store.refused < 3:
                await rig.pass_by(0.1 * S)
        refused = store.refused
        await rig.pass_by(5 * MIN)
        assert 5 < store.refused - refused < 50, "it is tried again, at its pace"
        (row,) = await store.fleets()
        assert len(row.creations) == 2, "what was not tried is not counted"
        assert [machine.id for machine in await rig.machines()] == before
        store.busy = False
        async with asyncio.timeout(60):
            while lost in rig.world.resources:
                await rig.pass_by(0.1 * S)
        await rig.until([Phase.READY] * 2, 5 * MIN)
    assert len(rig.calls(MAKE_SERVER)) == 3
