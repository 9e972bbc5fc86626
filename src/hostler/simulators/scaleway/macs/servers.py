"""Macs: listed, shown, changed, rebooted, wiped and deleted, as `/apple-silicon/…` does it."""

from functools import partial

from hostler.simulators.scaleway import errors
from hostler.simulators.scaleway.calls import Answer, Body, Call
from hostler.simulators.scaleway.checks import choice_of, flag_of, object_of, size_of, text_of
from hostler.simulators.scaleway.estate import Estate
from hostler.simulators.scaleway.pages import NEWER, listing, page_of
from hostler.simulators.scaleway.route import Route

from . import ending, lease, lifecycle, orders
from .bodies import mac_body
from .catalogue import TYPES
from .find import check_at_rest, check_unlocked, mac_of
from .images import ZONE, chosen_image
from .records import Mac

PATH = ZONE + "/servers"
COMMITMENTS = ("duration_24h", "renewed_monthly", "none")


def list_all(estate: Estate, call: Call) -> Answer:
    """List Macs, the oldest first unless asked otherwise."""
    project, whose = call.text("project_id"), call.text("organization_id")

    def keep(mac: Mac) -> bool:
        return project in ("", mac.project) and whose in ("", mac.organization)

    newest = call.text("order_by") == "created_at_desc"
    items = listing(estate, call, estate.macs, keep, newest_first=newest)
    return page_of(estate, call, items, partial(mac_body, estate), NEWER.of("servers"))


def get(estate: Estate, call: Call) -> Answer:
    """Show a Mac."""
    return shown(estate, mac_of(estate, call))


def shown(estate: Estate, mac: Mac) -> Answer:
    """Answer with a Mac."""
    return Answer(200, mac_body(estate, mac), subject=mac)


def update(estate: Estate, call: Call) -> Answer:
    """Change a Mac, also one that is on its way; of two renames the last holds."""
    mac, body = mac_of(estate, call), call.body
    check_unlocked(mac)
    commitment = commitment_of(body)
    scheduled = flag_of(body, "schedule_deletion", default=mac.deletion_scheduled)
    vpc = flag_of(body, "enable_vpc", default=mac.vpc != "vpc_disabled")
    mac.name = text_of(body, "name") or mac.name
    mac.bandwidth = size_of(body, "public_bandwidth_bps") or mac.bandwidth
    if commitment:
        lease.change(estate, mac, commitment)
    lease.schedule(estate, mac, wanted=scheduled)
    set_vpc(estate, mac, wanted=vpc)
    mac.modified = estate.now
    return shown(estate, mac)


def commitment_of(body: Body) -> str:
    """Return the commitment that a change asks for; here it is an object, unlike at creation."""
    wanted = choice_of(object_of(body, "commitment_type"), "commitment_type")
    if wanted and wanted not in COMMITMENTS:
        raise errors.invalid(("commitment_type", "constraint", "not a valid value"))
    return wanted


def set_vpc(estate: Estate, mac: Mac, *, wanted: bool) -> None:
    """Begin to let a Mac into private networks, or out of them."""
    if wanted == (mac.vpc != "vpc_disabled"):
        return
    mac.vpc = "vpc_updating"
    goal = "vpc_enabled" if wanted else "vpc_disabled"
    estate.after(estate.lasts("mac.vpc"), partial(vpc_set, mac, goal))


def vpc_set(mac: Mac, goal: str) -> None:
    """End a change of a Mac's access to private networks."""
    mac.vpc = goal


def delete(estate: Estate, call: Call) -> Answer:
    """Delete a Mac at once, if it is no longer paid for and at rest."""
    mac = mac_of(estate, call)
    check_unlocked(mac)
    lease.check_floor(estate, mac)
    check_at_rest(mac)
    ending.vanish(estate, mac)
    return Answer(204, subject=mac)


def reboot(estate: Estate, call: Call) -> Answer:
    """Reboot a Mac."""
    mac = mac_of(estate, call)
    check_at_rest(mac)
    lifecycle.reboot(estate, mac)
    return shown(estate, mac)


def reinstall(estate: Estate, call: Call) -> Answer:
    """Wipe a Mac and install an image, by default the usual one of its type."""
    mac = mac_of(estate, call)
    check_at_rest(mac)
    image = chosen_image(estate, TYPES[mac.type_name], text_of(call.body, "os_id"))
    kext = flag_of(call.body, "enable_kext", default=False)
    if not call.takes("mac_reinstall_ignored"):
        mac.kext = kext
        lifecycle.reinstall(estate, mac, image, fails=call.takes("mac_reinstall_fails"))
    return shown(estate, mac)


ROUTES = (
    Route("mac.list", "GET", PATH, list_all),
    Route("mac.create", "POST", PATH, orders.create),
    Route("mac.batch", "POST", ZONE + "/batch-create-servers", orders.batch),
    Route("mac.get", "GET", PATH + "/*", get),
    Route("mac.update", "PATCH", PATH + "/*", update),
    Route("mac.delete", "DELETE", PATH + "/*", delete),
    Route("mac.reboot", "POST", PATH + "/*/reboot", reboot),
    Route("mac.reinstall", "POST", PATH + "/*/reinstall", reinstall),
)
