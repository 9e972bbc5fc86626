"""What nobody's tags explain: who must know of it, and what only people can."""

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.resource import OwnerTag
from hostler.lab.servers.untagged import Untagged
from hostler.testing.invariants import Thing

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
