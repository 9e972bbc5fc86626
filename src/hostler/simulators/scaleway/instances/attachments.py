"""How servers get and lose volumes: one by one, or all replaced by those that a body names."""

from msgspec import Struct

from hostler.simulators.scaleway.api.bodies import server_wire
from hostler.simulators.scaleway.api.checks import flag_of, slots_of, text_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Call
from hostler.simulators.scaleway.state.inventory import Cloud, touch
from hostler.simulators.scaleway.state.records import LocalVolume, Server, State, Volume

from . import lifecycle
from .disks import check_once, free_volume, hot_attach

PATH = "/instance/v1/zones/*/servers/*"


def answer(cloud: Cloud, server: Server) -> Answer:
    """Answer with the server as it is now."""
    return Answer(200, {"server": server_wire(cloud, server)}, subject=server)


class Seat(Struct, frozen=True):
    """What a server shall have in one of its slots, and if it boots from it."""

    volume: Volume
    boot: bool


def requested_volumes(cloud: Cloud, call: Call, server: Server) -> dict[str, Seat] | None:
    """Return the volumes by their slots that replace those of a server, None where none are named.

    Refuses what could be carried out in part only.
    """
    if call.body.get("volumes") is None:
        return None
    templates = slots_of(call.body, "volumes")
    check_once([text_of(one, "id") for one in templates.values()])
    held = {volume.id: volume for volume in server.volumes.values()}
    found: dict[str, Seat] = {}
    for slot, template in templates.items():
        one, boot = text_of(template, "id"), flag_of(template, "boot", default=False)
        found[slot] = Seat(held[one] if one in held else free_volume(cloud, call, one), boot)
    for volume in held.values():
        if all(seat.volume is not volume for seat in found.values()):
            check_detachable(cloud, server, volume)
    return found


def revolume(cloud: Cloud, server: Server, requested: dict[str, Seat] | None) -> None:
    """Replace the volumes of a server; one that it has already may change its slot."""
    if requested is None:
        return
    held = list(server.volumes.values())
    for slot, volume in list(server.volumes.items()):
        if all(seat.volume is not volume for seat in requested.values()):
            take_out(cloud, server, slot, volume)
    server.volumes.clear()
    server.boot_slots = {slot: seat.boot for slot, seat in requested.items()}
    for slot, seat in requested.items():
        if seat.volume in held:
            server.volumes[slot] = seat.volume
        else:
            hot_attach(cloud, server, slot, seat.volume)


def attach_volume(cloud: Cloud, call: Call) -> Answer:
    """Attach a free volume; one that is still being created is refused for now."""
    server = cloud.server(call)
    volume = free_volume(cloud, call, text_of(call.body, "volume_id"))
    if not isinstance(volume, LocalVolume) and volume.status != "available":
        raise errors.transient("volume", volume.id, volume.status)
    slot = next(str(number) for number in range(99) if str(number) not in server.volumes)
    server.boot_slots[slot] = flag_of(call.body, "boot", default=False)
    hot_attach(cloud, server, slot, volume)
    touch(cloud, server)
    return answer(cloud, server)


def detach_volume(cloud: Cloud, call: Call) -> Answer:
    """Detach a volume: the server has it no more at once, Block Storage may take a minute."""
    server, volume_id = cloud.server(call), text_of(call.body, "volume_id")
    for slot, volume in server.volumes.items():
        if volume.id == volume_id:
            check_detachable(cloud, server, volume)
            take_out(cloud, server, slot, volume)
            return answer(cloud, server)
    words = f"Volume {volume_id} is not attached to this server"
    raise errors.invalid(("volume_id", "constraint", words))


def check_detachable(cloud: Cloud, server: Server, volume: Volume) -> None:
    """Refuse to take a local volume out of a server that is not off."""
    if isinstance(volume, LocalVolume) and server.state != State.STOPPED:
        raise errors.precondition(
            cloud.generation(), "resource_not_usable", "server should be stopped"
        )


def take_out(cloud: Cloud, server: Server, slot: str, volume: Volume) -> None:
    """Take a volume out of a slot."""
    lifecycle.free(cloud, volume, "now" if server.state == State.STOPPED else "detach.hot")
    del server.volumes[slot]
    touch(cloud, server)


ROUTES = (
    Route("server.attach_volume", "POST", PATH + "/attach-volume", attach_volume),
    Route("server.detach_volume", "POST", PATH + "/detach-volume", detach_volume),
)
