"""Images and snapshots of the Instance API, the marketplace, and what a label stands for."""

from hostler.simulators.scaleway.api.bodies import image_body, instance_body
from hostler.simulators.scaleway.api.checks import object_of, owner_of, tags_of, text_of
from hostler.simulators.scaleway.api.pages import (
    INSTANCE,
    NEWER,
    lagging,
    matching,
    paged,
    window,
)
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import (
    ARCHS,
    PUBLIC_IMAGES,
    ServerType,
    image_id,
    types_of,
)
from hostler.simulators.scaleway.state.inventory import SCALEWAY, Cloud
from hostler.simulators.scaleway.state.records import (
    BlockVolume,
    Image,
    LocalVolume,
    Owner,
    Server,
    Snapshot,
    State,
)

PATH = "/instance/v1/zones/*"
MARKET = "/marketplace/v2"
IMAGES: Resource[Image] = Resource(
    stored=lambda cloud: cloud.images,
    name="instance_image",
    body=image_body,
    style=INSTANCE.of("images"),
    key="image",
)


def resolve(cloud: Cloud, call: Call, sort: ServerType) -> Image | None:
    """Return the image that a server's body names, by id or by label; None where it names none."""
    name = text_of(call.body, "image")
    if not name:
        return None
    image = cloud.peek(cloud.images, call, name)
    if image is None and "-" not in name:
        image = by_label(cloud, call, name, sort)
    if image is None:
        raise errors.not_found("instance_image", name)
    if image.arch != sort.arch:
        words = f"image architecture {image.arch} does not fit {sort.name}"
        raise errors.invalid(("image", "constraint", words))
    return image


def by_label(cloud: Cloud, call: Call, label: str, sort: ServerType) -> Image | None:
    """Return the image of a label that fits the type and the root volume that is asked for."""
    root = object_of(object_of(call.body, "volumes"), "0")
    local = text_of(root, "volume_type") == "l_ssd"
    kind = "instance_local" if local else "instance_sbs"
    return cloud.images.get(image_id(call.place, label, sort.arch, kind))


def image_list(cloud: Cloud, call: Call) -> Answer:
    """List the public images of a zone and one's own."""
    keep, arch = matching(call), call.choice("arch")
    visible = (call.organization, SCALEWAY)
    items = [
        image
        for image in cloud.images.within(call.place)
        if image.organization in visible and keep(image) and arch in ("", image.arch)
    ]
    if call.struck:
        items = lagging(cloud, call, cloud.images, keep, items)
    return IMAGES.page(cloud, call, items)


def image_create(cloud: Cloud, call: Call) -> Answer:
    """Make an image of a snapshot."""
    root = text_of(call.body, "root_volume")
    snapshot = cloud.peek(cloud.snapshots, call, root)
    snapshot = snapshot or cloud.find(cloud.block_snapshots, call, root, "instance_snapshot")
    arch = text_of(call.body, "arch") or ARCHS[0]
    if arch not in ARCHS:
        raise errors.invalid(("arch", "constraint", "not a valid value"))
    name = text_of(call.body, "name") or f"img-{root[:8]}"
    image = new_image(cloud, owner_of(call), name, snapshot)
    image.arch, image.tags = arch, tags_of(call.body)
    return IMAGES.answer(cloud, image, 201)


def new_image(cloud: Cloud, owner: Owner, name: str, root: Snapshot) -> Image:
    """Make a private image."""
    image = Image(
        **cloud.born(owner),
        name=name,
        arch=ARCHS[0],
        root_id=root.id,
        root_type="sbs_snapshot" if root.kind == "sbs" else root.kind,
        root_size=root.size,
        public=False,
    )
    cloud.images.put(image)
    cloud.ledger.open("image", image, 0.0, cloud.now)
    return image


def image_delete(cloud: Cloud, call: Call) -> Answer:
    """Delete an image of one's own; its snapshots stay."""
    image = IMAGES.find(cloud, call)
    if image.public:
        raise errors.forbidden("write", "image")
    return IMAGES.drop(cloud, image)


def snapshot_body(cloud: Cloud, snapshot: Snapshot) -> dict[str, object]:
    """Return the body of a snapshot of a local volume."""
    base = {"id": snapshot.volume_id, "name": snapshot.volume_name}
    return {
        **instance_body(cloud, snapshot),
        "volume_type": snapshot.kind,
        "size": snapshot.size,
        "state": snapshot.state,
        "base_volume": base if snapshot.volume_id else None,
        "error_reason": None,
    }


SNAPSHOTS: Resource[Snapshot] = Resource(
    stored=lambda cloud: cloud.snapshots,
    name="instance_snapshot",
    body=snapshot_body,
    style=INSTANCE.of("snapshots"),
    key="snapshot",
    newest_first=True,
)


