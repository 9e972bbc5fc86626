"""The JSON bodies of servers and of what hangs on them, key by key as they are on the wire."""

import msgspec

from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.networks import slaac
from hostler.simulators.scaleway.state.record import Record
from hostler.simulators.scaleway.state.records import (
    Address,
    BlockVolume,
    Image,
    LocalVolume,
    Nic,
    PlacementGroup,
    Server,
    Snapshot,
    State,
    Volume,
)

ACTIONS: dict[str, tuple[str, ...]] = {
    State.STOPPED: ("poweron", "backup"),
    State.STARTING: ("stop_in_place", "backup"),
    State.RUNNING: ("poweroff", "terminate", "reboot", "stop_in_place", "backup"),
    State.STOPPING: ("stop_in_place", "backup"),
    State.IN_PLACE: ("poweron", "poweroff", "terminate", "reboot", "backup"),
    State.LOCKED: (),
}
STOPPING_ACTIONS = frozenset({"poweroff", "stop_in_place", "reboot", "terminate"})
GATEWAY4 = "62.210.0.1"
GATEWAY6 = "fe80::dc00:ff:fe20:1"
ENCODER = msgspec.json.Encoder()


def allowed_actions(server: Server) -> tuple[str, ...]:
    """Return what may be asked of a server now: nothing while one of its volumes is busy."""
    if any(volume.busy for volume in server.volumes.values()):
        return ()
    actions = ACTIONS[server.state]
    if server.protected:
        return tuple(action for action in actions if action not in STOPPING_ACTIONS)
    return actions


def instance_body(cloud: Cloud, record: Record) -> dict[str, object]:
    """Return what the bodies of most sorts of resources in the Instance API have."""
    return {
        "id": record.id,
        "name": record.name,
        "organization": record.organization,
        "project": record.project,
        "tags": record.tags,
        "creation_date": cloud.date(record.created),
        "modification_date": cloud.date(record.modified),
        "zone": record.zone,
    }


def block_body(cloud: Cloud, record: Record) -> dict[str, object]:
    """Return what every body of Block Storage has."""
    return {
        "id": record.id,
        "name": record.name,
        "project_id": record.project,
        "created_at": cloud.zulu(record.created),
        "updated_at": cloud.zulu(record.modified),
        "tags": record.tags,
        "zone": record.zone,
    }


def server_wire(cloud: Cloud, server: Server) -> msgspec.Raw:
    """Return the encoded body of a server; it is kept until something of it changes."""
    if server.wire is None:
        server.wire = msgspec.Raw(ENCODER.encode(server_body(cloud, server)))
    return server.wire


def server_body(cloud: Cloud, server: Server) -> dict[str, object]:
    """Return the body of a server."""
    ips = [public_ip(server, address) for address in server.addresses]
    admin = {"admin_password_encryption_ssh_key_id": server.admin_key_id}
    return {
        **instance_body(cloud, server),
        "arch": server.arch,
        "commercial_type": server.commercial_type,
        "boot_type": server.boot_type,
        "hostname": server.hostname,
        "image": server.image and image_body(cloud, server.image),
        "volumes": {
            slot: volume_in_server(cloud, server, slot, volume)
            for slot, volume in server.volumes.items()
        },
        "state": server.displayed or server.state,
        "protected": server.protected,
        "state_detail": server.detail,
        "public_ip": ips[0] if ips else None,
        "public_ips": ips,
        "mac_address": server.mac,
        "routed_ip_enabled": True,
        "ipv6": None,
        "extra_networks": [],
        "dynamic_ip_required": server.dynamic_ip_required,
        "enable_ipv6": False,
        "private_ip": None,
        "bootscript": None,
        "security_group": {
            "id": server.security_group.id,
            "name": server.security_group.name,
        },
        "location": server.location,
        "maintenances": [],
        "allowed_actions": allowed_actions(server),
        "placement_group": server.placement_group
        and {**placement_body(server.placement_group), "policy_respected": False},
        "private_nics": [nic_body(cloud, nic) for nic in server.nics.values()],
        "filesystems": [],
        "end_of_service": False,
        "dns": f"{server.id}.pub.instances.scw.cloud",
        **(admin if server.admin_key_id else {}),
    }


def placement_body(group: PlacementGroup) -> dict[str, object]:
    """Return the body of a placement group."""
    return {
        "id": group.id,
        "name": group.name,
        "organization": group.organization,
        "project": group.project,
        "tags": group.tags,
        "policy_mode": group.mode,
        "policy_type": group.kind,
        "policy_respected": True,
        "zone": group.zone,
    }


