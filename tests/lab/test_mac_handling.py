"""What the judge of Macs knows of who renamed a host, and of what a person had reserved."""

from collections import Counter
from random import Random

import pytest

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId
from hostler.domain.model.resource import Stage
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.macs.ground_truth import Asked, Change, GroundTruth
from hostler.lab.macs.handling import Handling
from hostler.lab.macs.names import HostName
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.world import World

OURS, M = InstallationId("i1"), MachineId("m-aaaaaaaaaa")
CLAIMED = str(
    HostName(
        stage=Stage.CLAIMED, installation=OURS, fleet=FleetName("web"), machine=M, pool="2099de"
    )
)
HOUR = 3600.0


class Scene:
    """One host that nobody had before, and the judge of what is done to it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.world = World(lambda: self.now, Random(1))
        (host,) = self.world.stock_macs(1, "M2-L", "fr-par-1", "pool-")
        self.host = HostId(host)
        self.truth = GroundTruth(self.world, 60.0, fresh=True)
        self.shadow = ShadowStore(own=OURS, fleets={})
        self.handling = Handling(self.truth, lambda: [self.shadow], Counter())
        assert list(self.truth.changes()) == []

    @property
    def mac(self) -> Mac:
        mac = self.world.cloud.macs.get(self.host)
        assert mac is not None
        return mac

    def asks(self, name: str, at: float) -> Asked:
        asked = Asked(ours=(OURS,), machine=M, act="update", name=name, begun=at)
        self.truth.ask(self.host, asked)
        return asked

    def becomes(self, name: str, at: float) -> Change:
        """Let the host have a name from a time on, and say how the judge sees that."""
        self.now, self.mac.name, self.mac.modified = at, name, at
        (change,) = self.truth.changes()
        return change


def test_the_name_that_comes_once_more_is_of_the_rename_that_was_answered_first() -> None:
    """It was asked for again, as it was not seen; that one had its effect at once."""
    scene = Scene()
    scene.asks("spare-2", 0.0)
    scene.truth.promise(scene.host, "spare-2")
    first = scene.asks("spare-1", 0.0)
    scene.truth.promise(scene.host, "spare-1")
    second = scene.asks("spare-1", 72.0)
    soon = scene.becomes("spare-1", 72.5)
    assert (soon.by, soon.late) == (second, False)
    scene.asks(CLAIMED, 78.0)
    assert not scene.becomes(CLAIMED, 78.0).late
    again = scene.becomes("spare-1", 108.0)
    assert (again.by, again.late) == (first, True)
    assert scene.truth.hosts[scene.host].late == 108.0


def test_what_was_asked_before_and_never_was_to_come_is_not_what_came_twice() -> None:
    """A rename that the world delivers twice within the consistency delay is the program's."""
    scene = Scene()
    scene.asks("spare-1", 0.0)  # refused
    second = scene.asks("spare-1", 72.0)
    scene.becomes("spare-1", 72.5)
    scene.asks(CLAIMED, 78.0)
    scene.becomes(CLAIMED, 78.0)
    again = scene.becomes("spare-1", 100.0)
    assert (again.by, again.late) == (second, False)


def test_what_came_late_once_does_not_come_once_more() -> None:
    scene = Scene()
    scene.asks("spare-1", 0.0)
    scene.truth.promise(scene.host, "spare-1")
    second = scene.asks("spare-1", 72.0)
    scene.becomes("spare-1", 72.5)
    for at, late in ((108.0, True), (120.0, False)):
        scene.becomes("by hand", at - 1.0)
        again = scene.becomes("spare-1", at)
        assert again.late is late
    assert again.by == second


def test_a_rename_that_is_delivered_twice_is_still_its_own() -> None:
    scene = Scene()
    only = scene.asks("spare-1", 0.0)
    scene.becomes("spare-1", 1.0)
    scene.becomes("by hand", 2.0)
    assert scene.becomes("spare-1", 3.0).by == only


@pytest.mark.parametrize(
    ("put_back", "wrong"),
    [
        (None, True),
        ((0.0, 0.5 * HOUR), True),
        ((0.5 * HOUR, 2 * HOUR), False),
        ((1.5 * HOUR, 2 * HOUR), True),
    ],
)
def test_a_host_that_was_reserved_is_wiped_unless_the_store_forgot_that(
    put_back: tuple[float, float] | None, *, wrong: bool
) -> None:
    scene = Scene()
    scene.handling.reserved(OURS, scene.host, HOUR, scene.mac.installs)
    if put_back is not None:
        scene.shadow.put_back(scene.shadow.copy(), *put_back)
    scene.asks(CLAIMED, 9 * HOUR)
    change = scene.becomes(CLAIMED, 9 * HOUR)
    found = [violation.invariant for violation in scene.handling.changed(change, 9 * HOUR)]
    assert found == (["S12"] if wrong else [])


def test_only_its_own_store_forgets_a_reservation() -> None:
    scene = Scene()
    scene.handling.reserved(OURS, scene.host, HOUR, scene.mac.installs)
    other = ShadowStore(own=InstallationId("i2"), fleets={})
    other.put_back(other.copy(), 0.0, 2 * HOUR)
    handling = scene.handling
    handling.shadows = lambda: [scene.shadow, other]
    scene.asks(CLAIMED, 9 * HOUR)
    change = scene.becomes(CLAIMED, 9 * HOUR)
    assert [violation.invariant for violation in handling.changed(change, 9 * HOUR)] == ["S12"]
