"""Volumes of the Instance API (`l_ssd`, `scratch`); those of Block Storage are not found here."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.bodies import local_volume_body
from hostler.simulators.scaleway.api.checks import (
    choice_of,
    id_of,
    labels_of,
    owner_of,
    size_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE_VOLUMES, matching
from hostler.simulators.scaleway.api.resource import Resource
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.catalogue import GB, LOCAL_GB_PER_HOUR
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import LocalVolume, Server

PATH = "/instance/v1/zones/*/volumes"
KINDS = ("l_ssd", "scratch")
MOST = 60_000 * GB


def new_local(cloud: Cloud, owner: Owner, name: str, kind: str, size: int) -> LocalVolume:
    """Make a volume that no server holds."""
    volume = LocalVolume(
        **cloud.born(owner),
        name=name,
        listed_from=cloud.listed_from(),
        kind=kind,
        size=size,
    )
    cloud.locals.put(volume)
    cloud.ledger.open("volume", volume, 0.0, cloud.now)
    meter(cloud, volume)
    return volume


def meter(cloud: Cloud, volume: LocalVolume) -> None:
    """Charge for a volume that no server holds; the price of a server includes its own."""
    rate = 0.0 if volume.server else volume.size / GB * LOCAL_GB_PER_HOUR / 3600
    cloud.ledger.meter(volume.id, rate, cloud.now)


def attach(cloud: Cloud, volume: LocalVolume, server: Server) -> None:
    """Give a free volume to a server."""
    volume.server = server
    meter(cloud, volume)


def detach(cloud: Cloud, volume: LocalVolume) -> None:
    """Take a volume from its server; it stays, and costs."""
    if volume.server:
        touch(cloud, volume.server)
    volume.server, volume.state, volume.modified = None, "available", cloud.now
    meter(cloud, volume)


def remove(cloud: Cloud, volume: LocalVolume) -> None:
    """Take a volume out of the world."""
    volume.server = None
    cloud.locals.drop(volume, cloud.now)


def filter_of(call: Call) -> Callable[[LocalVolume], bool]:
    """Return the filter that a query asks for."""
    keep, kind = matching(call), call.choice("volume_type", *KINDS)
    return lambda volume: keep(volume) and (not kind or volume.kind == kind)


VOLUMES: Resource[LocalVolume] = Resource(
    stored=lambda cloud: cloud.locals,
    name="instance_volume",
    body=local_volume_body,
    style=INSTANCE_VOLUMES.of("volumes"),
    key="volume",
    keep=filter_of,
    newest_first=True,
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Make a volume."""
    body = call.body
    kind = choice_of(body, "volume_type", *KINDS) or "l_ssd"
    snapshot_id = id_of(body, "base_snapshot")
    found = snapshot_id and cloud.find(cloud.snapshots, call, snapshot_id, "instance_snapshot")
    size = checked_size(size_of(body) or (found.size if found else 0))
    name = text_of(body, "name") or f"vol-{cloud.new_id()[:8]}"
    tags = tags_of(body)
    volume = new_local(cloud, owner_of(call), name, kind, size)
    volume.tags = tags
    return VOLUMES.made(cloud, call, volume)


def checked_size(size: int) -> int:
    """Return the size of a volume; refuse what no type has."""
    if not GB <= size <= MOST:
        words = f"must be between {GB} and {MOST}"
        raise errors.invalid(("size", "constraint", words))
    return size


def resized(volume: LocalVolume) -> None:
    """End the resizing of a volume."""
    volume.state = "available"
    if volume.server:
        volume.server.wire = None


def grow(cloud: Cloud, volume: LocalVolume, size: int) -> None:
    """Begin to make a volume larger."""
    if size < volume.size:
        raise errors.invalid(("size", "constraint", "a volume cannot shrink"))
    if size > volume.size:
        volume.size, volume.state = checked_size(size), "resizing"
        meter(cloud, volume)
        cloud.after(cloud.lasts("volume.update"), partial(resized, volume))


def update(cloud: Cloud, call: Call) -> Answer:
    """Change the name, the tags and the size of a volume."""
    volume, body = VOLUMES.find(cloud, call), call.body
    labels = labels_of(body, volume)
    grow(cloud, volume, size_of(body) or volume.size)
    volume.name, volume.tags = labels
    volume.modified = cloud.now
    if volume.server:
        touch(cloud, volume.server)
    return VOLUMES.answer(cloud, volume)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a volume that no server holds."""
    volume = VOLUMES.find(cloud, call)
    if volume.server:
        words = "volume is attached to a server"
        raise errors.precondition(cloud.generation(), "resource_still_in_use", words)
    if volume.busy:
        raise errors.transient("instance_volume", volume.id, volume.state)
    remove(cloud, volume)
    return Answer(204, subject=volume)


ROUTES = VOLUMES.routes("local_volume", PATH, create=create, update=update, delete=delete)