def public_ip(server: Server, address: Address) -> dict[str, object]:
    """Return how a server shows one of its addresses; of IPv6, the one its card takes."""
    six = address.kind == "routed_ipv6"
    return {
        "id": address.id,
        "address": slaac(address.ip, server.mac) if six else address.ip,
        "gateway": GATEWAY6 if six else GATEWAY4,
        "netmask": "64" if six else "32",
        "family": "inet6" if six else "inet",
        "dynamic": address.dynamic,
        "provisioning_mode": "slaac" if six else "dhcp",
        "tags": address.tags,
        "state": address.state,
        "ipam_id": address.id,
    }


def volume_in_server(cloud: Cloud, server: Server, slot: str, volume: Volume) -> dict[str, object]:
    """Return how a server shows one of its volumes: of Block Storage it knows next to nothing."""
    boot = server.boot_slots.get(slot, False)
    if isinstance(volume, LocalVolume):
        return {"boot": boot, **local_volume_body(cloud, volume)}
    return {
        "boot": boot,
        "id": volume.id,
        "volume_type": volume.kind,
        "zone": volume.zone,
        "state": "attaching" if volume.attaching else "available",
    }


def local_volume_body(cloud: Cloud, volume: LocalVolume) -> dict[str, object]:
    """Return the body of a volume of the Instance API."""
    server = volume.server
    return {
        **instance_body(cloud, volume),
        "volume_type": volume.kind,
        "export_uri": None,
        "server": {"id": server.id, "name": server.name} if server else None,
        "size": volume.size,
        "state": volume.state,
    }


def block_volume_body(cloud: Cloud, volume: BlockVolume) -> dict[str, object]:
    """Return the body of a volume of Block Storage."""
    tie = volume.reference
    reference = tie and {
        "id": tie.id,
        "product_resource_type": "instance_server",
        "product_resource_id": tie.server_id,
        "created_at": cloud.zulu(tie.created),
        "type": "exclusive",
        "status": tie.status,
    }
    return {
        **block_body(cloud, volume),
        "type": type_name(volume.iops),
        "size": volume.size,
        "references": [reference] if reference else [],
        "parent_snapshot_id": volume.snapshot_id,
        "status": volume.status,
        "specs": {"perf_iops": volume.iops, "class": "sbs"},
        "last_detached_at": None if volume.detached is None else cloud.zulu(volume.detached),
        "kms_key_id": None,
    }


def type_name(iops: int) -> str:
    """Return the type of a block volume of so many operations a second."""
    return f"sbs_{iops // 1000}k"


def nic_body(cloud: Cloud, nic: Nic) -> dict[str, object]:
    """Return the body of a private network card."""
    return {
        "id": nic.id,
        "server_id": nic.server.id,
        "private_network_id": nic.network_id,
        "mac_address": nic.mac,
        "state": "available" if nic.available else "syncing",
        "tags": nic.tags,
        "creation_date": cloud.date(nic.created),
        "modification_date": cloud.date(nic.modified),
        "zone": nic.zone,
        "ipam_ip_ids": [ip.id for ip in nic.ips],
    }


def extra_body(snapshot: Snapshot) -> dict[str, object]:
    """Return how an image shows a further snapshot: of Block Storage, next to nothing."""
    block = snapshot.kind == "sbs"
    return {
        "id": snapshot.id,
        "volume_type": "sbs_snapshot" if block else snapshot.kind,
        "size": 0 if block else snapshot.size,
        "name": "" if block else snapshot.name,
    }


NO_TASK = "00000000-0000-0000-0000-000000000000"


def task_body(
    cloud: Cloud, zone: str, description: str, hrefs: tuple[str, str]
) -> dict[str, object]:
    """Return a task; since 2026 it is a placeholder without an id."""
    old = cloud.generation() == "2025"
    return {
        "id": cloud.new_id() if old else NO_TASK,
        "description": description if old else "fake task",
        "status": "pending",
        "href_from": hrefs[0],
        "href_result": hrefs[1],
        "started_at": cloud.date(cloud.now),
        "terminated_at": None,
        "progress": 0,
        "zone": zone,
    }


def image_body(cloud: Cloud, image: Image) -> dict[str, object]:
    """Return the body of an image."""
    return {
        **instance_body(cloud, image),
        "root_volume": {
            "id": image.root_id,
            "name": image.root_name,
            "volume_type": image.root_type,
            "size": image.root_size,
        },
        "extra_volumes": {slot: extra_body(one) for slot, one in image.extras.items()},
        "public": image.public,
        "arch": image.arch,
        "default_bootscript": None,
        "from_server": image.from_server,
        "state": "available",
    }
