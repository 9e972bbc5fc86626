"""The marketplace: images, their versions and categories, and what they are in each zone."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.pages import NEWER, Key, arranged, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import (
    ARCHS,
    LOCAL_IMAGE_TYPES,
    PUBLIC_IMAGES,
    PublicImage,
    image_id,
    types_of,
)
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.options import INSTANCE_ZONES

MARKET = "/marketplace/v2"
CATEGORIES = {"distribution": "Operating systems", "instantapp": "Software that is set up"}
Body = dict[str, object]


def category_of(public: PublicImage) -> str:
    """Return the category of an image."""
    return "instantapp" if public.label == "docker" else "distribution"


def id_of(kind: str, label: str) -> str:
    """Return the id of an image, a version or a category of the marketplace."""
    return image_id("", label, "", kind)


def local_images(cloud: Cloud, call: Call) -> Answer:
    """Show which images a label, an image or a version stands for in a zone."""
    label, zone = call.text("image_label"), call.choice("zone", *INSTANCE_ZONES) or "fr-par-1"
    if label and label not in {public.label for public in PUBLIC_IMAGES}:
        raise errors.not_found("MarketplaceImage", label)
    kind, arch = call.choice("type", *LOCAL_IMAGE_TYPES), call.choice("arch", *ARCHS)
    ids = {call.id("image_id"), call.id("version_id")} - {""}
    found = [
        local_image(zone, public.label, one, sort)
        for public in PUBLIC_IMAGES
        for sort in LOCAL_IMAGE_TYPES
        for one in ARCHS
        if label in ("", public.label) and kind in ("", sort) and arch in ("", one)
        if not ids or not ids.isdisjoint((id_of("", public.label), id_of("v", public.label)))
    ]
    found = arranged(call, found, {"type": lambda one: str(one["type"]), "created_at": no_date})
    return page_of(cloud, call, found, same, NEWER.of("local_images"))


def no_date(_one: object) -> float:
    """Return the date of what the marketplace has: all of it is as old as the world."""
    return 0.0


def same(body: Body) -> Body:
    """Return a body that is whole already."""
    return body


def local_image(zone: str, label: str, arch: str, kind: str) -> Body:
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


def local_image_get(cloud: Cloud, call: Call) -> Answer:
    """Show an image of the marketplace in a zone."""
    image = cloud.images.get(call.names[0])
    if image is None or not image.label:
        raise errors.not_found("local_image", call.names[0])
    kind = "instance_local" if image.root_type == "l_ssd" else "instance_sbs"
    return Answer(200, local_image(image.zone, image.label, image.arch, kind))


def image_body(cloud: Cloud, public: PublicImage) -> Body:
    """Return the body of an image of the marketplace."""
    return {
        "id": id_of("", public.label),
        "name": public.name,
        "description": public.name,
        "logo": f"https://example.invalid/{public.label}.png",
        "categories": [category_of(public)],
        "label": public.label,
        "created_at": cloud.zulu(0.0),
        "updated_at": cloud.zulu(0.0),
        "valid_until": None,
    }


def images(cloud: Cloud, call: Call) -> Answer:
    """List what the marketplace has."""
    category, arch = call.text("category"), call.choice("arch", *ARCHS)
    found = [
        one for one in PUBLIC_IMAGES if category in ("", category_of(one)) and arch in ("", *ARCHS)
    ]
    keys: dict[str, Callable[[PublicImage], Key]] = {
        "name": lambda one: one.name,
        "created_at": no_date,
        "updated_at": no_date,
    }
    found = arranged(call, found, keys)
    return page_of(cloud, call, found, partial(image_body, cloud), NEWER.of("images"))


def image_get(cloud: Cloud, call: Call) -> Answer:
    """Show an image of the marketplace."""
    return Answer(200, image_body(cloud, public_of(call.names[0], "")))


def public_of(found_id: str, kind: str) -> PublicImage:
    """Return the image that an id of it, or of its version, means."""
    for public in PUBLIC_IMAGES:
        if id_of(kind, public.label) == found_id:
            return public
    raise errors.not_found("MarketplaceVersion" if kind else "MarketplaceImage", found_id)


def version_body(cloud: Cloud, public: PublicImage) -> Body:
    """Return the body of a version; each image has one."""
    date = cloud.zulu(0.0)
    own = {"id": id_of("v", public.label), "name": public.name}
    return {**own, "created_at": date, "updated_at": date, "published_at": date}


def versions(cloud: Cloud, call: Call) -> Answer:
    """List the versions of an image."""
    found = arranged(call, [public_of(call.id("image_id"), "")], {"created_at": no_date})
    return page_of(cloud, call, found, partial(version_body, cloud), NEWER.of("versions"))


def version_get(cloud: Cloud, call: Call) -> Answer:
    """Show a version."""
    return Answer(200, version_body(cloud, public_of(call.names[0], "v")))


def category_body(name: str) -> Body:
    """Return the body of a category."""
    return {"id": id_of("c", name), "name": name, "description": CATEGORIES[name]}


def categories(cloud: Cloud, call: Call) -> Answer:
    """List the categories."""
    return page_of(cloud, call, list(CATEGORIES), category_body, NEWER.of("categories"))


def category_get(_cloud: Cloud, call: Call) -> Answer:
    """Show a category."""
    for name in CATEGORIES:
        if id_of("c", name) == call.names[0]:
            return Answer(200, category_body(name))
    raise errors.not_found("MarketplaceCategory", call.names[0])


ROUTES = (
    Route("local_image.list", "GET", MARKET + "/local-images", local_images, public=True),
    Route("local_image.get", "GET", MARKET + "/local-images/*", local_image_get, public=True),
    Route("market_image.list", "GET", MARKET + "/images", images, public=True),
    Route("market_image.get", "GET", MARKET + "/images/*", image_get, public=True),
    Route("market_version.list", "GET", MARKET + "/versions", versions, public=True),
    Route("market_version.get", "GET", MARKET + "/versions/*", version_get, public=True),
    Route("market_category.list", "GET", MARKET + "/categories", categories, public=True),
    Route("market_category.get", "GET", MARKET + "/categories/*", category_get, public=True),
)
