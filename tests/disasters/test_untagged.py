"""A server whose creation's answer was lost, and whose tags were gone before anybody looked.

Nothing but its root volume's name, and its own, says whose it is.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.ids import ResourceId
from hostler.lab.scenes.servers import FLEET, Stand, play
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.simulators.scaleway.faults.rates import Rule

MINUTE = timedelta(minutes=1)
BLOCK = Template(image="ubuntu_noble", cloud_init="#cloud-config")
LOCAL = replace(BLOCK, root=Disk(size=20, type="l_ssd"))


def untagged(stand: Stand, count: int = 1) -> None:
    stand.world.script(Rule(fault="made_untagged", route="server.create", count=count))


@pytest.mark.parametrize("template", [BLOCK, LOCAL], ids=["block", "local"])
def test_its_machine_finds_it_and_goes_on_with_it(template: Template) -> None:
    async def scene(stand: Stand) -> None:
        untagged(stand)
        hostler = stand.hostler(template=template)
        await hostler.rests(1, 10 * MINUTE)
        (server,) = stand.servers()
        assert server.tags == ()
        assert stand.world.calls["server.create"] == 1
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_it_goes_with_a_machine_that_ends_meanwhile() -> None:
    async def scene(stand: Stand) -> None:
        untagged(stand)
        hostler = stand.hostler()
        while not stand.servers():
            await stand.clock.sleep(timedelta(milliseconds=100))
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


def test_where_no_record_is_left_of_it_the_orphan_report_tells() -> None:
    """Its installation's store was lost: the parts are another's by then, and are told."""

    async def scene(stand: Stand) -> None:
        untagged(stand)
        hostler = stand.hostler()
        while not stand.servers():
            await stand.clock.sleep(timedelta(milliseconds=100))
        await hostler.stop()
        heir = stand.hostler(replace(FLEET, size=0))
        await stand.clock.sleep(2 * MINUTE)
        told = {orphan.resource: orphan for orphan in await heir.store.orphans()}
        assert told.keys() == {leak.id for leak in stand.world.leaks()}
        (server,) = stand.servers()
        assert "another installation" in told[ResourceId(server.id)].blocked

    play(scene)
