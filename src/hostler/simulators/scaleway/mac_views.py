"""What a person sees of Macs under `/_sim/`, and does there."""

from typing import Any

import msgspec

from hostler.ports.http import Request

from .macs.reach import fingerprint, ssh_of
from .state.mac_catalogue import USER
from .state.mac_records import Mac
from .world import World

Body = dict[str, Any]


def body_of(request: Request) -> Body:
    """Return the JSON object that was sent."""
    return msgspec.json.decode(request.body, type=dict[str, Any])


def known(body: Body, *names: str) -> Body:
    """Return a body that has no other keys than these; raise ValueError for one that has."""
    if unknown := sorted(set(body) - set(names)):
        raise ValueError(f"expected {', '.join(names)}, not {', '.join(unknown)}")
    return body


def shown(world: World, mac: Mac) -> Body:
    """Show a Mac, with what no client is told: its disk's number, and its password when sealed."""
    port = world.ssh_port
    return {
        "id": mac.id,
        "zone": mac.zone,
        "name": mac.name,
        "type": mac.type_name,
        "status": mac.status,
        "shown": mac.shown,
        "os": mac.os.name,
        "ip": mac.ip,
        "installs": mac.installs,
        "deletable": None if mac.deletable is None else world.estate.zulu(mac.deletable),
        "deletion_scheduled": mac.deletion_scheduled,
        "user": USER,
        "password": mac.password,
        "host_key": fingerprint(mac.disk.seed) if mac.installs else "",
        "reach": ssh_of(world.estate, mac),
        "ssh": f"{mac.ip}:{port}" if port else "",
    }


def everything(world: World, _request: Request) -> object:
    """Show every Mac."""
    return {"macs": [shown(world, mac) for mac in world.estate.macs]}


def id_of(request: Request) -> str:
    """Return the id that a path ends with."""
    return request.path.rstrip("/").rsplit("/", 1)[1]


def one(world: World, request: Request) -> object:
    """Show one Mac."""
    return shown(world, world.console.mac(id_of(request)))


def done(world: World, request: Request) -> object:
    """Do something to a Mac by hand: `do` says what, `name` and `spell` how."""
    body = known(body_of(request), "do", "name", "spell")
    deed, mac_id = str(body["do"]), id_of(request)
    if deed == "rename":
        return {"done": world.console.rename(mac_id, str(body["name"]))}
    return {"done": world.console.do(deed, mac_id, float(body.get("spell", 60.0)))}


def bought(world: World, request: Request) -> object:
    """Add Macs that are delivered and ready."""
    body = known(body_of(request), "count", "type_name", "zone", "prefix")
    return {"macs": world.stock_macs(**body)}


def images(world: World, _request: Request) -> object:
    """Show the images that can be installed."""
    found = world.estate.os_images
    return {"images": [{"id": one.id, "name": one.name, "family": one.family} for one in found]}


def retired(world: World, request: Request) -> object:
    """Retire an image: `retire` is its name or id."""
    body = known(body_of(request), "retire")
    return {"done": world.console.retire_image(str(body["retire"]))}


def stocked(world: World, request: Request) -> object:
    """Say how many of a type there are."""
    body = known(body_of(request), "type", "stock", "zone")
    world.console.set_stock(str(body["type"]), str(body["stock"]), str(body.get("zone", "")))
    return {"done": True}
