"""Systems: a host gets the family that its fleet asks for, or is not claimed; it is always wiped.

A2, B1 and B5 are defects of the reference, section 18; #12351 is one of its incidents.
"""

from datetime import timedelta

from hostler.lab.scenes.macs import MINUTE, MacRig, changes, play_macs, stage
from hostler.simulators.scaleway.faults.rates import Rule

ALWAYS = 1_000_000


def test_a2_a_missing_image_is_no_missing_host() -> None:
    """A2: a not_found that named the image was taken for the host's end, and no wipe followed."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        s.rig.world.script(Rule(fault="mac_os_not_found", route="mac.reinstall", count=3))
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.rig.world.faults["mac_os_not_found"] == 3
        assert s.mac().installs == 3
        (host,) = await hostler.store.hosts()
        assert host.condition == "free"

    play_macs(scene)


def test_a2_a_family_that_is_no_longer_published_keeps_no_host_from_being_wiped() -> None:
    """A2 and #12351: all images of the family are retired while the host is used."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        for image in list(s.rig.world.cloud.os_images):
            if image.family == "Tahoe":
                s.rig.world.console.retire_image(image.id)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac().installs == 3
        assert s.mac().os.family == "Sequoia", "what the type boots where nothing is asked for"

    play_macs(scene)


def test_a2_while_no_image_is_found_a_host_stays_on_its_way_and_that_is_told() -> None:
    """It is freed by nothing but a wipe, however long that is refused, and soon after it is not."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        s.rig.world.script(Rule(fault="mac_os_not_found", route="mac.reinstall", count=ALWAYS))
        await hostler.scale(0)
        await s.rig.clock.sleep(120 * MINUTE)
        assert stage(s.mac()) == "releasing"
        alarms = [entry.event for entry in await hostler.events() if entry.event.kind == "alarm"]
        assert any("not_found" in event.detail for event in alarms)
        s.rig.world.clear_fault_rates()
        await s.all_free(hostler)

    play_macs(scene)


def test_a2_the_newest_image_that_is_still_published_is_installed() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        assert s.mac().os.name == "macos-tahoe-26.6.1"
        s.rig.world.console.retire_image("macos-tahoe-26.6.1")
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac().os.name == "macos-tahoe-26.5"

    play_macs(scene)


def test_12351_a_family_that_is_no_longer_published_is_not_claimed_as_another() -> None:
    """No host is touched for a system that it could not get; one that is clean is still taken."""

    async def scene(s: MacRig) -> None:
        for image in list(s.rig.world.cloud.os_images):
            if image.family == "Tahoe":
                s.rig.world.console.retire_image(image.id)
        hostler = s.hostler()
        await s.rig.clock.sleep(30 * MINUTE)
        assert not changes(s.rig)
        assert not await hostler.ready()
        details = [entry.event.detail for entry in await hostler.events()]
        assert any("OSPinUnavailable" in text for text in details)

    play_macs(scene)


def test_12351_a_clean_host_needs_no_image() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        await hostler.scale(0)
        await s.all_free(hostler)
        for image in list(s.rig.world.cloud.os_images):
            if image.family == "Tahoe":
                s.rig.world.console.retire_image(image.id)
        await hostler.scale(1)
        await s.ready(hostler, 1, 5 * MINUTE)
        assert s.mac().os.family == "Tahoe"

    play_macs(scene)


def test_b1_a_wipe_of_somebody_elses_to_another_system_does_for_no_claim() -> None:
    """Its `reinstalling` is seen after our call was refused: what comes of it is looked at."""

    async def scene(s: MacRig) -> None:
        rule = Rule(fault="transient_409", route="mac.reinstall", says="reinstalling")
        s.rig.world.script(rule)
        hostler = s.hostler()
        while not s.rig.world.faults.get("transient_409"):
            await s.rig.clock.sleep(timedelta(milliseconds=100))
        mac, images = s.mac(), s.rig.world.cloud.os_images
        mac.os = next(image for image in images if image.family == "Sequoia")
        s.rig.world.console.do("reinstall", mac.id)
        await s.ready(hostler, 1)
        assert (mac.os.family, mac.installs) == ("Tahoe", 3)

    play_macs(scene)


def test_b1_a_host_that_got_another_system_in_mid_claim_is_not_handed_out_as_it_is() -> None:
    """B1: rediscovery looked neither at the type nor at the system of what it found."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        while stage(s.mac()) != "pending":
            await s.rig.clock.sleep(timedelta(seconds=1))
        mac, images = s.mac(), s.rig.world.cloud.os_images
        mac.os = next(image for image in images if image.family == "Sequoia")
        s.rig.world.console.do("reinstall", mac.id)
        await s.ready(hostler, 1, 90 * MINUTE)
        assert s.mac().os.family == "Tahoe"

    play_macs(scene)


def test_b5_a_host_comes_back_with_the_system_that_its_fleet_asks_for() -> None:
    """B5: wiped without a pin, a host came back with its type's default, and fitted nobody."""

    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        mac, images = s.mac(), s.rig.world.cloud.os_images
        mac.os = next(image for image in images if image.family == "Sequoia")
        await s.rig.clock.sleep(2 * MINUTE)
        await hostler.scale(0)
        await s.all_free(hostler)
        assert s.mac().os.family == "Tahoe"
        await hostler.scale(1)
        await s.ready(hostler, 1)

    play_macs(scene)
