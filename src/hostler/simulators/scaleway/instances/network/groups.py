"""Security groups and their rules, whose list says no total."""

from hostler.simulators.scaleway.api.bodies import instance_body
from hostler.simulators.scaleway.api.checks import owner_of, tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE, window
from hostler.simulators.scaleway.api.resource import Resource, routes
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import Owner, SecurityGroup, SecurityRule

PATH = "/instance/v1/zones/*/security_groups"
DEFAULTS: dict[str, object] = {
    "description": "",
    "enable_default_security": True,
    "inbound_default_policy": "accept",
    "outbound_default_policy": "accept",
    "stateful": True,
}
RULE: dict[str, object] = {
    "protocol": "TCP",
    "direction": "inbound",
    "action": "accept",
    "ip_range": "0.0.0.0/0",
    "dest_port_from": None,
    "dest_port_to": None,
    "position": 1,
    "editable": True,
}


def default_group(cloud: Cloud, owner: Owner) -> SecurityGroup:
    """Return the default group of a project in a zone, which is made when first needed."""
    for group in cloud.groups.within(owner.zone):
        if group.default and group.owner == owner:
            return group
    group = new_group(cloud, owner, "Default security group")
    group.default = True
    return group


def new_group(cloud: Cloud, owner: Owner, name: str) -> SecurityGroup:
    """Make a group without rules."""
    group = SecurityGroup(
        **cloud.born(owner),
        name=name,
        fields=dict(DEFAULTS),
    )
    cloud.groups.put(group)
    cloud.ledger.open("security_group", group, 0.0, cloud.now)
    return group


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


GROUPS: Resource[SecurityGroup] = Resource(
    stored=lambda cloud: cloud.groups,
    name="instance_security_group",
    body=body_of,
    style=INSTANCE.of("security_groups"),
    key="security_group",
)


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List groups; the project that asks has at least its default one."""
    default_group(cloud, Owner(call.place, call.organization, call.text("project") or call.project))
    return GROUPS.list_all(cloud, call)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a group."""
    name = text_of(call.body, "name")
    if not name:
        raise errors.invalid(("name", "required", ""))
    group = new_group(cloud, owner_of(call), name)
    fill(group, call.body)
    return GROUPS.answer(cloud, group, 201)


def fill(group: SecurityGroup, body: Body) -> None:
    """Take over what a body says."""
    group.name = text_of(body, "name") or group.name
    if body.get("tags") is not None:
        group.tags = tags_of(body)
    for name in DEFAULTS:
        if body.get(name) is not None:
            group.fields[name] = body[name]


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a group."""
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


def rule_body(group: SecurityGroup, rule: SecurityRule) -> dict[str, object]:
    """Return the body of a rule."""
    return {"id": rule.id, **rule.fields, "zone": group.zone}


def rule_list(cloud: Cloud, call: Call) -> Answer:
    """List rules. No header says how many there are."""
    group = GROUPS.find(cloud, call)
    start, size = window(call, INSTANCE)
    rules = [rule_body(group, rule) for rule in group.rules.values()][start : start + size]
    return Answer(200, {"rules": rules}, subject=group)


def rule_fields(body: Body, old: dict[str, object]) -> dict[str, object]:
    """Return the fields of a rule after a body has been taken over."""
    return {name: body[name] if body.get(name) is not None else old[name] for name in RULE}


def rule_create(cloud: Cloud, call: Call) -> Answer:
    """Add a rule."""
    group = GROUPS.find(cloud, call)
    fields = rule_fields(call.body, {**RULE, "position": len(group.rules) + 1})
    rule = SecurityRule(id=cloud.new_id(), fields=fields)
    group.rules[rule.id] = rule
    return Answer(201, {"rule": rule_body(group, rule)}, subject=group)


def rule_find(group: SecurityGroup, call: Call) -> SecurityRule:
    """Return the rule that a path names."""
    rule = group.rules.get(call.names[1])
    if rule is None:
        raise errors.not_found("instance_security_group_rule", call.names[1])
    return rule


def rule_get(cloud: Cloud, call: Call) -> Answer:
    """Show a rule."""
    group = GROUPS.find(cloud, call)
    return Answer(200, {"rule": rule_body(group, rule_find(group, call))}, subject=group)


def rule_update(cloud: Cloud, call: Call) -> Answer:
    """Change a rule."""
    group = GROUPS.find(cloud, call)
    rule = rule_find(group, call)
    rule.fields = rule_fields(call.body, rule.fields)
    return Answer(200, {"rule": rule_body(group, rule)}, subject=group)


def rule_delete(cloud: Cloud, call: Call) -> Answer:
    """Remove a rule."""
    group = GROUPS.find(cloud, call)
    del group.rules[rule_find(group, call).id]
    return Answer(204, subject=group)


RULES = PATH + "/*/rules"
ROUTES = (
    *GROUPS.routes(
        "security_group", PATH, list=list_all, create=create, update=update, delete=delete
    ),
    *routes(
        "security_rule",
        RULES,
        list=rule_list,
        create=rule_create,
        get=rule_get,
        update=rule_update,
        delete=rule_delete,
    ),
)
