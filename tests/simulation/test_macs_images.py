"""Which hosts the judge of Macs excuses for running another system than their fleets ask for."""

from random import Random

from hostler.domain.ids import HostId
from hostler.lab.macs.ground_truth import Change, Fact, GroundTruth
from hostler.lab.macs.images import ImagesOfWipes
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.simulators.scaleway.world import World

FACT = Fact(name="pool-1", named=0.0, cycle=0, status=MacStatus.READY, moved=0.0, used=0)


class Scene:
    """One host, and what is published for it."""

    def __init__(self) -> None:
        self.world = World(lambda: 0.0, Random(1))
        (host,) = self.world.stock_macs(1, "M2-L", "fr-par-1", "pool-")
        self.images = ImagesOfWipes(GroundTruth(self.world, 60.0))
        self.host = HostId(host)

    @property
    def mac(self) -> Mac:
        mac = self.world.cloud.macs.get(self.host)
        assert mac is not None
        return mac

    def retire(self, family: str) -> None:
        names = [image.name for image in self.world.cloud.os_images if image.family == family]
        assert names
        for name in names:
            self.world.console.retire_image(name)

    def wiped_to(self, family: str) -> None:
        """Wipe the host to a family, whether that was right or not."""
        self.images.noted(Change(what="wiped", host=self.host, by=None, before=FACT, late=False))
        images = self.world.cloud.os_images
        self.mac.os = next(image for image in images if image.family == family)


def test_a_host_that_was_wiped_while_its_family_was_not_published_may_run_another() -> None:
    scene = Scene()
    scene.retire("Tahoe")
    scene.wiped_to("Sequoia")
    assert scene.images.is_spoilt(scene.mac, "Tahoe")
    assert not scene.images.is_spoilt(scene.mac, "Sequoia"), "it runs what is asked for"


def test_a_host_that_was_wiped_to_another_system_for_no_reason_has_no_excuse() -> None:
    scene = Scene()
    scene.wiped_to("Sequoia")
    scene.retire("Tahoe")
    assert not scene.images.is_spoilt(scene.mac, "Tahoe")


def test_a_host_that_was_never_wiped_has_no_excuse_for_another_system() -> None:
    """It was ordered so: nothing is to be ordered that nobody could claim."""
    scene = Scene()
    scene.wiped_to("Sequoia")
    scene.retire("Tahoe")
    fresh = ImagesOfWipes(GroundTruth(scene.world, 60.0))
    assert not fresh.is_spoilt(scene.mac, "Tahoe")
