"""Volumes of the Instance API (`l_ssd`, `scratch`); those of Block Storage are not found here."""

from collections.abc import Callable

from hostler.simulators.scaleway.api.bodies import local_volume_body
from hostler.simulators.scaleway.api.checks import choice_of, owner_of, size_of, tags_of, text_of
from hostler.simulators.scaleway.api.pages import INSTANCE_VOLUMES, matching
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import GB, LOCAL_GB_PER_HOUR
from hostler.simulators.scaleway.state.inventory import Estate, touch
from hostler.simulators.scaleway.state.records import LocalVolume, Owner, Server

PATH = "/instance/v1/zones/*/volumes"
KINDS = ("l_ssd", "scratch")


def new_local(estate: Estate, owner: Owner, name: str, kind: str, size: int) -> LocalVolume:
    """Make a volume that no server holds."""
    volume = LocalVolume(
        **estate.born(owner),
        name=name,
        listed_from=estate.listed_from(),
        kind=kind,
        size=size,
    )
    estate.locals.put(volume)
    estate.ledger.open("volume", volume, 0.0, estate.now)
    meter(estate, volume)
    return volume


def meter(estate: Estate, volume: LocalVolume) -> None:
    """Charge for a volume that no server holds; the price of a server includes its own."""
    rate = 0.0 if volume.server else volume.size / GB * LOCAL_GB_PER_HOUR / 3600
    estate.ledger.meter(volume.id, rate, estate.now)


def attach(estate: Estate, volume: LocalVolume, server: Server) -> None:
    """Give a free volume to a server."""
    volume.server = server
    meter(estate, volume)


def detach(estate: Estate, volume: LocalVolume) -> None:
    """Take a volume from its server; it stays, and costs."""
    if volume.server:
        touch(estate, volume.server)
    volume.server, volume.state, volume.modified = None, "available", estate.now
    meter(estate, volume)


def remove(estate: Estate, volume: LocalVolume) -> None:
    """Take a volume out of the world."""
    volume.server = None
    estate.locals.drop(volume, estate.now)


def wanted(call: Call) -> Callable[[LocalVolume], bool]:
    """Return the filter that a query asks for."""
    keep, kind = matching(call), call.choice("volume_type")
    return lambda volume: keep(volume) and (not kind or volume.kind == kind)


VOLUMES: Resource[LocalVolume] = Resource(
    stored=lambda estate: estate.locals,
    name="instance_volume",
    body=local_volume_body,
    style=INSTANCE_VOLUMES.of("volumes"),
    key="volume",
    keep=wanted,
    newest_first=True,
)


def create(estate: Estate, call: Call) -> Answer:
    """Make a volume."""
    body = call.body
    kind = choice_of(body, "volume_type") or "l_ssd"
    if kind not in KINDS:
        raise errors.invalid(("volume_type", "constraint", "must be l_ssd or scratch"))
    size = size_of(body)
    if size < GB:
        raise errors.invalid(("size", "constraint", "volume size is too small"))
    name = text_of(body, "name") or f"vol-{estate.new_id()[:8]}"
    volume = new_local(estate, owner_of(call), name, kind, size)
    volume.tags = tags_of(body)
    location = (("Location", f"/volumes/{volume.id}"),)
    return VOLUMES.answer(estate, volume, 201, location)


def update(estate: Estate, call: Call) -> Answer:
    """Change the name and the tags of a volume."""
    volume, body = VOLUMES.find(estate, call), call.body
    volume.name = text_of(body, "name") or volume.name
    if body.get("tags") is not None:
        volume.tags = tags_of(body)
    volume.modified = estate.now
    if volume.server:
        touch(estate, volume.server)
    return VOLUMES.answer(estate, volume)


def delete(estate: Estate, call: Call) -> Answer:
    """Delete a volume that no server holds."""
    volume = VOLUMES.find(estate, call)
    if volume.server:
        words = "volume is attached to a server"
        raise errors.precondition(estate.generation(), "resource_still_in_use", words)
    if volume.busy:
        raise errors.transient("instance_volume", volume.id, volume.state)
    remove(estate, volume)
    return Answer(204, subject=volume)


ROUTES = VOLUMES.routes("local_volume", PATH, create=create, update=update, delete=delete)
