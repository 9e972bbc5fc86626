"""Drift on the fake provider: an address that hangs on nothing, and a server of another type."""

import pytest
from msgspec.structs import replace

from hostler.domain.model.phases import Phase
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.fakes.planner import ADDRESS, ATTACH_ADDRESS
from hostler.testing.scenes.builders import FLEET, MIN, S

pytestmark = pytest.mark.looptime


async def test_an_address_that_was_taken_off_is_attached_again_once() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    async with rig.running():
        await rig.until([Phase.READY], 60 * S)
        await rig.pass_by(3 * MIN)
        (address,) = [r for r in rig.world.resources.values() if r.slot == ADDRESS]
        rig.world.resources[address.id] = replace(address, owner=None)
        await rig.pass_by(30 * S)
        assert not rig.calls(ATTACH_ADDRESS), "it was seen once"
        await rig.pass_by(3 * MIN)
        assert rig.calls(ATTACH_ADDRESS) == [ATTACH_ADDRESS]
        assert rig.world.resources[address.id].owner == address.owner
        assert len(await rig.events("drift")) == len(await rig.events("drift_over")) == 1


async def test_a_server_of_another_type_is_told_once_and_left() -> None:
    rig = FakeScene(replace(FLEET, size=1))
    async with rig.running():
        await rig.until([Phase.READY], 60 * S)
        await rig.pass_by(3 * MIN)
        (server,), calls = rig.world.servers(), rig.calls()
        rig.world.resources[server.id] = replace(server, type="another")
        await rig.pass_by(10 * MIN)
        assert rig.calls() == calls
        assert len(await rig.events("drift")) == 1
