"""Macs: listed, shown, changed, rebooted, wiped and deleted, as `/apple-silicon/…` does it."""

from functools import partial

from hostler.simulators.scaleway.api.checks import choice_of, flag_of, id_of, object_of, text_of
from hostler.simulators.scaleway.api.pages import NEWER, listing, order_of, page_of
from hostler.simulators.scaleway.api.resource import Route
from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Answer, Body, Call
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import DEVOS, TYPES
from hostler.simulators.scaleway.state.mac_records import Mac, OsImage

from . import lease, lifecycle, networks, orders, runners
from .bodies import OS, check_at_rest, check_unlocked, mac_body, mac_of, mac_wire
from .images import ZONE, chosen_image

PATH = ZONE + "/servers"
COMMITMENTS = ("duration_24h", "renewed_monthly", "none")


def list_all(cloud: Cloud, call: Call) -> Answer:
    """List Macs, the oldest first unless asked otherwise."""
    project, organization = call.id("project_id"), call.id("organization_id")

    def keep(mac: Mac) -> bool:
        return project in ("", mac.project) and organization in ("", mac.organization)

    newest = order_of(call, "created_at").newest_first
    items = listing(cloud, call, cloud.macs, keep, newest_first=newest)
    return page_of(cloud, call, items, partial(mac_wire, cloud), NEWER.of("servers"))


def get(cloud: Cloud, call: Call) -> Answer:
    """Show a Mac."""
    mac = mac_of(cloud, call)
    return Answer(200, mac_wire(cloud, mac), subject=mac)


def changed(cloud: Cloud, mac: Mac) -> Answer:
    """Answer with a Mac that was changed, its password sealed."""
    return Answer(200, mac_body(cloud, mac, sealed=True), subject=mac)


def update(cloud: Cloud, call: Call) -> Answer:
    """Change a Mac, also one that is on its way; of two renames the last holds."""
    mac, body = mac_of(cloud, call), call.body
    check_unlocked(mac)
    commitment = commitment_of(body)
    scheduled = flag_of(body, "schedule_deletion", default=mac.deletion_scheduled)
    vpc = flag_of(body, "enable_vpc", default=mac.in_vpc)
    name, bandwidth = text_of(body, "name"), orders.bandwidth_of(body, mac.bandwidth)
    runners.apply(cloud, call, mac)
    mac.bandwidth = bandwidth
    if commitment:
        lease.change(cloud, mac, commitment)
    lease.schedule(cloud, mac, requested=scheduled)
    set_vpc(cloud, mac, requested=vpc)
    mac.modified = cloud.now
    if name:
        rename(cloud, call, mac, name)
    body = {**mac_body(cloud, mac, sealed=True), "name": name or mac.name}
    return Answer(200, body, subject=mac)


def rename(cloud: Cloud, call: Call, mac: Mac, name: str) -> None:
    """Give a Mac a name, or begin to: the answer shows it at once in either case."""
    late = spell_of(call, "mac_rename_late") or spell_of(call, "mac_rename_too_late")
    if late:
        cloud.after(late, partial(renamed, cloud, mac, name))
    else:
        renamed(cloud, mac, name)


def renamed(cloud: Cloud, mac: Mac, name: str) -> None:
    """Let a Mac have a name, whatever it was called in between."""
    mac.name, mac.modified = name, cloud.now


def spell_of(call: Call, fault: str) -> float:
    """Return how long the spell of a fault is that strikes a call; 0 for none."""
    return call.struck[fault] if call.takes(fault) else 0.0


def commitment_of(body: Body) -> str:
    """Return the commitment that a change asks for; here it is an object, unlike at creation."""
    return choice_of(object_of(body, "commitment_type"), "commitment_type", *COMMITMENTS)


def set_vpc(cloud: Cloud, mac: Mac, *, requested: bool) -> None:
    """Begin to let a Mac into private networks, or out of them."""
    if requested == mac.in_vpc:
        return
    mac.vpc, mac.vpc_goal = "vpc_updating", "vpc_enabled" if requested else "vpc_disabled"
    for attachment in mac.attachments.values() if not requested else ():
        networks.begin_detach(cloud, attachment)
    mac.vpc_turn += 1
    cloud.after(cloud.lasts("mac.vpc"), partial(vpc_set, mac, mac.vpc_turn))


def vpc_set(mac: Mac, turn: int) -> None:
    """End a change of a Mac's access to private networks that no other has overtaken."""
    if turn == mac.vpc_turn:
        mac.vpc = mac.vpc_goal


def delete(cloud: Cloud, call: Call) -> Answer:
    """Delete a Mac at once, if it is no longer paid for and at rest."""
    mac = mac_of(cloud, call)
    check_unlocked(mac)
    lease.check_floor(cloud, mac)
    check_at_rest(mac)
    lease.vanish(cloud, mac)
    return Answer(204, subject=mac)


def reboot(cloud: Cloud, call: Call) -> Answer:
    """Reboot a Mac."""
    mac = mac_of(cloud, call)
    check_at_rest(mac)
    lifecycle.reboot(cloud, mac, spell_of(call, "mac_stuck_rebooting"))
    return changed(cloud, mac)


def reinstall(cloud: Cloud, call: Call) -> Answer:
    """Wipe a Mac and install an image, by default the usual one of its type."""
    mac = mac_of(cloud, call)
    check_at_rest(mac)
    check_wipeable(mac)
    requested = id_of(call.body, "os_id")
    image = chosen_image(cloud, TYPES[mac.type_name], requested)
    kext = flag_of(call.body, "enable_kext", default=False)
    if call.takes("mac_os_not_found"):
        raise errors.not_found(OS, requested or image.id)
    if not call.takes("mac_reinstall_ignored"):
        mac.kext = kext
        lifecycle.reinstall(cloud, mac, wipe_of(call, image))
    return changed(cloud, mac)


def check_wipeable(mac: Mac) -> None:
    """Refuse to reinstall a runner of the provider's own: how it is refused is our assumption."""
    if mac.runners and mac.os.family == DEVOS:
        words = "a server that is a runner cannot be reinstalled"
        raise errors.precondition("2026", "unknown_precondition", words)


def wipe_of(call: Call, image: OsImage) -> lifecycle.Wipe:
    """Return how a reinstallation goes under these faults."""
    return lifecycle.Wipe(
        image=image,
        fails=call.takes("mac_reinstall_fails"),
        stuck=spell_of(call, "mac_stuck_reinstalling"),
        deaf=spell_of(call, "mac_ssh_late"),
    )


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
