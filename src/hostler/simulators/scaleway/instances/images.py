"""Images of the Instance API, public and one's own, and what a label stands for."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.bodies import image_body
from hostler.simulators.scaleway.api.checks import (
    choice_of,
    flag_of,
    id_of,
    object_of,
    owner_of,
    slots_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE, lagging, matching
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.catalogue import ARCHS, ServerType, image_id
from hostler.simulators.scaleway.state.inventory import SCALEWAY, Cloud
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import Image, Snapshot

PATH = "/instance/v1/zones/*/images"
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
    """List the public images of a zone and one's own, or either of them."""
    keep = filter_of(call)
    visible = (call.organization, SCALEWAY)
    items = [
        image
        for image in cloud.images.within(call.place)
        if image.organization in visible and keep(image)
    ]
    if call.struck:
        items = lagging(cloud, call, cloud.images, keep, items)
    return IMAGES.page(cloud, call, items[::-1])


def filter_of(call: Call) -> Callable[[Image], bool]:
    """Return the filter that a query asks for; with a name and nothing else, of one's own."""
    basics, arch, public = matching(call), call.choice("arch", *ARCHS), call.flag("public")
    if call.text("name") and not public:
        public = "false"
    return lambda image: (
        basics(image)
        and arch in ("", image.arch)
        and public in ("", "true" if image.organization == SCALEWAY or image.public else "false")
    )


def image_create(cloud: Cloud, call: Call) -> Answer:
    """Make an image of a snapshot, or of several."""
    root_id = id_of(call.body, "root_volume")
    if not root_id:
        raise errors.invalid(("root_volume", "required", "required key not provided"))
    root = snapshot_of(cloud, call, root_id)
    arch = choice_of(call.body, "arch", *ARCHS) or ARCHS[0]
    extras = extras_of(cloud, call)
    public = flag_of(call.body, "public", default=False)
    tags = tags_of(call.body)
    name = text_of(call.body, "name") or f"img-{root.id[:8]}"
    image = new_image(cloud, owner_of(call), name, root)
    image.arch, image.tags, image.public, image.extras = arch, tags, public, extras
    return IMAGES.made(cloud, call, image)


def snapshot_of(cloud: Cloud, call: Call, snapshot_id: str) -> Snapshot:
    """Return a snapshot of either API."""
    found = cloud.peek(cloud.snapshots, call, snapshot_id)
    return found or cloud.find(cloud.block_snapshots, call, snapshot_id, "instance_snapshot")


def extras_of(cloud: Cloud, call: Call) -> dict[str, Snapshot]:
    """Return the further snapshots that a body names, by their slots."""
    templates = slots_of(call.body, "extra_volumes")
    return {slot: snapshot_of(cloud, call, id_of(one, "id")) for slot, one in templates.items()}


def new_image(cloud: Cloud, owner: Owner, name: str, root: Snapshot) -> Image:
    """Make a private image."""
    image = Image(
        **cloud.born(owner),
        name=name,
        arch=ARCHS[0],
        root_id=root.id,
        root_name="" if root.kind == "sbs" else root.name,
        root_type="sbs_snapshot" if root.kind == "sbs" else root.kind,
        root_size=0 if root.kind == "sbs" else root.size,
        public=False,
    )
    cloud.images.put(image)
    cloud.ledger.open("image", image, 0.0, cloud.now)
    return image


def own_image(cloud: Cloud, call: Call) -> Image:
    """Return the image that a path names; refuse to change what the marketplace has."""
    image = IMAGES.find(cloud, call)
    if image.organization == SCALEWAY:
        raise errors.forbidden("write", "image")
    return image


def image_update(cloud: Cloud, call: Call) -> Answer:
    """Change an image of one's own."""
    image = own_image(cloud, call)
    body: Body = call.body
    arch = choice_of(body, "arch", *ARCHS) or image.arch
    public = flag_of(body, "public", default=image.public)
    extras = extras_of(cloud, call) if body.get("extra_volumes") is not None else image.extras
    tags = tags_of(body) if body.get("tags") is not None else image.tags
    image.name = text_of(body, "name") or image.name
    image.arch, image.public, image.extras, image.tags = arch, public, extras, tags
    image.modified = cloud.now
    return IMAGES.answer(cloud, image)


def image_delete(cloud: Cloud, call: Call) -> Answer:
    """Delete an image of one's own; its snapshots stay."""
    return IMAGES.drop(cloud, own_image(cloud, call))


ROUTES = (
    *IMAGES.routes(
        "image",
        PATH,
        list=image_list,
        create=image_create,
        update=image_update,
        delete=image_delete,
    ),
    Route("image.replace", "PUT", PATH + "/*", image_update),
)
