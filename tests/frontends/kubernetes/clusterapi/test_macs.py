"""Rolls of Macs that cannot be deleted for now: the records roll, and the hosts stay (origin 002).

Core is modelled: with `OnDelete` it makes a new Machine when an old one has left.
"""

import asyncio

import pytest
from core_kit import Cluster
from msgspec.structs import replace
from roll_kit import LONGEST_CLAIM, MACS, Roll, play_adoption, play_roll

from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.kubernetes.clusterapi.names import FORMER_RELEASE_POLICY, RELEASE_POLICY
from hostler.lab.scenes.macs import MINUTE, POOL, MacRig, play_macs


def test_six_macs_inside_their_floor_roll_in_the_time_of_their_claims() -> None:
    async def scene(roll: Roll) -> None:
        names = [roll.add() for _ in range(6)]
        await roll.come(names, LONGEST_CLAIM)
        for old in names:
            begun = roll.now()
            await roll.cluster.deleted(old, 10 * MINUTE)
            left = roll.now() - begun
            await roll.come([roll.add()], LONGEST_CLAIM)
            assert left < MINUTE, left
        assert not any(mac.deletion_scheduled for mac in roll.rig.macs())

    play_roll(scene, 12)


def test_a_full_pool_rolls_too_one_wipe_after_the_other() -> None:
    async def scene(roll: Roll) -> None:
        names = [roll.add() for _ in range(2)]
        await roll.come(names, 60 * MINUTE)
        for old in names:
            await roll.cluster.deleted(old, 10 * MINUTE)
            await roll.come([roll.add()], 90 * MINUTE)

    play_roll(scene, 2)


def test_a_mac_is_not_asked_for_with_data_that_only_cloud_init_reads() -> None:
    async def scene(roll: Roll) -> None:
        roll.cluster.secret("config", b"#cloud-config\nruncmd: [true]\n")
        roll.cluster.machine("mac-0", secret="config")
        await roll.cluster.until(
            lambda: roll.cluster.ready("mac-0") == "BootstrapFormatUnsupported"
        )
        assert await roll.cluster.machines() == ()
        assert await roll.cluster.scene.store.requests() == ()

    play_roll(scene, 1)


@pytest.mark.parametrize("name_of_policy", [RELEASE_POLICY, FORMER_RELEASE_POLICY])
def test_a_host_that_is_given_up_keeps_nobody_waiting_until_it_may_be_deleted(
    name_of_policy: str,
) -> None:
    async def scene(roll: Roll) -> None:
        (name,) = (roll.add(),)
        await roll.come([name], 60 * MINUTE)
        annotations = {name_of_policy: "terminate"}
        roll.cluster.api.change("HostlerMachine", name, metadata={"annotations": annotations})
        await roll.cluster.deleted(name, 10 * MINUTE)
        await roll.rig.until(lambda: _scheduled(roll), 60 * MINUTE)
        assert not any(mac.name.startswith(POOL) for mac in roll.rig.macs())

    play_roll(scene, 1)


@pytest.mark.parametrize("policy", ["", "terminate"], ids=["released", "given up"])
@pytest.mark.parametrize("point", range(1, 4))
def test_a_crash_at_any_answer_of_a_deletion_leaves_its_mac_where_it_belongs(
    policy: str, point: int
) -> None:
    """The provider dies at the n-th await of either branch, and another one begins."""

    async def whole(rig: MacRig) -> None:
        hostler = rig.hostler(MACS)
        await asyncio.sleep(5)
        cluster = Cluster(hostler)
        cluster.engine = hostler.engine
        cluster.cluster()
        cluster.secret()
        async with cluster.provided() as first:
            roll = Roll(rig, cluster, first)
            name = roll.add()
            await roll.come([name], 60 * MINUTE)
            annotations = {RELEASE_POLICY: policy} if policy else None
            cluster.api.change("HostlerMachine", name, metadata={"annotations": annotations})
            cluster.api.crash_at = point
            cluster.api.delete("Machine", name)
            cluster.api.delete("HostlerMachine", name)
            await asyncio.wait([first], timeout=120)
            assert cluster.api.crash_at == 0, "it died"
            assert cluster.api.raw("HostlerMachine", name) is not None, "before it was done"
        cluster.api.crash_at = None
        async with cluster.provided():
            await cluster.until(lambda: cluster.api.raw("HostlerMachine", name) is None)
            if policy:
                await rig.until(lambda: _scheduled(roll), 60 * MINUTE)
            else:
                await rig.all_free(hostler, 180 * MINUTE)
                assert not any(mac.deletion_scheduled for mac in rig.macs())

    play_macs(whole, 1)


async def _scheduled(roll: Roll) -> bool:
    return all(mac.deletion_scheduled for mac in roll.rig.macs())


# ---------------------------------------------------------------- origin 001


def test_a_mac_whose_object_was_removed_by_force_goes_back_to_its_pool() -> None:
    """It is released and wiped as after any other end, and nothing is deleted at the provider."""

    async def scene(roll: Roll) -> None:
        name = roll.add()
        await roll.come([name], 60 * MINUTE)
        (before,) = [mac for mac in roll.rig.macs() if not mac.name.startswith(POOL)]
        installs = before.installs
        roll.cluster.api.vanish("HostlerMachine", name)
        roll.cluster.api.vanish("Machine", name)
        await roll.rig.all_free(roll.rig.truth.hostlers[0], 180 * MINUTE)
        after = roll.rig.mac(before.id)
        assert after.name.startswith(POOL)
        assert after.installs == installs + 1
        assert not after.deletion_scheduled

    play_roll(scene, 2, replace(MACS, reclaim=True))


def test_a_host_whose_former_machine_is_lost_is_provisioned_once_that_is_gone() -> None:
    """It has the providerID of before, and the lost Machine would take its Node along."""

    async def scene(roll: Roll) -> None:
        lost = roll.add()
        await roll.come([lost], 60 * MINUTE)
        (machine,) = await roll.cluster.machines()
        await roll.rig.truth.hostlers[0].request(RequestKind.DELETE, machine=machine.id)
        await roll.cluster.until(lambda: roll.cluster.ready(lost) == "MachineLost", 60 * MINUTE)
        new = roll.add()
        await roll.cluster.until(lambda: roll.cluster.ready(new) == "IdentityTaken", 120 * MINUTE)
        await asyncio.sleep(600)
        assert not roll.cluster.is_provisioned(new)
        await roll.cluster.deleted(lost, 10 * MINUTE)
        await roll.come([new], 10 * MINUTE)

    play_adoption(scene)
