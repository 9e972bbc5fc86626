"""Security groups; every project has a default one in each zone."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.bodies import instance_body
from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    owner_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE, matching
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import SecurityGroup

PATH = "/instance/v1/zones/*/security_groups"
FLAGS = {"enable_default_security": True, "stateful": True}
POLICIES = {"inbound_default_policy": "accept", "outbound_default_policy": "accept"}
ACTIONS = ("accept", "drop")


def default_group(cloud: Cloud, owner: Owner) -> SecurityGroup:
    """Return the default group of a project in a zone, which is made when first needed."""
    for group in cloud.groups.within(owner.zone):
        if group.default and group.owner == owner:
            return group
    group = new_group(cloud, owner, "Default security group")
    group.default = True
    put(cloud, group)
    return group


def new_group(cloud: Cloud, owner: Owner, name: str) -> SecurityGroup:
    """Return a group without rules that is not in the world yet."""
    fields: dict[str, object] = {"description": None, **FLAGS, **POLICIES}
    return SecurityGroup(**cloud.born(owner), name=name, fields=fields)


def put(cloud: Cloud, group: SecurityGroup) -> None:
    """Let a new group exist."""
    cloud.groups.put(group)
    cloud.ledger.open("security_group", group, 0.0, cloud.now)


def body_of(cloud: Cloud, group: SecurityGroup) -> dict[str, object]:
    """Return the body of a group."""
    users = [server for server in cloud.servers.within(group.zone) if owns(server, group)]
    return {
        **instance_body(cloud, group),
        **group.fields,
        "organization_default": group.default,
        "project_default": group.default,
        "servers": [{"id": server.id, "name": server.name} for server in users],
        "state": "available",
    }


def owns(server: object, group: SecurityGroup) -> bool:
    """Tell if a server is in a group."""
    return getattr(server, "security_group", None) is group


def filter_of(call: Call) -> Callable[[SecurityGroup], bool]:
    """Return the filter that a query asks for."""
    keep, default = matching(call), call.flag("project_default")
    return lambda group: keep(group) and default in ("", "true" if group.default else "false")


GROUPS: Resource[SecurityGroup] = Resource(
    stored=lambda cloud: cloud.groups,
    name="instance_security_group",
    body=body_of,
    style=INSTANCE.of("security_groups"),
    key="security_group",
    keep=filter_of,
)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List groups; the project that asks has at least its default one."""
    default_group(cloud, Owner(call.place, call.organization, call.id("project") or call.project))
    return GROUPS.list_all(cloud, call)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a group."""
    name = text_of(call.body, "name")
    if not name:
        raise errors.invalid(("name", "required", "required key not provided"))
    group = new_group(cloud, owner_of(call), name)
    fill(group, call.body)
    put(cloud, group)
    return GROUPS.made(cloud, call, group)


def fill(group: SecurityGroup, body: Body) -> None:
    """Take over what a body says."""
    fields = dict(group.fields)
    for name in FLAGS:
        fields[name] = flag_of(body, name, default=bool(fields[name]))
    for name in POLICIES:
        fields[name] = choice_of(body, name, *ACTIONS) or fields[name]
    if "description" in body:
        fields["description"] = text_of(body, "description") or None
    tags = tags_of(body) if body.get("tags") is not None else group.tags
    group.name = text_of(body, "name") or group.name
    group.fields, group.tags = fields, tags


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a group; of a body that is put whole, what it says."""
    group = GROUPS.find(cloud, call)
    fill(group, call.body)
    group.modified = cloud.now
    for server in cloud.servers.within(call.place):
        if owns(server, group):
            touch(cloud, server)
    return GROUPS.answer(cloud, group)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a group that no server is in."""
    group = GROUPS.find(cloud, call)
    if any(owns(server, group) for server in cloud.servers.within(call.place)):
        raise errors.conflict("Group is in use. You cannot delete it.")
    return GROUPS.drop(cloud, group)


ROUTES = (
    *GROUPS.routes(
        "security_group", PATH, list=list_all, create=create, update=update, delete=delete
    ),
    Route("security_group.replace", "PUT", PATH + "/*", update),
)
