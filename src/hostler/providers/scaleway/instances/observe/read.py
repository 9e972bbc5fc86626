"""Read: a server, an address or a volume of the API as a resource. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern
from typing import TypeVar

from msgspec import Struct, field

from hostler.domain.ids import FleetName, MachineId, ResourceId, Zone
from hostler.domain.model.resource import Condition, Resource, Slot, taken_id
from hostler.providers.scaleway.common.owner_tags import (
    Claim,
    claim_of,
    from_tags,
    partial_of,
    pool_of,
)
from hostler.providers.scaleway.common.settings import GIGABYTE, Prices
from hostler.providers.scaleway.common.wire import (
    BlockVolume,
    Ip,
    PublicIp,
    Server,
    ServerVolume,
    Volume,
)

from .statuses import condition

UNPLACED = 15
"""The index of a volume that hangs on a server of ours, nobody knows where."""

_FAMILIES = {"routed_ipv4": 0, "routed_ipv6": 1, "inet": 0, "inet6": 1}
ARCHES: Mapping[str, str] = {"x86_64": "amd64", "arm64": "arm64", "arm": "arm"}
"""Processors, as the API calls them and as Go does."""
_NO_TAGS: Sequence[str] = ()
Note = tuple[str, str]


class Kin(Struct, frozen=True):
    """A tagged server as it was last seen: its machine, and its volumes with their places.

    The machine is None where the server carries only a part of an owner tag.
    """

    machine: MachineId | None
    volumes: Mapping[ResourceId, int]


class Reader(Struct, frozen=True):
    """Reads the API's objects of one zone into resources.

    `pools` are the tags of the pools that fleets take addresses from: an address of ours that has
    its fleet's is a taken one, even where somebody took away the tag that says so.
    """

    zone: Zone
    prices: Prices = Prices()
    types: Mapping[str, float] = field(default_factory=dict[str, float])
    kin: Mapping[ResourceId, Kin] = field(default_factory=dict[ResourceId, Kin])
    cards: Mapping[str, str] = field(default_factory=dict[str, str])
    pools: Mapping[FleetName, str] = field(default_factory=dict[FleetName, str])

    def server(self, server: Server, claim: Claim | None = None) -> Resource:
        """Return a server as a resource; `claim` is what others than its tags say of it."""
        own = claim_of(server.tags or _NO_TAGS, "", "server")
        claim = own or claim
        status, type_ = intern(server.state or ""), intern(server.commercial_type or "")
        return Resource(
            id=shared_id(server.id),
            slot=claim.slot if claim else Slot("server"),
            zone=self.zone,
            owner_tag=claim.owner_tag if claim else None,
            partial_tag=None if claim else partial_of(server.tags or _NO_TAGS),
            status=status,
            condition=condition("server", status),
            allowed=_shared(tuple(server.allowed_actions or ())),
            created=moment(server.creation_date),
            price=self.types.get(type_, 0.0),
            name=server.name or "",
            address=_address_of(server) or self._private(server),
            type=type_,
            protected=bool(server.protected),
            notes=_server_notes(server, self._private(server), tagged=own is not None),
        )

    def _private(self, server: Server) -> str:
        """Return the address of the first card that has one that is known, or else nothing."""
        nics = server.private_nics or ()
        known = (self.cards.get(nic.id or "", "") for nic in nics)
        return next((ip for ip in known if ip), "") or server.private_ip or ""

    def address(self, ip: Ip) -> Resource:
        """Return an address as a resource; its family says its slot where no owner tag does."""
        tags = ip.tags or _NO_TAGS
        claim = claim_of(tags, "", "address")
        status, index = intern(ip.state or ""), _FAMILIES.get(ip.type or "", 0)
        taken = claim is not None and (pool_of(tags) or self._is_taken(tags, claim))
        return Resource(
            id=taken_id(ip.id, claim.owner_tag.machine) if claim and taken else shared_id(ip.id),
            slot=claim.slot if claim else Slot("address", index),
            zone=self.zone,
            owner_tag=claim.owner_tag if claim else None,
            partial_tag=None if claim else partial_of(tags),
            status=status,
            condition=condition("address", status),
            owner=shared_id(ip.server.id) if ip.server else None,
            price=self.prices.ipv6 if index else self.prices.ipv4,
            address=ip.address or "",
        )

    def _is_taken(self, tags: Sequence[str], claim: Claim) -> bool:
        return claim.slot.index == 0 and self.pools.get(claim.owner_tag.fleet) in tags

    def attached(self, ip: PublicIp, resource: ResourceId, server: ResourceId) -> Resource:
        """Return an address that was asked for, as its server's body shows it, as a resource."""
        claim = claim_of(ip.tags or _NO_TAGS, "", "address")
        status, index = intern(ip.state or ""), _FAMILIES.get(ip.family or "", 0)
        return Resource(
            id=resource,
            slot=claim.slot if claim else Slot("address", index),
            zone=self.zone,
            owner_tag=claim.owner_tag if claim else None,
            partial_tag=None if claim else partial_of(ip.tags or _NO_TAGS),
            status=status,
            condition=condition("address", status),
            owner=server,
            price=self.prices.ipv6 if index else self.prices.ipv4,
            address=ip.address or "",
        )

    def volume(self, volume: Volume) -> Resource:
        """Return a local volume as a resource; it is busy while attached, whatever its state."""
        owner = shared_id(volume.server.id) if volume.server else None
        status = intern(volume.state or "")
        stands = condition("volume", status)
        busy = owner is not None and stands is Condition.FREE
        claim = claim_of(volume.tags or _NO_TAGS, volume.name or "", "volume")
        size = (volume.size or 0) // GIGABYTE
        return Resource(
            id=shared_id(volume.id),
            slot=self._place(claim, owner, ResourceId(volume.id)),
            zone=self.zone,
            owner_tag=claim.owner_tag if claim else None,
            partial_tag=None if claim else partial_of(volume.tags or _NO_TAGS, volume.name or ""),
            status=status,
            condition=Condition.BUSY if busy else stands,
            owner=owner,
            created=moment(volume.creation_date),
            price=size * self.prices.l_ssd_gb,
            name=volume.name or "",
            type=volume.volume_type or "l_ssd",
            notes=_volume_notes(volume.tags, ("size", str(size))),
        )

    def block(self, volume: BlockVolume) -> Resource:
        """Return a block volume as a resource; its first reference is its owner."""
        owner = owner_of(volume)
        status = intern(volume.status or "")
        claim = claim_of(volume.tags or _NO_TAGS, volume.name or "", "volume")
        size = (volume.size or 0) // GIGABYTE
        iops = (volume.specs.perf_iops if volume.specs else None) or 5000
        rate = self.prices.sbs_15k_gb if iops > 5000 else self.prices.sbs_5k_gb
        return Resource(
            id=shared_id(volume.id),
            slot=self._place(claim, owner, ResourceId(volume.id)),
            zone=self.zone,
            owner_tag=claim.owner_tag if claim else None,
            partial_tag=None if claim else partial_of(volume.tags or _NO_TAGS, volume.name or ""),
            status=status,
            condition=condition("volume", status),
            owner=owner,
            created=moment(volume.created_at),
            price=size * rate,
            name=volume.name or "",
            type="sbs_volume",
            notes=_volume_notes(volume.tags, ("size", str(size)), ("iops", str(iops))),
        )

    def _place(self, claim: Claim | None, owner: ResourceId | None, volume: ResourceId) -> Slot:
        if claim:
            return claim.slot
        kin = self.kin.get(owner) if owner else None
        return Slot("volume", kin.volumes.get(volume, UNPLACED) if kin else UNPLACED)


