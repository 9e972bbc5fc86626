"""Which volumes a new server gets: all templates are checked before any volume is made."""

from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hostler.simulators.scaleway.api.checks import choice_of, flag_of, size_of, slots_of, text_of
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Body, Call
from hostler.simulators.scaleway.state.catalogue import GB, ServerType
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.records import Image, LocalVolume, Server, Snapshot, Volume

from .storage import local_volumes, volumes

KINDS = ("l_ssd", "sbs_volume", "scratch")
ROOT_SIZE = 10 * GB


class Disk(Struct, frozen=True, kw_only=True):
    """One volume to be made, or one that exists and will be attached."""

    slot: str
    boot: bool
    found: Volume | None = None
    name: str = ""
    kind: str = ""
    size: int = 0
    least: int = 0  # what it must hold of a snapshot
    snapshot_id: str = ""


def disks_of(cloud: Cloud, call: Call, image: Image | None, sort: ServerType) -> list[Disk]:
    """Return the volumes that a body asks for; without any, the image's root volume."""
    templates = slots_of(call.body, "volumes")
    if image and "0" not in templates:
        templates = {"0": {}, **templates}
    check_once([one for template in templates.values() if (one := text_of(template, "id"))])
    disks = [disk_of(cloud, call, slot, one, image) for slot, one in templates.items()]
    disks = [sized(disk, sort) for disk in disks]
    check_local(disks, sort)
    return disks


def disk_of(cloud: Cloud, call: Call, slot: str, template: Body, image: Image | None) -> Disk:
    """Read one template."""
    boot = flag_of(template, "boot", default=False)
    if volume_id := text_of(template, "id"):
        return Disk(slot=slot, boot=boot, found=free_volume(cloud, call, volume_id))
    root = image if slot == "0" else None
    kind = choice_of(template, "volume_type") or kind_of(root)
    check_kind(kind, root)
    label = image.name if image else "volume"
    source = source_of(cloud, call, template, root)
    return Disk(
        slot=slot,
        boot=boot,
        name=text_of(template, "name") or f"{label}_{kind.replace('_volume', '')}_volume_{slot}",
        kind=kind,
        size=checked_size(size_of(template), least_of(source, root)),
        least=source.size if source else 0,
        snapshot_id=text_of(template, "base_snapshot"),
    )


def kind_of(image: Image | None) -> str:
    """Return the type that a volume has where none is asked for."""
    return "l_ssd" if image and image.root_type == "l_ssd" else "sbs_volume"


def check_kind(kind: str, image: Image | None) -> None:
    """Refuse a type that is not sold (`b_ssd` is no more), or that the image cannot boot from."""
    if kind not in KINDS:
        words = f"volume_type must be one of {', '.join(KINDS)}"
        raise errors.invalid(("volumes", "constraint", words))
    if image and kind != kind_of(image):
        words = f"image cannot be used with a root volume of type {kind}"
        raise errors.invalid(("image", "constraint", words))


def least_of(source: Snapshot | None, image: Image | None) -> int:
    """Return what a volume must hold at least of its snapshot or its image, 0 for an empty one."""
    if source:
        return source.size
    return ROOT_SIZE if image else 0


def checked_size(size: int, least: int) -> int:
    """Return the size of a volume, 0 where the server type decides; refuse what is too small."""
    if 0 < size < least:
        words = "volume is too small for the image or the snapshot that it is made of"
        raise errors.invalid(("volumes", "constraint", words))
    return size


def source_of(cloud: Cloud, call: Call, template: Body, image: Image | None) -> Snapshot | None:
    """Return the snapshot of either API that a volume is made of; those of the market are none."""
    if snapshot_id := text_of(template, "base_snapshot"):
        found = snapshot_of(cloud, call, snapshot_id)
        if found is None:
            raise errors.not_found("snapshot_id", snapshot_id)
        return found
    return snapshot_of(cloud, call, image.root_id) if image else None


