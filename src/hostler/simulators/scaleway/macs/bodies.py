"""The JSON bodies of Apple silicon, key by key as the clients read them."""

from urllib.parse import quote

import msgspec

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import (
    BANDWIDTH,
    BANDWIDTHS,
    LEASE,
    MONTHLY,
    USER,
    VNC_PORT,
    MacType,
    disk_bytes,
    memory_bytes,
)
from hostler.simulators.scaleway.state.mac_records import (
    AT_REST,
    Attachment,
    Mac,
    MacStatus,
    OsImage,
)

SEALED = "<sealed>"
ENCODER = msgspec.json.Encoder()
Body = dict[str, object]


def mac_body(cloud: Cloud, mac: Mac, *, sealed: bool = False) -> Body:
    """Return the body of a Mac; its password is sealed in the answers to all changes."""
    sealed = sealed or cloud.now < mac.sealed_until
    screen = f"vnc://{USER}:{quote(mac.password, safe='')}@{mac.ip}:{VNC_PORT}"
    deletable = None if mac.deletable is None else cloud.zulu(mac.deletable)
    return {
        "id": mac.id,
        "type": mac.type_name,
        "name": mac.name,
        "project_id": mac.project,
        "organization_id": mac.organization,
        "ip": mac.ip,
        "vnc_url": SEALED if sealed else screen,
        "vnc_port": VNC_PORT,
        "ssh_username": USER,
        "sudo_password": SEALED if sealed else mac.password,
        "os": os_body(mac.os),
        "status": mac.displayed or mac.status.value,
        "created_at": cloud.zulu(mac.created),
        "updated_at": cloud.zulu(mac.modified),
        "deletable_at": deletable,
        "deletion_scheduled": mac.deletion_scheduled,
        "zone": mac.zone,
        "delivered": mac.delivered,
        "vpc_status": mac.vpc,
        "commitment": commitment_body(mac),
        "public_bandwidth_bps": mac.bandwidth,
        "tags": mac.tags,
        "applied_runner_configuration_ids": mac.runners,
        "kext_enabled": mac.kext,
        "runner_configuration": None,
    }


def commitment_body(mac: Mac) -> Body:
    """Return what a Mac says of its commitment: a day is none."""
    monthly = mac.commitment == MONTHLY
    return {"type": MONTHLY if monthly else "none", "cancelled": monthly and mac.cancelled}


def mac_wire(cloud: Cloud, mac: Mac) -> msgspec.Raw:
    """Return the body of a Mac as it is sent; it is made anew when what it shows has changed."""
    shows = (
        *(
            mac.name,
            mac.ip,
            mac.status,
            mac.displayed,
            mac.modified,
            mac.password,
            mac.os,
            mac.project,
        ),
        *(cloud.now < mac.sealed_until, mac.deletable, mac.deletion_scheduled, mac.delivered),
        *(mac.vpc, mac.commitment, mac.cancelled, mac.bandwidth, tuple(mac.runners), mac.kext),
    )
    if mac.wire is None or mac.wire[0] != shows:
        mac.wire = (shows, msgspec.Raw(ENCODER.encode(mac_body(cloud, mac))))
    return mac.wire[1]


def os_body(image: OsImage, *, listed: bool = False) -> Body:
    """Return the body of an image; which types it suits in detail is told by lists alone."""
    suited = [{"server_type": name, "fast_delivery_available": True} for name in image.types]
    return {
        "id": image.id,
        "name": image.name,
        "label": image.tags[0],
        "image_url": f"https://example.invalid/{image.name}.svg",
        "family": image.family,
        "is_beta": image.beta,
        "version": image.version,
        "xcode_version": image.xcode,
        "release_notes_url": "",
        "description": "",
        "tags": [],
        "supported_server_types": suited if listed else [],
        "compatible_server_types": list(image.types),
    }


def type_body(sort: MacType, stock: str, default: OsImage | None) -> Body:
    """Return the body of a type; its default image may be retired."""
    return {
        "name": sort.name,
        "cpu": {
            "name": sort.chip,
            "core_count": sort.cores,
            "frequency": 3_500_000_000,
            "sockets": 1,
            "threads_per_core": 1,
        },
        "disk": {"capacity": disk_bytes(sort), "type": "SSD"},
        "memory": {"capacity": memory_bytes(sort), "type": "LPDDR5"},
        "gpu": {"count": sort.cores},
        "npu": {"count": 16},
        "network": {
            "public_bandwidth_bps": BANDWIDTH,
            "supported_bandwidth": list(BANDWIDTHS),
            "default_public_bandwidth": BANDWIDTH,
        },
        "stock": stock,
        "minimum_lease_duration": f"{LEASE:.0f}s",
        "default_os": default and os_body(default),
    }


def attachment_body(cloud: Cloud, attachment: Attachment) -> Body:
    """Return the body of an attachment, and count the look at it."""
    hidden = attachment.polls > 0 or attachment.status == "error"
    attachment.polls = max(0, attachment.polls - 1)
    return {
        "id": attachment.id,
        "project_id": attachment.project,
        "server_id": attachment.mac.id,
        "private_network_id": attachment.network_id,
        "status": attachment.status,
        "vlan": None if hidden else attachment.vlan,
        "ipam_ip_ids": [ip.id for ip in attachment.ips],
        "created_at": cloud.zulu(attachment.created),
        "updated_at": cloud.zulu(attachment.modified),
    }


SERVER = "server"


OS = "os"


def mac_of(cloud: Cloud, call: Call, mac_id: str = "") -> Mac:
    """Return the Mac that a call names first in its path, or by an id in its body."""
    requested = mac_id or call.names[0]
    mac = cloud.peek(cloud.macs, call, requested)
    status = cloud.options.macs.deleted_status
    if mac is None and requested in cloud.deleted_macs and status == "403":
        raise errors.forbidden("read", SERVER)
    if mac is None:
        raise errors.not_found(SERVER, requested)
    return mac


def image_of(cloud: Cloud, image_id: str) -> OsImage:
    """Return an image; one that was retired is not found."""
    image = cloud.os_images.get(image_id)
    if image is None:
        raise errors.not_found(OS, image_id)
    return image


def check_unlocked(mac: Mac) -> None:
    """Refuse what is asked of a locked Mac."""
    if mac.status is MacStatus.LOCKED:
        raise errors.locked(SERVER, mac.id)


def check_at_rest(mac: Mac) -> None:
    """Refuse what is asked of a Mac that is locked or on its way."""
    check_unlocked(mac)
    if mac.status not in AT_REST:
        raise errors.transient(SERVER, mac.id, mac.status.value)