def shared_id(text: str) -> ResourceId:
    """Return an id, of which there is one object, however many resources and records name it."""
    return ResourceId(intern(text))


Texts = TypeVar("Texts", tuple[str, ...], tuple[tuple[str, str], ...])


@lru_cache(maxsize=1024)
def _shared(texts: Texts) -> Texts:
    """Return the first of equal texts: thousands of servers may be asked for the same five acts."""
    return texts


def owner_of(volume: BlockVolume) -> ResourceId | None:
    """Return the server that a block volume is attached to, or None."""
    for reference in volume.references or ():
        if reference.product_resource_id and reference.status != "detached":
            return shared_id(reference.product_resource_id)
    return None


def kin_of(server: Server, claim: Claim | None = None) -> Kin | None:
    """Return what must be remembered of a server with an owner tag or a part of one, or None."""
    claim = claim_of(server.tags or _NO_TAGS, "", "server") or claim
    if claim is None and partial_of(server.tags or _NO_TAGS) is None:
        return None
    volumes = {shared_id(v.id): place for place, v in server_volumes(server) if v.id}
    return Kin(claim.owner_tag.machine if claim else None, volumes)


def server_volumes(server: Server) -> list[tuple[int, ServerVolume]]:
    """Return a server's volumes by their place; an entry whose key is no number has none."""
    found = server.volumes or {}
    return [(int(k), v) for k, v in found.items() if k.isascii() and k.isdigit() and len(k) < 4]


def moment(text: str | None) -> datetime | None:
    """Return a date of the API as a time, or None for one that is none."""
    if not text:
        return None
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _address_of(server: Server) -> str:
    """Return the first public IPv4 address, or else an IPv6 one."""
    ips = [ip for ip in server.public_ips or () if ip.address]
    best = min(ips, key=_rank, default=None)
    return (best.address if best else None) or ""


def _rank(ip: PublicIp) -> int:
    return _FAMILIES.get(ip.family or "", 2)


def _server_notes(server: Server, private: str, *, tagged: bool) -> tuple[tuple[str, str], ...]:
    volumes = ",".join(
        f"{place}:{v.id}:{v.volume_type or 'sbs_volume'}"
        for place, v in server_volumes(server)
        if _plain(v.id) and _plain(v.volume_type or "sbs_volume")
    )
    nics = ",".join(n.private_network_id or "" for n in server.private_nics or ())
    notes = [
        ("volumes", volumes),
        ("nics", nics),
        ("arch", ARCHES.get(server.arch or "", "")),
        ("private", private),
        ("security_group", intern(group.id) if (group := server.security_group) else ""),
        ("untagged", "" if tagged else "yes"),
    ]
    return tuple((key, value) for key, value in notes if value)


def _volume_notes(tags: Sequence[str] | None, *notes: Note) -> tuple[Note, ...]:
    """Return these notes, and that its name alone says whose a volume is, if it does."""
    tagged = from_tags(tags or _NO_TAGS, "volume") is not None
    return _shared(notes if tagged else (*notes, ("untagged", "yes")))


def _plain(text: str | None) -> bool:
    """Tell whether a text may stand in a list with commas and colons: ids and types do."""
    return text is not None and text.replace("-", "").replace("_", "").isalnum()