def snap(cloud: Cloud, volume: LocalVolume | BlockVolume, name: str) -> Snapshot:
    """Take a snapshot of a volume; of one at work it takes its time."""
    block = isinstance(volume, BlockVolume)
    hot = not block and volume.server is not None and volume.server.state == State.RUNNING
    snapshot = Snapshot(
        **cloud.born(volume.owner),
        name=name,
        kind="sbs" if block else volume.kind,
        size=volume.size,
        state="snapshotting" if hot else "available",
        volume_id=volume.id,
        volume_name=volume.name,
    )
    (cloud.block_snapshots if block else cloud.snapshots).put(snapshot)
    cloud.ledger.open("snapshot", snapshot, 0.0, cloud.now)
    if hot and isinstance(volume, LocalVolume):
        shoot(cloud, volume, snapshot)
    return snapshot


def shoot(cloud: Cloud, volume: LocalVolume, snapshot: Snapshot) -> None:
    """Keep a volume busy until its snapshot is there."""
    busy(volume, "snapshotting")

    def done() -> None:
        snapshot.state = "available"
        if volume.state == "snapshotting":
            busy(volume, "available")

    cloud.after(cloud.lasts("snapshot.hot"), done)


def busy(volume: LocalVolume, state: str) -> None:
    """Put a volume in a state, which its server shows, too."""
    volume.state = state
    if volume.server:
        volume.server.wire = None


def snapshot_create(cloud: Cloud, call: Call) -> Answer:
    """Take a snapshot of a local volume."""
    volume_id = text_of(call.body, "volume_id")
    volume = cloud.find(cloud.locals, call, volume_id, "instance_volume")
    if volume.busy:
        raise errors.transient("instance_volume", volume.id, volume.state)
    snapshot = snap(cloud, volume, text_of(call.body, "name") or f"snap-{volume.name}")
    snapshot.tags = tags_of(call.body)
    task = {
        "id": cloud.new_id(),
        "description": "volume_snapshot",
        "status": "pending",
        "href_from": "/snapshots",
        "href_result": f"snapshots/{snapshot.id}",
        "started_at": cloud.date(cloud.now),
        "terminated_at": None,
        "progress": 0,
        "zone": snapshot.zone,
    }
    body = {"snapshot": snapshot_body(cloud, snapshot), "task": task}
    return Answer(201, body, subject=snapshot)


def backup(cloud: Cloud, server: Server, call: Call) -> str | None:
    """Make an image of a server and snapshots of its volumes; return where the image is."""
    shots = [snap(cloud, volume, f"snap-{server.name}") for volume in server.volumes.values()]
    name = text_of(call.body, "name") or f"img-{server.name}"
    if not shots:
        raise errors.invalid(("volumes", "required", "the server has no volume"))
    owner = server.owner
    image = new_image(cloud, owner, name, shots[0])
    image.arch, image.from_server = server.arch, server.id
    return f"images/{image.id}"


def local_images(_cloud: Cloud, call: Call) -> Answer:
    """Show which images a label stands for in a zone."""
    label, zone = call.text("image_label"), call.text("zone") or "fr-par-1"
    if label and label not in {public.label for public in PUBLIC_IMAGES}:
        raise errors.not_found("MarketplaceImage", label)
    kinds = [call.choice("type")] if call.choice("type") else ["instance_local", "instance_sbs"]
    archs = [call.choice("arch")] if call.choice("arch") else list(ARCHS)
    found = [
        local_image(zone, public.label, arch, kind)
        for public in PUBLIC_IMAGES
        for kind in kinds
        for arch in archs
        if label in ("", public.label)
    ]
    start, size = window(call, NEWER)
    return paged(call, {"local_images": found[start : start + size]}, len(found), NEWER)


def local_image(zone: str, label: str, arch: str, kind: str) -> dict[str, object]:
    """Return the body of an image of the marketplace in a zone."""
    local = kind == "instance_local"
    fitting = [
        sort.name
        for sort in types_of(zone).values()
        if sort.arch == arch and (sort.local or not local)
    ]
    return {
        "id": image_id(zone, label, arch, kind),
        "arch": arch,
        "zone": zone,
        "compatible_commercial_types": fitting,
        "label": label,
        "type": kind,
    }


def market_images(cloud: Cloud, call: Call) -> Answer:
    """List what the marketplace has."""
    date = cloud.zulu(0.0)
    found: list[object] = [
        {
            "id": image_id("", public.label, "", ""),
            "name": public.name,
            "description": public.name,
            "logo": "",
            "categories": ["distribution"],
            "label": public.label,
            "created_at": date,
            "updated_at": date,
            "valid_until": None,
        }
        for public in PUBLIC_IMAGES
    ]
    start, size = window(call, NEWER)
    return paged(call, {"images": found[start : start + size]}, len(found), NEWER)


ROUTES = (
    *IMAGES.routes(
        "image", f"{PATH}/images", list=image_list, create=image_create, delete=image_delete
    ),
    *SNAPSHOTS.routes("snapshot", f"{PATH}/snapshots", create=snapshot_create),
    Route("local_image.list", "GET", MARKET + "/local-images", local_images, public=True),
    Route("market_image.list", "GET", MARKET + "/images", market_images, public=True),
)
