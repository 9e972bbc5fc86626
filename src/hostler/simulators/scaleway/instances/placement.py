"""Placement groups, in both versions of the API."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.bodies import placement_body
from hostler.simulators.scaleway.api.checks import choice_of, ids_of, owner_of, tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE, TOKENS, page_of
from hostler.simulators.scaleway.api.resource import Handler, Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import UUID, Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import PlacementGroup, Server

PATH = "/instance/v1/zones/*/placement_groups"
RESOURCE = "instance_placement_group"
NO_CONTENT = 204
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
    if group_id and not UUID.fullmatch(group_id):
        raise errors.invalid(("placement_group", "constraint", "not a valid value"))
    return cloud.find(cloud.placements, call, group_id, RESOURCE) if group_id else None


def fill(group: PlacementGroup, body: Body) -> None:
    """Take over what a body says; refuse values that there are not."""
    mode = choice_of(body, "policy_mode", *MODES) or group.mode
    kind = choice_of(body, "policy_type", *KINDS) or group.kind
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
    return GROUPS.made(cloud, call, group)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a group."""
    group = GROUPS.find(cloud, call)
    fill(group, call.body)
    group.modified = cloud.now
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


def members(cloud: Cloud, call: Call, group: PlacementGroup) -> Answer:
    """List the servers of a group."""
    servers = [one for one in cloud.servers.within(call.place) if one.placement_group is group]
    return page_of(cloud, call, servers, member_body, INSTANCE.of("servers"))


def member_body(server: Server) -> dict[str, object]:
    """Return how a group shows one of its servers."""
    return {"id": server.id, "name": server.name, "policy_respected": True}


def list_members(cloud: Cloud, call: Call) -> Answer:
    """List the servers of a group."""
    return members(cloud, call, GROUPS.find(cloud, call))


def set_members(cloud: Cloud, call: Call) -> Answer:
    """Let these servers be in a group, and no others."""
    group = GROUPS.find(cloud, call)
    requested = [cloud.server(call, one) for one in ids_of(call.body, "servers")]
    for server in cloud.servers.within(call.place):
        if server in requested:
            server.placement_group = group
        elif server.placement_group is group:
            server.placement_group = None
        touch(cloud, server)
    return members(cloud, call, group)


def newer_body(cloud: Cloud, group: PlacementGroup) -> dict[str, object]:
    """Return the body of a group in the second version of the API: flat, and without its mode."""
    return {
        "id": group.id,
        "name": group.name,
        "project_id": group.project,
        "policy_type": group.kind,
        "tags": group.tags,
        "created_at": cloud.zulu(group.created),
        "updated_at": cloud.zulu(group.modified),
        "zone": group.zone,
    }


def newer_filter(call: Call) -> Callable[[PlacementGroup], bool]:
    """Return the filter that a query asks for; all of the tags must be there."""
    name, tags, project = call.text("name"), call.texts("tags"), call.id("project_id")
    ids = call.ids("placement_group_ids")
    return lambda group: (
        (not ids or group.id in ids)
        and name in group.name
        and all(tag in group.tags for tag in tags)
        and project in ("", group.project)
    )


NEWER_GROUPS: Resource[PlacementGroup] = Resource(
    stored=lambda cloud: cloud.placements,
    name=RESOURCE,
    body=newer_body,
    style=TOKENS.of("placement_groups"),
    keep=newer_filter,
    newest_first=True,
)


def newer(change: Handler) -> Handler:
    """Return a change of a group that answers in the words of the second version."""

    def changed(cloud: Cloud, call: Call) -> Answer:
        answer = change(cloud, call)
        if not isinstance(answer.subject, PlacementGroup) or answer.status == NO_CONTENT:
            return answer
        return NEWER_GROUPS.answer(cloud, answer.subject)

    return changed


SERVERS = PATH + "/*/servers"
ROUTES = (
    *GROUPS.routes("placement_group", PATH, create=create, update=update, delete=delete),
    Route("placement_group.replace", "PUT", PATH + "/*", update),
    Route("placement_group.servers", "GET", SERVERS, list_members),
    Route("placement_group.set_servers", "PUT", SERVERS, set_members),
    Route("placement_group.update_servers", "PATCH", SERVERS, set_members),
    *NEWER_GROUPS.routes(
        "new_placement_group",
        "/instance/v2alpha1/zones/*/placement-groups",
        create=newer(create),
        update=newer(update),
        delete=delete,
    ),
)
