"""Block Storage volumes, with lives of their own (`/block/v1`, `/block/v1alpha1`)."""

from functools import partial

from hostler.simulators.scaleway.api.bodies import block_volume_body, type_name
from hostler.simulators.scaleway.api.checks import (
    id_of,
    labels_of,
    object_of,
    owner_of,
    size_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import NEWER, listing, ordered, page_of
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import BLOCK_GB_PER_HOUR, GB
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import BlockVolume, Reference, Server

SMALLEST = 5 * GB
LARGEST = 10_000 * GB
DEFAULT_SIZE = 10 * GB
IOPS = (5000, 15000)
BUSY = ("creating", "updating")
VOLUMES: Resource[BlockVolume] = Resource(
    stored=lambda cloud: cloud.volumes,
    name="volume",
    body=block_volume_body,
    style=NEWER.of("volumes"),
)


def new_volume(cloud: Cloud, owner: Owner, name: str, size: int) -> BlockVolume:
    """Make a volume that is being created; who calls decides when it is available."""
    volume = BlockVolume(
        **cloud.born(owner),
        name=name,
        listed_from=cloud.listed_from(),
        size=size,
    )
    cloud.volumes.put(volume)
    cloud.ledger.open("volume", volume, price(volume), cloud.now)
    return volume


def price(volume: BlockVolume) -> float:
    """Return what a volume costs in EUR a second."""
    return volume.size / GB * BLOCK_GB_PER_HOUR * (2 if volume.iops > IOPS[0] else 1) / 3600


def create(cloud: Cloud, call: Call) -> Answer:
    """Make an empty volume, or one from a snapshot; it is available some seconds later."""
    body = call.body
    snapshot_id = id_of(object_of(body, "from_snapshot"), "snapshot_id")
    size = size_of(object_of(body, "from_empty")) or size_of(object_of(body, "from_snapshot"))
    if snapshot_id:
        found = cloud.find(cloud.block_snapshots, call, snapshot_id, "snapshot")
        size = size or found.size
        check_holds(size, found.size)
    checked_size(size)
    name = text_of(body, "name") or f"vol-{cloud.new_id()[:8]}"
    iops = checked_iops(size_of(body, "perf_iops") or IOPS[0])
    tags = tags_of(body)
    volume = new_volume(cloud, owner_of(call), name, size)
    volume.tags, volume.iops, volume.snapshot_id = tags, iops, snapshot_id or None
    cloud.ledger.meter(volume.id, price(volume), cloud.now)
    cloud.after(cloud.lasts("volume.create"), partial(made, volume))
    return VOLUMES.answer(cloud, volume)


def checked_size(size: int) -> int:
    """Return a size that is sold; refuse any other."""
    if not SMALLEST <= size <= LARGEST or size % GB:
        words = f"must be a multiple of {GB} between {SMALLEST} and {LARGEST}"
        raise errors.invalid(("size", "constraint", words))
    return size


def check_holds(size: int, snapshot: int) -> None:
    """Refuse a size that does not hold a snapshot, in the recorded words."""
    if size < snapshot:
        words = (
            "size, when provided, must be equal to or larger than the size of the source snapshot. "
            f"Here the requested volume size is '{size}' whereas snapshot size is '{snapshot}'"
        )
        raise errors.unfit(words)


def checked_iops(iops: int) -> int:
    """Refuse a performance that is not sold."""
    if iops not in IOPS:
        raise errors.invalid(("perf_iops", "constraint", "must be 5000 or 15000"))
    return iops


def made(volume: BlockVolume) -> None:
    """End the creation of a volume."""
    if volume.status == "creating":
        volume.status = "in_use" if volume.reference else "available"


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List volumes. Any of the tags is enough here, unlike in the Instance API."""
    tags, product = call.texts("tags"), call.id("product_resource_id")
    name, project, ids = call.text("name"), call.id("project_id"), call.ids("volume_ids")
    organization, kind = call.id("organization_id"), call.text("volume_type")

    def keep(volume: BlockVolume) -> bool:
        return (
            (not tags or any(tag in volume.tags for tag in tags))
            and (not product or (volume.reference and volume.reference.server_id) == product)
            and (not name or name in volume.name)
            and (not project or volume.project == project)
            and (not ids or volume.id in ids)
            and organization in ("", volume.organization)
            and kind in ("", type_name(volume.iops))
        )

    items = listing(cloud, call, cloud.volumes, keep)
    return VOLUMES.page(cloud, call, ordered(call, items))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a volume, in use or not; another size or performance passes through `updating`."""
    volume, body = VOLUMES.find(cloud, call), call.body
    labels = labels_of(body, volume)
    size, iops = size_of(body) or volume.size, size_of(body, "perf_iops") or volume.iops
    checked_iops(iops)
    if size < volume.size:
        raise errors.invalid(("size", "constraint", "a volume cannot shrink"))
    if volume.status in BUSY and body.get("perf_iops") is not None:
        words = "can't update perf_iops when volume is not available"
        raise errors.invalid(("perf_iops", "constraint", words))
    if volume.status in BUSY and (size, iops) != (volume.size, volume.iops):
        raise errors.transient("volume", volume.id, volume.status)
    if (size, iops) != (volume.size, volume.iops):
        volume.size, volume.iops = checked_size(size), iops
        volume.status = "updating"
        cloud.after(cloud.lasts("volume.update"), partial(updated, cloud, volume))
        cloud.ledger.meter(volume.id, price(volume), cloud.now)
    volume.name, volume.tags = labels
    volume.modified = cloud.now
    return VOLUMES.answer(cloud, volume)


def updated(cloud: Cloud, volume: BlockVolume) -> None:
    """End an update."""
    if volume.status == "updating":
        volume.status = "in_use" if volume.reference else "available"
        volume.modified = cloud.now


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a volume that nothing uses: it is gone at once."""
    volume = VOLUMES.find(cloud, call)
    if volume.reference:
        raise errors.still_in_use("volume must not be in the in_use status")
    if volume.status != "available":
        raise errors.transient("volume", volume.id, volume.status)
    volume.status = "deleted"
    return VOLUMES.drop(cloud, volume)


def attach(cloud: Cloud, volume: BlockVolume, server: Server) -> None:
    """Tie a free volume to a server."""
    volume.server = server
    volume.reference = Reference(id=cloud.new_id(), server_id=server.id, created=cloud.now)
    if volume.status == "available":
        volume.status = "in_use"


def detach(cloud: Cloud, volume: BlockVolume, how: str) -> None:
    """Take a volume from its server at once; Block Storage notices after a while (`how`)."""
    tie = volume.reference
    if volume.server:
        touch(cloud, volume.server)
    volume.server, volume.attaching = None, False
    if tie:
        tie.status = "detaching"
        if how == "now":
            detached(cloud, volume, tie)
        else:
            cloud.after(cloud.lasts(how), partial(detached, cloud, volume, tie))


def detached(cloud: Cloud, volume: BlockVolume, tie: Reference) -> None:
    """End the detaching of a volume."""
    if volume.reference is tie:
        volume.reference, volume.detached = None, cloud.now
        volume.modified = cloud.now
        volume.status = "available" if volume.status in ("in_use", "updating") else volume.status


def type_list(cloud: Cloud, call: Call) -> Answer:
    """List the types of volumes."""
    return page_of(
        cloud, call, list(IOPS), partial(type_body, call.place), NEWER.of("volume_types")
    )


def type_body(zone: str, iops: int) -> dict[str, object]:
    """Return the body of a type of volumes, with its price of a GB and an hour."""
    nanos = round(BLOCK_GB_PER_HOUR * 10**9) * (2 if iops > IOPS[0] else 1)
    price = {"currency_code": "EUR", "units": 0, "nanos": nanos}
    return {
        "type": type_name(iops),
        "pricing": price,
        "snapshot_pricing": price,
        "specs": {"perf_iops": iops, "class": "sbs"},
        "zone": zone,
    }


def of_version(version: str) -> tuple[Route, ...]:
    """Return the routes of one version of the API; both have the same handlers."""
    path = f"/block/{version}/zones/*"
    own = {"list": list_all, "create": create, "update": update, "delete": delete}
    return (
        *VOLUMES.routes("volume", f"{path}/volumes", **own),
        Route("volume_type.list", "GET", f"{path}/volume-types", type_list),
    )


ROUTES = (*of_version("v1"), *of_version("v1alpha1"))
