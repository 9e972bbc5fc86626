"""Placement groups."""

from hostler.simulators.scaleway.api.bodies import placement_body
from hostler.simulators.scaleway.api.checks import owner_of, tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import PlacementGroup

PATH = "/instance/v1/zones/*/placement_groups"
RESOURCE = "instance_placement_group"
MODES = ("optional", "enforced")
KINDS = ("max_availability", "low_latency")
GROUPS: Resource[PlacementGroup] = Resource(
    stored=lambda cloud: cloud.placements,
    name=RESOURCE,
    body=lambda _, group: placement_body(group),
    style=INSTANCE.of("placement_groups"),
    key="placement_group",
)


def group_of(cloud: Cloud, call: Call, group_id: str) -> PlacementGroup | None:
    """Return the group that a server's body names, or None where it names none."""
    return cloud.find(cloud.placements, call, group_id, RESOURCE) if group_id else None


def fill(group: PlacementGroup, body: Body) -> None:
    """Take over what a body says; refuse values that there are not."""
    mode = text_of(body, "policy_mode") or group.mode
    kind = text_of(body, "policy_type") or group.kind
    for name, value, known in (("policy_mode", mode, MODES), ("policy_type", kind, KINDS)):
        if value not in known:
            raise errors.invalid((name, "constraint", "not a valid value"))
    tags = tags_of(body) if body.get("tags") is not None else group.tags
    group.name = text_of(body, "name") or group.name
    group.mode, group.kind, group.tags = mode, kind, tags


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a group."""
    born = cloud.born(owner_of(call))
    group = PlacementGroup(**born, name=f"pg-{born['id'][:8]}")
    fill(group, call.body)
    cloud.placements.put(group)
    cloud.ledger.open("placement_group", group, 0.0, cloud.now)
    return GROUPS.answer(cloud, group, 201)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a group."""
    group = GROUPS.find(cloud, call)
    fill(group, call.body)
    for server in cloud.servers.within(call.place):
        if server.placement_group is group:
            touch(cloud, server)
    return GROUPS.answer(cloud, group)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a group; its servers go on without."""
    group = GROUPS.find(cloud, call)
    for server in cloud.servers.within(call.place):
        if server.placement_group is group:
            server.placement_group = None
            touch(cloud, server)
    return GROUPS.drop(cloud, group)


ROUTES = GROUPS.routes("placement_group", PATH, create=create, update=update, delete=delete)
