"""Private networks of Macs: ready when VLANs are known, and out of them before it is free."""

from datetime import timedelta

from hostler.lab.scenes.macs import FLEET
from hostler.lab.scenes.servers import Rig, play
from hostler.providers.scaleway.macs.settings import MacTemplate

NETWORK = "5d1b4b2e-3c19-4f6a-9c86-0d94d7f2a111"
MINUTE = timedelta(minutes=1)


def test_a_host_is_ready_with_its_vlan_and_leaves_the_network_before_it_is_free() -> None:
    async def scene(rig: Rig) -> None:
        (mac_id,) = rig.world.stock_macs(1)
        mac = rig.world.console.mac(mac_id)
        template = MacTemplate(pool="pool-", networks=(NETWORK,))
        hostler = rig.mac_hostler(FLEET, template=template)
        for _ in range(120):
            await rig.clock.sleep(MINUTE / 2)
            if await hostler.ready():
                break
            nics = mac.attachments.values()
            assert not any(a.polls == 0 and a.status == "attached" for a in nics)
        assert [a.network_id for a in mac.attachments.values()] == [NETWORK]
        await hostler.scale(0)
        for _ in range(120):
            await rig.clock.sleep(MINUTE / 2)
            if mac.name.startswith("pool-"):
                assert not mac.attachments
                return
        raise AssertionError(mac.name)

    play(scene)


def test_no_network_is_listed_where_none_is_asked_for() -> None:
    async def scene(rig: Rig) -> None:
        rig.world.stock_macs(1)
        rig.mac_hostler(FLEET)
        await rig.clock.sleep(30 * MINUTE)
        assert rig.world.calls.get("mac.list")
        assert not any("network" in route for route in rig.world.calls)

    play(scene)
