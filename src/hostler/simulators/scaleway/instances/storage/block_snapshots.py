"""Snapshots of Block Storage: taken, imported, exported, and used by images."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.bodies import block_body, type_name
from hostler.simulators.scaleway.api.checks import (
    id_of,
    labels_of,
    owner_of,
    size_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import NEWER
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import Image, Snapshot

GUESS = 1 << 30  # the size of an import that nobody has measured yet


def snapshot_body(cloud: Cloud, snapshot: Snapshot) -> dict[str, object]:
    """Return the body of a snapshot; it is in use while an image is made of it."""
    volume = cloud.volumes.get(snapshot.volume_id or "")
    users = [image for image in cloud.images.within(snapshot.zone) if snapshot.id in image.parts]
    busy = snapshot.state == "available" and users
    return {
        **block_body(cloud, snapshot),
        "parent_volume": volume
        and {
            "id": volume.id,
            "name": volume.name,
            "type": type_name(volume.iops),
            "status": volume.status,
        },
        "size": snapshot.size,
        "references": [reference_body(cloud, image) for image in users],
        "status": "in_use" if busy else snapshot.state,
        "class": "sbs",
        "public": False,
    }


def reference_body(cloud: Cloud, image: Image) -> dict[str, object]:
    """Return what ties a snapshot to an image."""
    return {
        "id": image.id,
        "product_resource_type": "instance_image",
        "product_resource_id": image.id,
        "created_at": cloud.zulu(image.created),
        "type": "link",
        "status": "attached",
    }


def filter_of(call: Call) -> Callable[[Snapshot], bool]:
    """Return the filter that a query asks for; any of the tags is enough."""
    tags, name, volume = call.texts("tags"), call.text("name"), call.id("volume_id")
    project, organization = call.id("project_id"), call.id("organization_id")
    return lambda found: (
        (not tags or any(tag in found.tags for tag in tags))
        and name in found.name
        and volume in ("", found.volume_id)
        and project in ("", found.project)
        and organization in ("", found.organization)
    )


SNAPSHOTS: Resource[Snapshot] = Resource(
    stored=lambda cloud: cloud.block_snapshots,
    name="snapshot",
    body=snapshot_body,
    style=NEWER.of("snapshots"),
    keep=filter_of,
)


def create(cloud: Cloud, call: Call) -> Answer:
    """Take a snapshot of a volume; it is available some seconds later."""
    volume = cloud.find(cloud.volumes, call, id_of(call.body, "volume_id"), "volume")
    snapshot = new_snapshot(cloud, call, f"snap-{volume.name}")
    snapshot.size, snapshot.volume_id, snapshot.volume_name = volume.size, volume.id, volume.name
    return SNAPSHOTS.answer(cloud, snapshot)


def new_snapshot(cloud: Cloud, call: Call, name: str) -> Snapshot:
    """Begin to make a snapshot."""
    snapshot = Snapshot(
        **cloud.born(owner_of(call)),
        name=text_of(call.body, "name") or name,
        tags=tags_of(call.body),
        kind="sbs",
        size=GUESS,
        state="creating",
        volume_id=None,
    )
    cloud.block_snapshots.put(snapshot)
    cloud.ledger.open("snapshot", snapshot, 0.0, cloud.now)
    cloud.after(cloud.lasts("snapshot.block"), partial(done, snapshot))
    return snapshot


def done(snapshot: Snapshot) -> None:
    """End the making or the export of a snapshot."""
    snapshot.state = "available"


def bring_in(cloud: Cloud, call: Call) -> Answer:
    """Import a snapshot from Object Storage, which is not looked at: any object is taken."""
    place_of(call)
    size = size_of(call.body) or GUESS
    snapshot = new_snapshot(cloud, call, "import")
    snapshot.size = size
    return SNAPSHOTS.answer(cloud, snapshot)


def place_of(call: Call) -> str:
    """Return the object that a body names; refuse a body that names none."""
    parts = [text_of(call.body, name) for name in ("bucket", "key")]
    missing = [name for name, part in zip(("bucket", "key"), parts, strict=True) if not part]
    if missing:
        raise errors.invalid(*((name, "required", "required key not provided") for name in missing))
    return "/".join(parts)


def export(cloud: Cloud, call: Call) -> Answer:
    """Export a snapshot to Object Storage, of which nothing is kept."""
    snapshot = SNAPSHOTS.find(cloud, call)
    place_of(call)
    if snapshot.state != "available":
        raise errors.transient("snapshot", snapshot.id, snapshot.state)
    snapshot.state = "exporting"
    cloud.after(cloud.lasts("snapshot.export"), partial(done, snapshot))
    return SNAPSHOTS.answer(cloud, snapshot)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a snapshot."""
    snapshot = SNAPSHOTS.find(cloud, call)
    snapshot.name, snapshot.tags = labels_of(call.body, snapshot)
    snapshot.modified = cloud.now
    return SNAPSHOTS.answer(cloud, snapshot)


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a snapshot of which no image is made."""
    snapshot = SNAPSHOTS.find(cloud, call)
    if any(snapshot.id in image.parts for image in cloud.images.within(call.place)):
        words = "Snapshot is currently in use, deletion is not permitted."
        raise errors.Refused(412, errors.precondition("2026", "protected_resource", words).body)
    return SNAPSHOTS.drop(cloud, snapshot)


def of_version(version: str) -> tuple[Route, ...]:
    """Return the routes of one version of the API; both have the same handlers."""
    path = f"/block/{version}/zones/*/snapshots"
    name = "import-from-object-storage"
    return (
        *SNAPSHOTS.routes("block_snapshot", path, create=create, update=update, delete=delete),
        Route("block_snapshot.import", "POST", f"{path}/{name}", bring_in),
        Route("block_snapshot.export", "POST", f"{path}/*/export-to-object-storage", export),
    )


ROUTES = (*of_version("v1"), *of_version("v1alpha1"))
