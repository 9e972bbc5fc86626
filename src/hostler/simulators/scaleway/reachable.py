"""Whether a scripted fault can ever strike: which routes meet its conditions, and what they can."""

from msgspec import Struct

from .api.resource import Route
from .delivery.fault_injection import SHELVES, possible
from .faults.catalogue import AMBIENT, Where
from .faults.rates import BY_NAME, Rule
from .routes import ACTIONS, ROUTES, TABLE

PLACES = {"/zones/*": "zone", "/regions/*": "region"}
NAMED = frozenset({Where.NAMED, Where.NAMED_CHANGE})
OWNERS = {
    Where.SERVERS: frozenset({"server", "user_data", "new_server"}),
    Where.ADDRESSES: frozenset({"ip"}),
    Where.MACS: frozenset({"mac"}),
    Where.OS_IMAGES: frozenset({"mac_os"}),
}
"""Of which routes the answers are about what an ambient fault happens to."""
UNPAGED = frozenset({"type", "local_volume_type", "mac_type", "user_data", "security_rule"})
"""Lists that are cut by hand, or not at all."""
MADE_UP = UNPAGED | {
    *("quota", "ipam", "nic", "local_image", "market_image", "market_version", "market_category"),
    *("product", "subnet", "vpc_route", "mac_os", "volume_type"),
}
"""Lists of what is not stored one by one: nothing of them is new, and nothing was just deleted."""
LAGS = frozenset({"list_without_newest", "list_with_deleted"})
PAGES = frozenset({"truncated_page", "pages_shuffled", "list_shifted"})
EMPTIED = frozenset({"empty_list"})
"""Of lists of what is stored only, too: the others are as they are, also in its spell."""


class Target(Struct, frozen=True):
    """A route as rules see it: its key, that of all actions for one of them, and its place."""

    key: str
    base: str
    method: str
    named: bool
    place: str

    @property
    def sort(self) -> str:
        """The sort of resource that it is about."""
        return self.key.split(".", 1)[0]


def targets_of(route: Route) -> list[Target]:
    """Return what a rule can name of a route: actions of servers count one by one."""
    place = next((name for part, name in PLACES.items() if part in route.path), "")
    named = route.path.count("*") > (1 if place else 0)
    keys = ACTIONS if route.key == "server.action" else (route.key,)
    return [Target(key, route.key, route.method, named, place) for key in keys]


TARGETS = tuple(target for route in TABLE for target in targets_of(route))


def never(rule: Rule, zones: tuple[str, ...]) -> str:
    """Return why a rule can never strike, or nothing."""
    if rule.route and rule.route not in ROUTES:
        return f"route: no {rule.route}; GET /_sim/routes shows which there are"
    regions = {zone.rsplit("-", 1)[0] for zone in zones}
    place = "zone" if rule.zone in zones else "region" if rule.zone in regions else ""
    if rule.zone and not place:
        return f"zone: no {rule.zone}; expected one of {', '.join(zones)}"
    met = [
        target
        for target in TARGETS
        if rule.route in ("", target.key, target.base)
        and rule.method in ("", target.method)
        and place in ("", target.place)
        and (target.named or not rule.id)
    ]
    if not met:
        return "no route meets all of the rule's conditions"
    if not any(can(rule.fault, target) for target in met):
        where = BY_NAME[rule.fault].where
        return f"{rule.fault} strikes {where.value}, and no route of the rule is that"
    return ""


def can(fault: str, target: Target) -> bool:
    """Tell if a fault can strike a route."""
    where = BY_NAME[fault].where
    if where in AMBIENT:
        return target.sort in OWNERS[where] and not target.key.endswith(("list", "batch"))
    if fault not in possible(target.key, target.method, target.named):
        return False
    if where in NAMED:
        return target.sort in SHELVES
    lags, pages = fault in LAGS | EMPTIED, fault in PAGES
    return not (lags and target.sort in MADE_UP) and not (pages and target.sort in UNPAGED)
