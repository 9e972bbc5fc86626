"""Snapshots of local volumes, and the backups that make an image of a whole server."""

from collections.abc import Callable
from functools import partial

from hostler.simulators.scaleway.api.bodies import instance_body, task_body
from hostler.simulators.scaleway.api.checks import (
    id_of,
    labels_of,
    owner_of,
    size_of,
    tags_of,
    text_of,
)
from hostler.simulators.scaleway.api.pages import INSTANCE, matching
from hostler.simulators.scaleway.api.resource import Resource, Route
from hostler.simulators.scaleway.instances.images import new_image
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import (
    BlockVolume,
    LocalVolume,
    Server,
    Snapshot,
    State,
)

from .block_snapshots import GUESS, place_of

PATH = "/instance/v1/zones/*/snapshots"


def snapshot_body(cloud: Cloud, snapshot: Snapshot) -> dict[str, object]:
    """Return the body of a snapshot of a local volume."""
    base = {"id": snapshot.volume_id, "name": snapshot.volume_name}
    return {
        **instance_body(cloud, snapshot),
        "volume_type": snapshot.kind,
        "size": snapshot.size,
        "state": snapshot.state,
        "base_volume": base if snapshot.volume_id else None,
        "error_details": None,
    }


def filter_of(call: Call) -> Callable[[Snapshot], bool]:
    """Return the filter that a query asks for."""
    keep, base = matching(call), call.id("base_volume_id")
    return lambda snapshot: keep(snapshot) and base in ("", snapshot.volume_id)


SNAPSHOTS: Resource[Snapshot] = Resource(
    stored=lambda cloud: cloud.snapshots,
    name="instance_snapshot",
    body=snapshot_body,
    style=INSTANCE.of("snapshots"),
    key="snapshot",
    keep=filter_of,
    newest_first=True,
)


def snap(cloud: Cloud, volume: LocalVolume | BlockVolume, name: str) -> Snapshot:
    """Take a snapshot of a volume; of a local one it takes its time, and longer where it works."""
    block = isinstance(volume, BlockVolume)
    snapshot = Snapshot(
        **cloud.born(volume.owner),
        name=name,
        kind="sbs" if block else volume.kind,
        size=volume.size,
        state="creating" if block else "snapshotting",
        volume_id=volume.id,
        volume_name=volume.name,
    )
    (cloud.block_snapshots if block else cloud.snapshots).put(snapshot)
    cloud.ledger.open("snapshot", snapshot, 0.0, cloud.now)
    if isinstance(volume, LocalVolume):
        shoot(cloud, volume, snapshot)
    else:
        cloud.after(cloud.lasts("snapshot.block"), partial(ready, snapshot))
    return snapshot


def ready(snapshot: Snapshot) -> None:
    """End the making, the import or the export of a snapshot."""
    snapshot.state = "available"


def shoot(cloud: Cloud, volume: LocalVolume, snapshot: Snapshot) -> None:
    """Keep a volume of a running server busy until its snapshot is there."""
    hot = volume.server is not None and volume.server.state == State.RUNNING
    if hot:
        busy(volume, "snapshotting")

    def done() -> None:
        ready(snapshot)
        if volume.state == "snapshotting":
            busy(volume, "available")

    cloud.after(cloud.lasts("snapshot.hot" if hot else "snapshot.local"), done)


def busy(volume: LocalVolume, state: str) -> None:
    """Put a volume in a state, which its server shows, too."""
    volume.state = state
    if volume.server:
        volume.server.wire = None


def create(cloud: Cloud, call: Call) -> Answer:
    """Take a snapshot of a local volume, or import one; Block Storage has snapshots of its own."""
    volume_id = id_of(call.body, "volume_id")
    tags = tags_of(call.body)
    if volume_id:
        volume = cloud.find(cloud.locals, call, volume_id, "instance_volume")
        name = text_of(call.body, "name") or f"snap-{volume.name}"
        snapshot = snap(cloud, volume, name)
    else:
        snapshot = imported(cloud, call)
    snapshot.tags = tags
    result = f"snapshots/{snapshot.id}"
    task = task_body(cloud, snapshot.zone, "volume_snapshot", ("/snapshots", result))
    body = {"snapshot": snapshot_body(cloud, snapshot), "task": task}
    return Answer(201, body, subject=snapshot)


def imported(cloud: Cloud, call: Call) -> Snapshot:
    """Import a snapshot from Object Storage, which is not looked at: any object is taken."""
    place_of(call)
    snapshot = Snapshot(
        **cloud.born(owner_of(call)),
        name=text_of(call.body, "name") or "import",
        kind="l_ssd",
        size=size_of(call.body) or GUESS,
        state="importing",
        volume_id=None,
    )
    cloud.snapshots.put(snapshot)
    cloud.ledger.open("snapshot", snapshot, 0.0, cloud.now)
    cloud.after(cloud.lasts("snapshot.block"), partial(ready, snapshot))
    return snapshot


def export(cloud: Cloud, call: Call) -> Answer:
    """Export a snapshot to Object Storage, of which nothing is kept."""
    snapshot = SNAPSHOTS.find(cloud, call)
    place = place_of(call)
    if snapshot.state != "available":
        raise errors.transient("instance_snapshot", snapshot.id, snapshot.state)
    snapshot.state = "exporting"
    cloud.after(cloud.lasts("snapshot.export"), partial(ready, snapshot))
    region = snapshot.zone.rsplit("-", 1)[0]
    hrefs = (f"/snapshots/{snapshot.id}/export", f"https://s3.{region}.scw.cloud/{place}")
    task = task_body(cloud, snapshot.zone, "export_snapshot", hrefs)
    return Answer(202, {"task": task}, subject=snapshot)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a snapshot."""
    snapshot = SNAPSHOTS.find(cloud, call)
    snapshot.name, snapshot.tags = labels_of(call.body, snapshot)
    snapshot.modified = cloud.now
    return SNAPSHOTS.answer(cloud, snapshot)


def backup(cloud: Cloud, server: Server, call: Call) -> str | None:
    """Make an image of a server and snapshots of its volumes; return where the image is."""
    name = text_of(call.body, "name") or f"img-{server.name}"
    if not server.volumes:
        raise errors.invalid(("volumes", "required", "the server has no volume"))
    shots = {
        slot: snap(cloud, volume, f"snap-{server.name}")
        for slot, volume in sorted(server.volumes.items())
    }
    root, *extras = shots
    image = new_image(cloud, server.owner, name, shots[root])
    image.arch, image.from_server = server.arch, server.id
    image.extras = {slot: shots[slot] for slot in extras}
    return f"/images/{image.id}"


ROUTES = (
    *SNAPSHOTS.routes("snapshot", PATH, create=create, update=update),
    Route("snapshot.replace", "PUT", PATH + "/*", update),
    Route("snapshot.export", "POST", PATH + "/*/export", export),
)
