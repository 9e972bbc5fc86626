"""Endpoints: those that we use, each a method that says what it sends and what it reads."""

from typing import TypeVar

from hostler.domain.ids import Zone
from hostler.ports.http import Response

from .client import Client, Query
from .errors import Failed, Garbled, Trouble
from .pages import Listing, Named, Paged, list_all
from .wire import (
    ADDRESSES,
    BLOCKS,
    IMAGES,
    LOCAL_IMAGES,
    PRIVATE_IPS,
    QUOTA,
    SERVERS,
    SSH_KEYS,
    STOCKS,
    TYPES,
    VOLUMES,
    BlockVolume,
    Image,
    Ip,
    LocalImage,
    PrivateIp,
    Quotum,
    Server,
    ServerType,
    Shape,
    SshKey,
    Stock,
    Unreadable,
    Volume,
)

N = TypeVar("N", bound=Named)
T = TypeVar("T")

_KEYS = "/iam/v1alpha1/ssh-keys"
PERHAPS_WITHOUT_BLOCK = frozenset({Zone("it-mil-1")})
"""Zones that official clients do not name for the block API, though every type there boots from it.

Recorded in it-mil-1: no type has local storage, and all say `block_storage`.
"""


class Api:
    """The API of one account. Listings never raise; everything else raises errors.TROUBLE."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.project = client.account.project

    async def servers(self, zone: Zone, tag: str = "") -> Listing[Server]:
        """List the project's servers, or those that carry a tag, eldest first.

        Eldest first, so that what is made while pages are read comes at the end.
        """
        query = (("project", self.project), ("order", "creation_date_asc"), *_tag(tag))
        return await list_all(
            self.client, Paged(_zone(zone, "servers"), SERVERS, "per_page", query)
        )

    async def server(self, zone: Zone, server: str) -> Server:
        """Read one server."""
        return single(SERVERS, await self.client.get(_zone(zone, f"servers/{server}")))

    async def create_server(self, zone: Zone, body: dict[str, object]) -> Server:
        """Make a server; it is off, its volumes and addresses are attached."""
        path = _zone(zone, "servers")
        return single(SERVERS, await self.client.post(path, {**body, "project": self.project}))

    async def act(self, zone: Zone, server: str, action: str) -> None:
        """Ask a server for an action; the answer's task tells nothing (it is a placeholder)."""
        await self.client.post(_zone(zone, f"servers/{server}/action"), {"action": action})

    async def change_server(self, zone: Zone, server: str, body: dict[str, object]) -> Server:
        """Change a server's own fields."""
        return single(SERVERS, await self.client.patch(_zone(zone, f"servers/{server}"), body))

    async def delete_server(self, zone: Zone, server: str) -> None:
        """Delete a server that is off; its volumes stay."""
        await self.client.delete(_zone(zone, f"servers/{server}"))

    async def set_cloud_init(self, zone: Zone, server: str, content: bytes) -> None:
        """Write the user data that the first boot reads."""
        path = _zone(zone, f"servers/{server}/user_data/cloud-init")
        await self.client.patch_text(path, content)

    async def attach_network(self, zone: Zone, server: str, network: str) -> None:
        """Give a server a card in a private network."""
        path = _zone(zone, f"servers/{server}/private_nics")
        await self.client.post(path, {"private_network_id": network})

    async def addresses(self, zone: Zone, tag: str = "") -> Listing[Ip]:
        """List the project's flexible addresses, or those that carry a tag."""
        query = (("project", self.project), *_tag(tag))
        return await list_all(self.client, Paged(_zone(zone, "ips"), ADDRESSES, "per_page", query))

    async def address(self, zone: Zone, address: str) -> Ip:
        """Read one address by its id."""
        return single(ADDRESSES, await self.client.get(_zone(zone, f"ips/{address}")))

    async def create_address(self, zone: Zone, family: str, tags: tuple[str, ...]) -> Ip:
        """Make a `routed_ipv4` or `routed_ipv6` address that is attached to nothing."""
        body = {"project": self.project, "type": family, "tags": list(tags)}
        return single(ADDRESSES, await self.client.post(_zone(zone, "ips"), body))

    async def change_address(self, zone: Zone, address: str, body: dict[str, object]) -> Ip:
        """Attach (`server`: an id), detach (`server`: null) or tag an address."""
        return single(ADDRESSES, await self.client.patch(_zone(zone, f"ips/{address}"), body))

    async def delete_address(self, zone: Zone, address: str) -> None:
        """Delete an address, attached or not."""
        await self.client.delete(_zone(zone, f"ips/{address}"))

    async def volumes(self, zone: Zone, tag: str = "") -> Listing[Volume]:
        """List the project's local volumes, or those that carry a tag."""
        query = (("project", self.project), *_tag(tag))
        return await list_all(
            self.client, Paged(_zone(zone, "volumes"), VOLUMES, "per_page", query)
        )

    async def volume(self, zone: Zone, volume: str) -> Volume:
        """Read one local volume."""
        return single(VOLUMES, await self.client.get(_zone(zone, f"volumes/{volume}")))

    async def tag_volume(self, zone: Zone, volume: str, tags: tuple[str, ...]) -> Volume:
        """Tag a local volume."""
        path = _zone(zone, f"volumes/{volume}")
        return single(VOLUMES, await self.client.patch(path, {"tags": list(tags)}))

    async def delete_volume(self, zone: Zone, volume: str) -> None:
        """Delete a local volume that is attached to nothing."""
        await self.client.delete(_zone(zone, f"volumes/{volume}"))

    async def blocks(self, zone: Zone, query: Query = ()) -> Listing[BlockVolume]:
        """List the project's block volumes; a zone that is refused as unknown has none."""
        query = (("project_id", self.project), ("order_by", "created_at_asc"), *query)
        found = await list_all(
            self.client, Paged(_block(zone, "volumes"), BLOCKS, "page_size", query)
        )
        unknown = zone in PERHAPS_WITHOUT_BLOCK and _is_refused(found.trouble)
        return Listing() if unknown else found

    async def block(self, zone: Zone, volume: str) -> BlockVolume:
        """Read one block volume."""
        return bare(BLOCKS, await self.client.get(_block(zone, f"volumes/{volume}")))

    async def change_block(self, zone: Zone, volume: str, body: dict[str, object]) -> BlockVolume:
        """Tag a block volume or change its I/O rate; it may be in use."""
        return bare(BLOCKS, await self.client.patch(_block(zone, f"volumes/{volume}"), body))

    async def delete_block(self, zone: Zone, volume: str) -> None:
        """Delete a block volume that is available."""
        await self.client.delete(_block(zone, f"volumes/{volume}"))

    async def private_addresses(self, zone: Zone) -> Listing[PrivateIp]:
        """List the private IPv4 addresses of servers' cards, in the whole region of a zone."""
        region = zone.rpartition("-")[0]
        query = (
            ("project_id", self.project),
            ("resource_type", "instance_private_nic"),
            ("is_ipv6", "false"),
        )
        path = f"/ipam/v1/regions/{region}/ips"
        return await list_all(self.client, Paged(path, PRIVATE_IPS, "page_size", query))

    async def ssh_keys(self) -> Listing[SshKey]:
        """List the project's SSH keys, eldest first."""
        query = (("project_id", self.project), ("order_by", "created_at_asc"))
        return await list_all(self.client, Paged(_KEYS, SSH_KEYS, "page_size", query))

    async def create_ssh_key(self, name: str, public_key: str) -> SshKey:
        """Add an SSH key to the project: servers that boot from now on let it in."""
        body = {"name": name, "public_key": public_key, "project_id": self.project}
        return bare(SSH_KEYS, await self.client.post(_KEYS, body))

    async def quota(self, organization: str) -> Listing[Quotum]:
        """List how many of each thing an organisation may have."""
        query = (("organization_id", organization),)
        path = "/iam/v1alpha1/quota"
        return await list_all(self.client, Paged(path, QUOTA, "page_size", query))

    async def exists(self, path: str) -> None:
        """Read something for nothing but whether that can be done."""
        await self.client.get(path)

    async def delete_ssh_key(self, key: str) -> None:
        """Delete an SSH key; servers that run keep letting it in until they boot again."""
        await self.client.delete(f"{_KEYS}/{key}")

    async def local_images(self, zone: Zone, label: str, kind: str) -> Listing[LocalImage]:
        """List the images of a label: of `instance_sbs` or `instance_local` kind."""
        query = (("image_label", label), ("zone", zone), ("type", kind))
        path = "/marketplace/v2/local-images"
        return await list_all(self.client, Paged(path, LOCAL_IMAGES, "page_size", query))

    async def image(self, zone: Zone, image: str) -> Image:
        """Read one image by its id."""
        return single(IMAGES, await self.client.get(_zone(zone, f"images/{image}")))

    async def types(self, zone: Zone, page: int) -> dict[str, ServerType]:
        """Read one page of the types that the zone sells; empty beyond the last."""
        return mapping(TYPES, await self._products(zone, "products/servers", page))

    async def stocks(self, zone: Zone, page: int) -> dict[str, Stock]:
        """Read one page of whether the types can be had; empty beyond the last."""
        return mapping(STOCKS, await self._products(zone, "products/servers/availability", page))

    async def _products(self, zone: Zone, path: str, page: int) -> Response:
        query = (("page", str(page)), ("per_page", "100"))
        return await self.client.get(_zone(zone, path), query)


def single(shape: Shape[N], response: Response) -> N:
    """Return the object under its key; a success that cannot be read is Garbled."""
    try:
        return shape.single(response.body)
    except Unreadable as error:
        raise Garbled(str(error)) from None


def bare(shape: Shape[T], response: Response) -> T:
    """Return the object that is the whole body; a success that cannot be read is Garbled."""
    try:
        return shape.bare(response.body)
    except Unreadable as error:
        raise Garbled(str(error)) from None


def mapping(shape: Shape[T], response: Response) -> dict[str, T]:
    """Return a map from names; a success that cannot be read is Garbled."""
    try:
        return shape.mapping(response.body)
    except Unreadable as error:
        raise Garbled(str(error)) from None


def _zone(zone: Zone, path: str) -> str:
    return f"/instance/v1/zones/{zone}/{path}"


def _block(zone: Zone, path: str) -> str:
    return f"/block/v1/zones/{zone}/{path}"


def _tag(tag: str) -> Query:
    return (("tags", tag),) if tag else ()


def _is_refused(trouble: Trouble | None) -> bool:
    """Tell whether the API itself says that a path or a zone is not there."""
    return isinstance(trouble, Failed) and trouble.problem.status in {400, 404}
