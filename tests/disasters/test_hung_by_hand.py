"""What somebody hangs on a server of ours by hand stays theirs: disks and addresses alike.

A disk was tagged as the machine's own, and deleted with it; an address was deleted at once.
"""

from datetime import timedelta

import pytest

from hostler.lab.scenes.servers import ALL_RESOURCES, PLAIN, ZONE, Rig, play
from hostler.providers.scaleway.common.settings import Template

from .servers_by_hand import ask, guest

MINUTE = timedelta(minutes=1)
GIGABYTE = 10**9


@pytest.mark.parametrize("template", [PLAIN, ALL_RESOURCES], ids=["plain", "all"])
def test_a_disk_outlives_the_machine_that_somebody_hung_it_on(template: Template) -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.hostler(template=template)
        await hostler.rests(1, 10 * MINUTE)
        size, project = {"size": 20 * GIGABYTE}, rig.world.options.project
        body: dict[str, object] = {"name": "theirs", "project_id": project, "from_empty": size}
        disk = str(ask(rig, "POST", f"/block/v1/zones/{ZONE}/volumes", body)["id"])
        await rig.clock.sleep(MINUTE)
        path = f"/instance/v1/zones/{ZONE}/servers/{guest(rig).id}/attach-volume"
        ask(rig, "POST", path, {"volume_id": disk, "volume_type": "sbs_volume"})
        await rig.clock.sleep(5 * MINUTE)
        (theirs,) = [volume for volume in rig.world.cloud.volumes if volume.id == disk]
        assert theirs.tags == []
        await hostler.scale(0)
        await rig.clock.sleep(10 * MINUTE)
        assert await hostler.machines() == ()
        assert [volume.id for volume in rig.world.cloud.volumes] == [disk]
        assert await hostler.store.orphans() == ()

    play(scene)


def test_an_address_outlives_the_machine_that_somebody_hung_it_on() -> None:
    async def scene(rig: Rig) -> None:
        hostler = rig.hostler()
        await hostler.rests(1, 10 * MINUTE)
        body: dict[str, object] = {"project": rig.world.options.project, "type": "routed_ipv4"}
        path = f"/instance/v1/zones/{ZONE}/ips"
        address = str(ask(rig, "POST", path, body)["ip"]["id"])
        ask(rig, "PATCH", f"{path}/{address}", {"server": guest(rig).id})
        await rig.clock.sleep(5 * MINUTE)
        assert len(guest(rig).addresses) == 2
        assert await hostler.ready() == 1
        await hostler.scale(0)
        await rig.clock.sleep(10 * MINUTE)
        assert await hostler.machines() == ()
        assert [one.id for one in rig.world.cloud.addresses] == [address]

    play(scene)
