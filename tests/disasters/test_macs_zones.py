"""Zones of Macs: hosts of our records are looked at also where no fleet asks for them any more."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.model.machine import Offer
from hostler.lab.scenes.macs import FLEET, POOL, MacRig, play_macs, stage
from hostler.lab.scenes.servers import Zone

OTHER = Zone("fr-par-3")


def test_a_host_in_a_zone_that_is_configured_no_more_is_put_back_after_its_wipe() -> None:
    async def scene(s: MacRig) -> None:
        (far,) = s.rig.world.stock_macs(1, "M1-M", OTHER, POOL)
        s.mac(far).os = next(
            image for image in s.rig.world.cloud.os_images if image.name == "macos-sequoia-15.7"
        )
        both = s.hostler(replace(FLEET, offers=(Offer("M1-M", OTHER, "Sequoia"),)))
        await s.ready(both, 1)
        await both.scale(0)

        async def wiping() -> bool:
            return stage(s.mac(far)) == "wiping" and not await both.machines()

        await s.until(wiping, timedelta(hours=1))
        await both.stop()
        s.truth.hostlers.remove(both)
        await s.all_free(s.hostler(replace(FLEET, size=0), both.store))
        assert s.mac(far).name.startswith(POOL)

    play_macs(scene)
