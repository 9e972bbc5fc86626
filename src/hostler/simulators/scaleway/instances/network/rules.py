"""The rules of security groups: six that nobody may change, then one's own."""

from itertools import count

from hostler.simulators.scaleway.api.checks import choice_of, net_of, objects_of, size_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE, window
from hostler.simulators.scaleway.api.resource import Route, location, routes
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import SecurityGroup, SecurityRule

from .groups import GROUPS, PATH

RULES = PATH + "/*/rules"
ALL = ("0.0.0.0/0", "::/0")
MAIL = (25, 465, 587)
PROTOCOLS = ("TCP", "UDP", "ICMP", "ANY")
DIRECTIONS = ("inbound", "outbound")
ACTIONS = ("accept", "drop")
PORTLESS = ("ICMP", "ANY")
TOP = 65_535  # the highest port
RULE: dict[str, object] = {
    "protocol": "TCP",
    "direction": "inbound",
    "action": "accept",
    "ip_range": ALL[0],
    "dest_ip_range": None,
    "dest_port_from": None,
    "dest_port_to": None,
}


def fixed_rules(zone: str) -> list[dict[str, object]]:
    """Return the rules of every group that keeps the usual ones: no mail goes out."""
    numbers = count(1)
    return [
        {
            "id": f"11111111-2222-4333-8444-{position:012d}",
            **RULE,
            "direction": "outbound",
            "action": "drop",
            "ip_range": ip_range,
            "dest_port_from": port,
            "position": position,
            "editable": False,
            "zone": zone,
        }
        for ip_range in ALL
        for port in MAIL
        for position in (next(numbers),)
    ]


def all_rules(group: SecurityGroup) -> list[dict[str, object]]:
    """Return all rules of a group as they are shown, each half counted from one."""
    fixed = fixed_rules(group.zone) if group.fields["enable_default_security"] else []
    own = [rule_body(group, rule) for rule in group.rules.values()]
    return [*fixed, *own]


def rule_body(group: SecurityGroup, rule: SecurityRule) -> dict[str, object]:
    """Return the body of a rule of one's own."""
    position = list(group.rules).index(rule.id) + 1
    own = {"position": position, "editable": True, "zone": group.zone}
    return {"id": rule.id, **rule.fields, **own}


def rule_list(cloud: Cloud, call: Call) -> Answer:
    """List rules. No header says how many there are."""
    group = GROUPS.find(cloud, call)
    start, size = window(call, INSTANCE)
    return Answer(200, {"rules": all_rules(group)[start : start + size]}, subject=group)


def default_rules(_cloud: Cloud, call: Call) -> Answer:
    """List the rules that every group begins with."""
    return Answer(200, {"rules": fixed_rules(call.place)})


def fields_of(body: Body, old: Body) -> dict[str, object]:
    """Return the fields of a rule after a body has been taken over; refuse what means nothing."""
    protocol = choice_of(body, "protocol", *PROTOCOLS) or str(old["protocol"])
    first, last = ports_of(body, old) if protocol not in PORTLESS else (None, None)
    return {
        "protocol": protocol,
        "direction": choice_of(body, "direction", *DIRECTIONS) or old["direction"],
        "action": choice_of(body, "action", *ACTIONS) or old["action"],
        "ip_range": range_of(text_of(body, "ip_range") or str(old["ip_range"])),
        "dest_ip_range": None,
        "dest_port_from": first,
        "dest_port_to": last,
    }


def ports_of(body: Body, old: Body) -> tuple[object, object]:
    """Return the first and the last port of a rule, the last one only where there are several."""
    found: list[object] = []
    for name in ("dest_port_from", "dest_port_to"):
        port = size_of(body, name)
        if port > TOP:
            raise errors.invalid((name, "constraint", f"must be between 1 and {TOP}"))
        found.append((port or None) if body.get(name) is not None else old[name])
    first, last = found
    if isinstance(first, int) and isinstance(last, int) and last < first:
        raise errors.invalid(("dest_port_to", "constraint", "must not be below dest_port_from"))
    return first, None if last == first else last


def range_of(text: str) -> str:
    """Return a range of addresses as it is shown: a single address without its length."""
    net = net_of("ip_range", text, strict=False)
    return str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)


def add(cloud: Cloud, group: SecurityGroup, fields: dict[str, object]) -> SecurityRule:
    """Add a rule to a group, as its last."""
    rule = SecurityRule(id=cloud.new_id(), fields=fields)
    group.rules[rule.id] = rule
    return rule


def rule_create(cloud: Cloud, call: Call) -> Answer:
    """Add a rule."""
    group = GROUPS.find(cloud, call)
    rule = add(cloud, group, fields_of(call.body, RULE))
    body = {"rule": rule_body(group, rule)}
    return Answer(201, body, location(call, rule.id), subject=group)


def rules_set(cloud: Cloud, call: Call) -> Answer:
    """Replace all rules of one's own; those that stay get new ids as well."""
    group = GROUPS.find(cloud, call)
    asked = [fields_of(rule, RULE) for rule in objects_of(call.body, "rules") if not fixed(rule)]
    group.rules.clear()
    for fields in asked:
        add(cloud, group, fields)
    return Answer(200, {"rules": all_rules(group)}, subject=group)


def fixed(rule: Body) -> bool:
    """Tell if a body is that of a rule that nobody may change, sent back as it was shown."""
    return rule.get("editable") is False


def rule_find(group: SecurityGroup, call: Call) -> SecurityRule:
    """Return the rule that a path names."""
    rule = group.rules.get(call.names[1])
    if rule is None:
        raise errors.not_found("instance_security_group_rule", call.names[1])
    return rule


def rule_get(cloud: Cloud, call: Call) -> Answer:
    """Show a rule."""
    group = GROUPS.find(cloud, call)
    for body in all_rules(group):
        if body["id"] == call.names[1]:
            return Answer(200, {"rule": body}, subject=group)
    raise errors.not_found("instance_security_group_rule", call.names[1])


def rule_update(cloud: Cloud, call: Call) -> Answer:
    """Change a rule."""
    group = GROUPS.find(cloud, call)
    rule = rule_find(group, call)
    rule.fields = fields_of(call.body, rule.fields)
    return Answer(200, {"rule": rule_body(group, rule)}, subject=group)


def rule_delete(cloud: Cloud, call: Call) -> Answer:
    """Remove a rule."""
    group = GROUPS.find(cloud, call)
    del group.rules[rule_find(group, call).id]
    return Answer(204, subject=group)


ROUTES = (
    Route("security_rule.defaults", "GET", PATH + "/default/rules", default_rules),
    *routes(
        "security_rule",
        RULES,
        list=rule_list,
        create=rule_create,
        get=rule_get,
        update=rule_update,
        delete=rule_delete,
    ),
    Route("security_rule.set", "PUT", RULES, rules_set),
    Route("security_rule.replace", "PUT", RULES + "/*", rule_update),
)
