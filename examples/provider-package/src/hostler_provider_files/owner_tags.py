"""Owner tags: the toy cloud's tags and states in hostler's words."""

import re

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.resource import Condition, OwnerTag, Resource, Slot
from hostler_provider_files.cloud import Item

SERVER, ADDRESS = Slot("server"), Slot("address")

STATES = {
    "off": Condition.OFF,
    "booting": Condition.STARTING,
    "on": Condition.UP,
    "reserved": Condition.FREE,
}
"""Total by use: a state that is not here is *unknown*, and reported."""

_TAGS = re.compile(r"hostler=(\S+) fleet=(\S+) machine=(m-[a-z2-7]{10}) attempt=([1-9]\d{0,5})")


def tags_of(owner_tag: OwnerTag) -> str:
    """Return the tags that say whose a thing is; they are written by the call that makes it."""
    return (
        f"hostler={owner_tag.installation} fleet={owner_tag.fleet} machine={owner_tag.machine} "
        f"attempt={owner_tag.attempt}"
    )


def owner_tag_of(tags: str) -> OwnerTag | None:
    """Return the owner tag that tags make, or None where they make none."""
    found = _TAGS.fullmatch(tags)
    if found is None:
        return None
    return OwnerTag(
        installation=InstallationId(found[1]),
        fleet=FleetName(found[2]),
        machine=MachineId(found[3]),
        attempt=int(found[4]),
    )


def resource_of(item: Item, slot: Slot, zone: Zone) -> Resource:
    """Return a thing of the cloud as a resource."""
    return Resource(
        id=ResourceId(item.id),
        slot=slot,
        zone=zone,
        owner_tag=owner_tag_of(item.tags),
        status=item.state,
        condition=STATES.get(item.state, Condition.UNKNOWN),
        price=0.01 if slot == SERVER else 0.001,
        address=f"{item.id}.example" if slot == ADDRESS else item.uses and f"{item.uses}.example",
    )
