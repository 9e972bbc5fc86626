"""A server whose creation's answer was lost, and whose tags were gone before anybody looked.

Nothing but its root volume's name, and its own, says whose it is.
"""

import dataclasses
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.lab.scenes.servers import FLEET, Rig, play
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.simulators.scaleway.faults.rates import Rule

MINUTE = timedelta(minutes=1)
BLOCK = Template(image="ubuntu_noble", cloud_init="#cloud-config")
LOCAL = dataclasses.replace(BLOCK, root=Disk(size=20, type="l_ssd"))


def untagged(rig: Rig, count: int = 1) -> None:
    rig.world.script(Rule(fault="made_untagged", route="server.create", count=count))


@pytest.mark.parametrize("template", [BLOCK, LOCAL], ids=["block", "local"])
def test_its_machine_finds_it_and_goes_on_with_it(template: Template) -> None:
    async def scene(rig: Rig) -> None:
        untagged(rig)
        hostler = rig.hostler(template=template)
        await hostler.rests(1, 10 * MINUTE)
        (server,) = rig.servers()
        assert server.tags == ()
        assert rig.world.calls["server.create"] == 1
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_it_goes_with_a_machine_that_ends_meanwhile() -> None:
    async def scene(rig: Rig) -> None:
        untagged(rig)
        hostler = rig.hostler()
        while not rig.servers():
            await rig.clock.sleep(timedelta(milliseconds=100))
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_where_no_record_is_left_of_it_the_orphan_report_tells() -> None:
    """Its installation's store was lost: the parts are another's by then, and are told."""

    async def scene(rig: Rig) -> None:
        untagged(rig)
        hostler = rig.hostler()
        while not rig.servers():
            await rig.clock.sleep(timedelta(milliseconds=100))
        await hostler.stop()
        heir = rig.hostler(replace(FLEET, size=0))
        await rig.clock.sleep(2 * MINUTE)
        reported = {orphan.resource: orphan for orphan in await heir.store.orphans()}
        assert reported.keys() == {leak.id for leak in rig.world.leaks()}
        (server,) = rig.servers()
        assert "another installation" in reported[ResourceId(server.id)].blocked

    play(scene)
