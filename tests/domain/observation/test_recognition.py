"""Recognition: what a machine took from a pool is known by the record, once its tags are gone."""

import pytest

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.resource import Observation, OwnerTag, Resource, Slot, taken_id
from hostler.domain.observation.recognition import recognize

SERVER, ADDRESS = ResourceId("server"), ResourceId("address")
TAKER, OTHER = MachineId("m-aaaaaaaaaa"), MachineId("m-bbbbbbbbbb")
OTHERS_SERVER = ResourceId("other server")
RECORDS = {SERVER: TAKER, taken_id(ADDRESS, TAKER): TAKER, OTHERS_SERVER: OTHER}
TAG = OwnerTag(installation=InstallationId("i1"), fleet=FleetName("web"), machine=OTHER, attempt=1)


@pytest.mark.parametrize(
    ("resource", "owner", "tag", "known_as"),
    [
        (ADDRESS, SERVER, None, taken_id(ADDRESS, TAKER)),
        (ResourceId("another"), SERVER, None, "another"),
        (ADDRESS, OTHERS_SERVER, None, ADDRESS),
        (ADDRESS, ResourceId("a stranger's"), None, ADDRESS),
        (ADDRESS, None, None, ADDRESS),
        (ADDRESS, SERVER, TAG, ADDRESS),
    ],
    ids=["taken", "hung by hand", "on another", "on a stranger's", "on nothing", "tagged"],
)
def test_only_what_hangs_untagged_on_its_taker_is_recognized(
    resource: ResourceId, owner: ResourceId | None, tag: OwnerTag | None, known_as: str
) -> None:
    """A machine failed as if its address were gone, or deleted it as its own (120000015)."""
    seen = Resource(id=resource, slot=Slot("address"), zone=Zone("z"), owner=owner, owner_tag=tag)
    (found,) = recognize(Observation(observed=(), resources=(seen,)), RECORDS.get).resources
    assert found.id == known_as