def snapshot_of(cloud: Cloud, call: Call, snapshot_id: str) -> Snapshot | None:
    """Return a snapshot of either API, or None."""
    found = cloud.peek(cloud.snapshots, call, snapshot_id)
    return found or cloud.peek(cloud.block_snapshots, call, snapshot_id)


def free_volume(cloud: Cloud, call: Call, volume_id: str) -> Volume:
    """Return a volume of either API that no server has."""
    found: Volume | None = cloud.peek(cloud.volumes, call, volume_id)
    found = found or cloud.peek(cloud.locals, call, volume_id)
    if found is None:
        raise errors.not_found("instance_volume", volume_id)
    taken = found.server is not None or (
        not isinstance(found, LocalVolume) and found.reference is not None
    )
    if taken:
        raise errors.invalid(("volumes", "constraint", f"volume {volume_id} is already attached"))
    return found


def check_once(ids: list[str]) -> None:
    """Refuse a body that names a volume for two slots."""
    if len(set(ids)) < len(ids):
        raise errors.invalid(("volumes", "constraint", "a volume is named twice"))


def sized(disk: Disk, sort: ServerType) -> Disk:
    """Return a disk with its size, which must be sold.

    Without one that is asked for, a local disk takes what the type has, another what it is made
    of, or 10 GB.
    """
    if disk.found:
        return disk
    local = disk.kind == "l_ssd" and sort.local
    size = disk.size or (sort.local * GB if local else disk.least or ROOT_SIZE)
    sold = volumes if disk.kind == "sbs_volume" else local_volumes
    return replace(disk, size=sold.checked_size(size))


def check_local(disks: list[Disk], sort: ServerType) -> None:
    """Refuse more local storage than a server type has."""
    total = sum(local_size(disk) for disk in disks)
    if total > sort.local * GB:
        words = f"total size of local volumes must be between 0 and {sort.local} GB"
        raise errors.invalid(("volumes", "constraint", words))


def local_total(server: Server) -> int:
    """Return how much local storage the volumes of a server take."""
    return sum(volume.size for volume in server.volumes.values() if volume.kind == "l_ssd")


def local_size(disk: Disk) -> int:
    """Return how much local storage a disk takes."""
    if disk.found:
        return disk.found.size if disk.found.kind == "l_ssd" else 0
    return disk.size if disk.kind == "l_ssd" else 0


def furnish(cloud: Cloud, server: Server, disks: list[Disk]) -> None:
    """Make the disks and attach them; volumes made here have no tags, whatever the server has."""
    for disk in disks:
        volume = disk.found or made(cloud, server, disk)
        server.boot_slots[disk.slot] = disk.boot
        attach(cloud, server, disk.slot, volume)


def made(cloud: Cloud, server: Server, disk: Disk) -> Volume:
    """Make one volume."""
    owner = server.owner
    if disk.kind != "sbs_volume":
        return local_volumes.new_local(cloud, owner, disk.name, disk.kind, disk.size)
    volume = volumes.new_volume(cloud, owner, disk.name, disk.size)
    volume.snapshot_id = disk.snapshot_id or (server.image and server.image.root_id) or None
    volume.status = "available"
    return volume


def attach(cloud: Cloud, server: Server, slot: str, volume: Volume) -> None:
    """Put a free volume into a slot of a server."""
    server.volumes[slot] = volume
    if isinstance(volume, LocalVolume):
        local_volumes.attach(cloud, volume, server)
    else:
        volumes.attach(cloud, volume, server)


def hot_attach(cloud: Cloud, server: Server, slot: str, volume: Volume) -> None:
    """Put a volume into a slot of a server that exists: it is busy for a moment."""
    attach(cloud, server, slot, volume)
    if not isinstance(volume, LocalVolume):
        volume.attaching = True
        cloud.after(cloud.lasts("volume.attach"), partial(attached, server, slot, volume))


def attached(server: Server, slot: str, volume: Volume) -> None:
    """End the attaching of a volume that is still there."""
    if server.volumes.get(slot) is volume and not isinstance(volume, LocalVolume):
        volume.attaching = False
        server.wire = None
