"""The catalogue of Apple silicon: types with their stock, and images."""

from functools import partial

from hostler.simulators.scaleway.api.pages import NEWER, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import DEFAULT_IMAGE, DEVOS, MacType, types_of
from hostler.simulators.scaleway.state.mac_records import OsImage

from .bodies import OS, image_of, os_body, type_body

ZONE = "/apple-silicon/v1alpha1/zones/*"


def stock_of(cloud: Cloud, zone: str, sort: MacType) -> str:
    """Return how many of a type a zone has."""
    return cloud.stock.get(f"{zone}/{sort.name}") or cloud.stock.get(sort.name) or sort.stock


def default_image(cloud: Cloud, sort: MacType) -> OsImage | None:
    """Return what a type boots if nothing is asked for, or None where nothing is published."""
    fitting = [image for image in cloud.os_images if sort.name in image.types]
    usual = [image for image in fitting if image.name == DEFAULT_IMAGE]
    others = [image for image in fitting if image.family != DEVOS]
    return (usual or others[-1:] or [None])[0]


def chosen_image(cloud: Cloud, sort: MacType, image_id: str) -> OsImage:
    """Return the image that is asked for, or the default; refuse one that a type cannot boot."""
    if not image_id:
        image = default_image(cloud, sort)
        if image is None:
            raise errors.not_found(OS, "")
        return image
    image = image_of(cloud, image_id)
    if sort.name not in image.types:
        raise errors.invalid(("os_id", "constraint", f"not compatible with {sort.name}"))
    return image


def types(cloud: Cloud, call: Call) -> Answer:
    """List the types of a zone, all at once."""
    found = [type_in_zone(cloud, call, sort) for sort in types_of(call.place).values()]
    return Answer(200, {"server_types": found})


def type_get(cloud: Cloud, call: Call) -> Answer:
    """Show a type."""
    sort = types_of(call.place).get(call.names[0])
    if sort is None:
        raise errors.not_found("server_type", call.names[0])
    return Answer(200, type_in_zone(cloud, call, sort))


def type_in_zone(cloud: Cloud, call: Call, sort: MacType) -> dict[str, object]:
    """Return the body of a type in a call's zone."""
    zone = call.place
    return type_body(sort, stock_of(cloud, zone, sort), default_image(cloud, sort))


def images(cloud: Cloud, call: Call) -> Answer:
    """List the images that can be installed, by the beginning of a name and by type."""
    name, sort = call.text("name"), call.text("server_type")
    found = [
        image
        for image in cloud.os_images
        if image.name.startswith(name) and (not sort or sort in image.types)
    ]
    return page_of(cloud, call, found, partial(os_body, listed=True), NEWER.of("os"))


def image_get(cloud: Cloud, call: Call) -> Answer:
    """Show an image."""
    image = image_of(cloud, call.names[0])
    return Answer(200, os_body(image), subject=image)


ROUTES = (
    Route("mac_type.list", "GET", ZONE + "/server-types", types),
    Route("mac_type.get", "GET", ZONE + "/server-type/*", type_get),
    Route("mac_os.list", "GET", ZONE + "/os", images),
    Route("mac_os.get", "GET", ZONE + "/os/*", image_get),
)
