"""SSH keys of a project of Macs: registered once, and on a host from its next wipe on."""

from datetime import timedelta

from macs_rig import POOL, ZONE, MacsRig

from hostler.ports.keys import RegistersKeys

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFf7c8FDU6v2PVjXXy7Nlb/jQt7+/K5MRxby53/PH/bp"


async def test_a_key_is_registered_once_and_reaches_a_host_with_its_next_wipe():
    rig = MacsRig()
    macs = await rig.open()
    assert isinstance(macs, RegistersKeys)
    (mac,) = rig.world.stock_macs(1, "M2-L", str(ZONE), POOL)
    for _ in range(3):
        assert (await macs.register_key(KEY, "hostler-macs")).well
    assert [one.name for one in rig.world.cloud.keys] == ["hostler-macs"]
    assert not rig.world.console.mac(mac).disk.keys
    before = rig.world.console.mac(mac).disk
    assert rig.world.console.do("reinstall", mac)
    await rig.wait(timedelta(hours=1))
    after = rig.world.console.mac(mac).disk
    assert after is not before
    assert [line.split()[1] for line in after.keys] == [KEY.split()[1]]
    assert (await macs.release_key(KEY, "hostler-macs")).well
    assert not list(rig.world.cloud.keys)
