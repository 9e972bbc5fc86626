"""Every endpoint of the world, and how a path is matched to one."""

from dataclasses import dataclass, field

from .api.resource import Route
from .instances import actions, attachments, images, newer, placement, servers, user_data
from .instances.account import api_keys, catalog, keys, marketplace, products, projects
from .instances.network import addresses, groups, interfaces, nics, rules
from .instances.storage import block_snapshots, local_volumes, snapshots, volumes
from .macs import diagnostics, runners
from .macs import images as mac_images
from .macs import networks as mac_networks
from .macs import servers as macs
from .vpc import ipam, networks, vpcs
from .vpc import routes as vpc_routes

TABLE: tuple[Route, ...] = (
    *servers.ROUTES,
    *actions.ROUTES,
    *attachments.ROUTES,
    *user_data.ROUTES,
    *newer.ROUTES,
    *addresses.ROUTES,
    *volumes.ROUTES,
    *block_snapshots.ROUTES,
    *local_volumes.ROUTES,
    *nics.ROUTES,
    *interfaces.ROUTES,
    *vpcs.ROUTES,
    *networks.ROUTES,
    *ipam.ROUTES,
    *vpc_routes.ROUTES,
    *groups.ROUTES,
    *rules.ROUTES,
    *placement.ROUTES,
    *images.ROUTES,
    *snapshots.ROUTES,
    *marketplace.ROUTES,
    *products.ROUTES,
    *catalog.ROUTES,
    *projects.ROUTES,
    *api_keys.ROUTES,
    *keys.ROUTES,
    *macs.ROUTES,
    *mac_images.ROUTES,
    *mac_networks.ROUTES,
    *diagnostics.ROUTES,
    *runners.ROUTES,
)
ACTIONS = tuple(f"server.action.{name}" for name in actions.DOERS)
ROUTES: tuple[str, ...] = tuple(dict.fromkeys((*(route.key for route in TABLE), *ACTIONS)))


@dataclass(slots=True, eq=False)
class Branch:
    """What can follow a part of a path."""

    routes: dict[str, Route] = field(default_factory=dict[str, Route])
    named: "dict[str, Branch]" = field(default_factory=dict)
    any: "Branch | None" = None


def grown(table: tuple[Route, ...]) -> Branch:
    """Return the tree of all paths."""
    root = Branch()
    for route in table:
        branch = root
        for part in route.path.split("/")[1:]:
            if part == "*":
                branch.any = branch.any or Branch()
                branch = branch.any
            else:
                branch = branch.named.setdefault(part, Branch())
        branch.routes[route.method] = route
    return root


TREE = grown(TABLE)


def match(method: str, path: str) -> tuple[Route, list[str]] | None:
    """Return the route of a request and the arguments of its path, or None."""
    branch, found = TREE, list[str]()
    for part in path.split("/")[1:]:
        following = branch.named.get(part)
        if following is None:
            following = branch.any
            if following is None or not part:
                return None
            found.append(part)
        branch = following
    route = branch.routes.get(method)
    return (route, found) if route else None
