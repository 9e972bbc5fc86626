"""What carries only a part of our owner tag: on record it is tagged again, else people are told."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName
from hostler.domain.model.resource import OrphanClass
from hostler.lab.scenes.servers import FLEET, Rig, play
from hostler.simulators.scaleway.state.inventory import touch

from .servers_by_hand import guest, made_by_hand

MINUTE = timedelta(minutes=1)
QUIET = 5 * MINUTE
RECLAIMS = replace(FLEET, reclaim=True)
CI = replace(RECLAIMS, name=FleetName("ci"))
Tags = Callable[[list[str]], list[str]]
PARTS: dict[str, Tags] = {
    "installation": lambda tags: tags[:1],
    "installation and fleet": lambda tags: tags[:2],
    "no attempt": lambda tags: tags[:3],
    "doubled": lambda tags: [*tags, tags[1]],
    "malformed": lambda tags: [*tags[:2], "hostler-machine=m-UPPER", tags[3]],
    "of another kind": lambda tags: [*tags[:3], "hostler-attempt=volume0.1"],
    "a second server": lambda tags: [*tags[:3], "hostler-attempt=server1.1"],
}
"""What is left of a server's tags: of the installation, the fleet, the machine and the attempt."""


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_what_is_on_no_record_is_told_with_what_hangs_on_it_and_left_alone(part: Tags) -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.hostler(RECLAIMS)
        await hostler.rests(1, 10 * MINUTE)
        stray = made_by_hand(rig, part(list(guest(rig).tags)))
        await rig.clock.sleep(QUIET)
        found = {str(orphan.resource): orphan for orphan in await hostler.store.orphans()}
        assert found.keys() == {stray.id, *(volume.id for volume in stray.volumes.values())}
        assert {orphan.cls for orphan in found.values()} == {OrphanClass.PARTIAL_TAG}
        assert all(orphan.price > 0 for orphan in found.values())
        assert all("write the whole tag back" in orphan.blocked for orphan in found.values())
        assert [len(m.places) for m in await hostler.machines()] == [3], "none of it is a machine's"
        await hostler.scale(2)
        await rig.clock.sleep(60 * MINUTE)
        assert await hostler.ready() == 2
        assert rig.world.cloud.servers.get(stray.id) is stray
        assert (await hostler.row()).condition == ""

    play(scene)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_what_is_on_record_is_tagged_again_and_is_no_orphan(part: Tags) -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.hostler(RECLAIMS)
        await hostler.rests(1, 10 * MINUTE)
        await rig.clock.sleep(QUIET)
        server = guest(rig)
        whole = set(server.tags)
        server.tags = part(list(server.tags))
        touch(rig.world.cloud, server)
        await rig.clock.sleep(timedelta(seconds=20))
        assert await hostler.store.orphans() == ()
        await rig.clock.sleep(QUIET)
        assert await hostler.store.orphans() == ()
        assert set(guest(rig).tags) == whole
        assert guest(rig) is server

    play(scene)


def test_another_account_of_the_project_does_not_tell_of_what_this_one_has() -> None:
    async def scene(rig: Rig) -> None:
        first = rig.hostler(CI)
        await first.rests(1, 10 * MINUTE)
        server = guest(rig)
        await first.stop()
        server.tags = list(server.tags)[:1]
        touch(rig.world.cloud, server)
        second = rig.hostler(RECLAIMS, first.store)
        await rig.clock.sleep(10 * MINUTE)
        assert await second.ready() == 1
        assert await second.store.orphans() == ()
        await second.stop()

    play(scene)
