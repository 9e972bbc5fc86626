"""What nobody's tags explain: who must know of it, and what only people can."""

from random import Random

import msgspec
import pytest
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.scaleway.bystanders import crowd
from hostler.lab.scaleway.owner_tags import Owned, tags_for
from hostler.lab.scaleway.world import open_world
from hostler.lab.scenario.faults import Size
from hostler.lab.servers.address_pool import AddressPool
from hostler.lab.servers.checker import ServerChecker
from hostler.lab.servers.faults import draw_servers
from hostler.lab.servers.untagged import Untagged, strips
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.options import Options
from hostler.testing.invariants import Thing
from hostler.testing.scenes.builders import FLEET
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

TAG = OwnerTag(
    installation=InstallationId("i1"),
    fleet=FleetName("web"),
    machine=MachineId("m-aaaaaaaaaa"),
    attempt=1,
)
ADDRESS = ResourceId("address-1")
BARE = Thing(id=ADDRESS, kind="address", created=0.0)
TAGGED = Thing(id=ADDRESS, kind="address", created=0.0, owner_tag=TAG)


def test_what_never_carried_a_tag_is_no_work_of_people() -> None:
    assert not Untagged().is_taken(BARE, recorded=())


def test_what_lost_its_tags_before_any_record_had_it_only_people_can_explain() -> None:
    untagged = Untagged()
    untagged.note((TAGGED,))
    assert untagged.is_taken(BARE, recorded=())
    assert not untagged.is_taken(TAGGED, recorded=())


def test_what_a_record_had_is_known_whoever_took_its_tags() -> None:
    untagged = Untagged()
    untagged.note((TAGGED,))
    assert not untagged.is_taken(BARE, recorded=(ADDRESS,))


def test_what_was_there_before_any_process_is_nobodys_business() -> None:
    untagged = Untagged(frozenset({ADDRESS}))
    assert not untagged.is_taken(BARE, recorded=())


def patch(**body: object) -> HttpRequest:
    content = msgspec.json.encode(body)
    return HttpRequest(method="PATCH", path="/instance/v1/zones/fr-par-1/ips/1", body=content)


def test_a_program_takes_its_owner_tag_off_nothing_that_stays_on_its_bill() -> None:
    owned = tags_for(Owned(TAG, Slot("address")))
    (found,) = strips(TAGGED, patch(tags=["team=red"]))
    assert found.invariant == "S1"
    assert strips(TAGGED, patch(tags=[*owned, "team=red"])) == ()
    assert strips(TAGGED, patch(server="another")) == ()
    assert strips(BARE, patch(tags=[])) == ()


@pytest.mark.parametrize("stranger", [True, False])
def test_no_fleet_rests_while_something_without_tags_is_left_on_the_bill(stranger: bool) -> None:
    loop = SimLoop()
    world = open_world(Options(epoch=BEGINNING), loop, Random(1))
    if stranger:
        crowd(world, 1)
    scenario = draw_servers(1, Size())
    checker = ServerChecker(world, Trace(loop.time), 60.0, AddressPool(world), scenario)
    fleet = replace(FLEET, size=0)
    shadow = ShadowStore(InstallationId("i1"), {fleet.name: fleet})
    checker.shadows.append(shadow)
    assert checker.rested(shadow, fleet) == ()
    if not stranger:
        crowd(world, 1)
        assert [violation.invariant for violation in checker.rested(shadow, fleet)] == ["L1"]
    loop.close()
