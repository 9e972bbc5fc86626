"""How a call's Mac or image is found, and what is said where it is not, or is busy."""

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Call
from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_records import AT_REST, Mac, MacStatus, OsImage

SERVER = "server"
OS = "os"


def mac_of(estate: Estate, call: Call, mac_id: str = "") -> Mac:
    """Return the Mac that a call names first in its path, or by an id in its body."""
    wanted = mac_id or call.names[0]
    mac = estate.peek(estate.macs, call, wanted)
    if mac is None and wanted in estate.gone_macs and estate.options.macs.gone == "403":
        raise errors.forbidden("read", SERVER)
    if mac is None:
        raise errors.not_found(SERVER, wanted)
    return mac


def image_of(estate: Estate, image_id: str) -> OsImage:
    """Return an image; one that was retired is not found."""
    image = estate.os_images.get(image_id)
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
