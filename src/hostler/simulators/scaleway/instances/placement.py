"""Placement groups."""

from hostler.simulators.scaleway.api.bodies import placement_body
from hostler.simulators.scaleway.api.checks import owner, tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE, listing, matching, page_of
from hostler.simulators.scaleway.api.route import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Estate, touch
from hostler.simulators.scaleway.state.records import PlacementGroup

PATH = "/instance/v1/zones/*/placement_groups"
RESOURCE = "instance_placement_group"
MODES = ("optional", "enforced")
KINDS = ("max_availability", "low_latency")


def group_of(estate: Estate, call: Call, group_id: str) -> PlacementGroup | None:
    """Return the group that a server's body names, or None where it names none."""
    return estate.find(estate.placements, call, group_id, RESOURCE) if group_id else None


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


def create(estate: Estate, call: Call) -> Answer:
    """Make a group."""
    whose = owner(call)
    group_id = estate.new_id()
    group = PlacementGroup(
        id=group_id,
        zone=call.place,
        name=f"pg-{group_id[:8]}",
        organization=whose.organization,
        project=whose.project,
        created=estate.now,
        modified=estate.now,
    )
    fill(group, call.body)
    estate.placements.put(group)
    estate.ledger.open("placement_group", group, 0.0, estate.now)
    return Answer(201, {"placement_group": placement_body(group)}, subject=group)


def find(estate: Estate, call: Call) -> PlacementGroup:
    """Return the group that a path names."""
    return estate.find(estate.placements, call, call.names[0], RESOURCE)


def get(estate: Estate, call: Call) -> Answer:
    """Show a group."""
    group = find(estate, call)
    return Answer(200, {"placement_group": placement_body(group)}, subject=group)


def list_all(estate: Estate, call: Call) -> Answer:
    """List groups."""
    items = listing(estate, call, estate.placements, matching(call))
    return page_of(estate, call, items, placement_body, INSTANCE.of("placement_groups"))


def update(estate: Estate, call: Call) -> Answer:
    """Change a group."""
    group = find(estate, call)
    fill(group, call.body)
    for server in estate.servers.within(call.place):
        if server.placement_group is group:
            touch(estate, server)
    return Answer(200, {"placement_group": placement_body(group)}, subject=group)


def delete(estate: Estate, call: Call) -> Answer:
    """Delete a group; its servers go on without."""
    group = find(estate, call)
    for server in estate.servers.within(call.place):
        if server.placement_group is group:
            server.placement_group = None
            touch(estate, server)
    estate.placements.drop(group, estate.now)
    return Answer(204, subject=group)


ROUTES = (
    Route("placement_group.list", "GET", PATH, list_all),
    Route("placement_group.create", "POST", PATH, create),
    Route("placement_group.get", "GET", PATH + "/*", get),
    Route("placement_group.update", "PATCH", PATH + "/*", update),
    Route("placement_group.delete", "DELETE", PATH + "/*", delete),
)
