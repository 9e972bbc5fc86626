"""Lost tags: whose is a server that lost its tags? Its root volume's name says it, and its own.

Both must say the same machine: somebody may have hung a disk of ours on a server of their own.
"""

import re
from collections.abc import Iterable, Mapping

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.resource import Slot
from hostler.providers.scaleway.common.owner_tags import Claim, from_name, from_tags, server_name
from hostler.providers.scaleway.common.wire import BlockVolume, Server, Volume

from .read import server_volumes

Claims = Mapping[ResourceId, Claim]
ROOT = Slot("volume", 0)
_LIKE_OURS = re.compile(r".+-m-[a-z2-7]{10}")


def may_be_ours(server: Server) -> bool:
    """Tell whether a server without an owner tag bears a name as we give them."""
    unmarked = from_tags(server.tags or (), "server") is None
    return unmarked and _LIKE_OURS.fullmatch(server.name or "") is not None


def named_roots(volumes: Iterable[Volume | BlockVolume]) -> dict[ResourceId, Claim]:
    """Return the claims of the root volumes whose names are owner tags."""
    claims = ((ResourceId(volume.id), from_name(volume.name or "", "volume")) for volume in volumes)
    return {volume: claim for volume, claim in claims if claim and claim.slot == ROOT}


def claim_by_root(server: Server, roots: Claims) -> Claim | None:
    """Return what a server's root volume says of it, or None where its own name says otherwise."""
    claim = _named_in(server) or roots.get(_root_of(server) or ResourceId(""))
    if claim is None or not may_be_ours(server):
        return None
    agreed = server.name == server_name(claim.owner_tag.fleet, claim.owner_tag.machine)
    return Claim(claim.owner_tag, Slot("server")) if agreed else None


class Roots:
    """Remembers, zone by zone, servers that may be ours, and what their root volumes say."""

    def __init__(self) -> None:
        self._servers = dict[Zone, dict[ResourceId, Server]]()
        self._claims = dict[Zone, dict[ResourceId, Claim]]()

    def see_servers(self, zone: Zone, servers: Iterable[Server]) -> None:
        """Note the servers of a listing of the zone, whole or not: no others are told of."""
        self._servers[zone] = {ResourceId(s.id): s for s in servers if may_be_ours(s)}

    def see_volumes(
        self, zone: Zone, volumes: Iterable[Volume | BlockVolume], *, whole: bool
    ) -> None:
        """Note what the root volumes of those servers say; only a whole listing takes any back."""
        known = self._claims.get(zone, {})
        roots = {_root_of(server) for server in self._servers.get(zone, {}).values()}
        if roots or known:
            named = named_roots(volumes)
            fresh = {volume: c for volume, c in named.items() if volume in roots or volume in known}
            self._claims[zone] = fresh if whole else {**known, **fresh}

    def claim(self, zone: Zone, server: Server) -> Claim | None:
        """Return what is known of a server that carried no owner tag when its zone was listed."""
        if ResourceId(server.id) not in self._servers.get(zone, {}):
            return None
        return claim_by_root(server, self._claims.get(zone, {}))

    def claimed(self, zone: Zone) -> dict[ResourceId, tuple[Server, Claim]]:
        """Return the servers without an owner tag that are known to be somebody's all the same."""
        servers = self._servers.get(zone, {})
        claims = (
            (resource, server, self.claim(zone, server)) for resource, server in servers.items()
        )
        return {
            resource: (server, claim) for resource, server, claim in claims if claim is not None
        }


def _named_in(server: Server) -> Claim | None:
    """Return what a server's own body says of its root volume: local ones have names there."""
    volumes = {place: volume.name or "" for place, volume in server_volumes(server)}
    claim = from_name(volumes.get(ROOT.index, ""), "volume")
    return claim if claim and claim.slot == ROOT else None


def _root_of(server: Server) -> ResourceId | None:
    """Return the volume in the first place of a server."""
    return next(
        (ResourceId(v.id) for place, v in server_volumes(server) if place == ROOT.index and v.id),
        None,
    )
