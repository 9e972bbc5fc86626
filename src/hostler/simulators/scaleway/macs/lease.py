"""How long a Mac is paid for, when it may be deleted, and how a deletion before that is refused."""

from functools import partial

from hostler.simulators.scaleway.state.errors import Refused, precondition
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import (
    HOUR,
    LEASE,
    MONTH,
    MONTHLY,
    TYPES,
)
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.state.options import FLOORS
from hostler.simulators.scaleway.vpc import private_ips


def vanish(cloud: Cloud, mac: Mac) -> None:
    """Take a Mac out of the world, with its attachments."""
    for attachment in mac.attachments.values():
        private_ips.give_back(cloud, attachment.ips)
        cloud.attachments.drop(attachment, cloud.now)
    mac.attachments.clear()
    mac.turn += 1
    cloud.stuck.pop(mac.id, None)
    cloud.spell_ends.pop(mac.id, None)
    cloud.spell_ends.pop(f"{mac.id} held", None)
    cloud.macs.drop(mac, cloud.now)
    cloud.deleted_macs.add(mac.id)
    cloud.networks.free(mac.ip)
    del cloud.mac_at[mac.ip]
    cloud.count(mac.organization, mac.type_name, -1)


DAY = "duration_24h"


def begin(cloud: Cloud, mac: Mac) -> None:
    """Begin to charge for a Mac: from its order on, for the least time at once."""
    price = TYPES[mac.type_name].price / HOUR
    cloud.ledger.meter(mac.id, price, cloud.now)
    commit(cloud, mac, cloud.now + (MONTH if mac.commitment == MONTHLY else LEASE))


def commit(cloud: Cloud, mac: Mac, end: float) -> None:
    """Charge for a Mac until a moment, whatever becomes of it; then it may be deleted."""
    mac.deletable = end
    price = TYPES[mac.type_name].price / HOUR
    cloud.ledger.commit(mac.id, price, cloud.now, end)
    cloud.after(end - cloud.now, partial(due, cloud, mac, end))


def due(cloud: Cloud, mac: Mac, end: float) -> None:
    """Renew what is renewed, and delete what was to be deleted, at the end of the paid time."""
    if mac.ended is not None or mac.deletable != end:
        return
    if mac.commitment == MONTHLY and not mac.cancelled:
        commit(cloud, mac, end + MONTH)
    elif mac.deletion_scheduled:
        vanish(cloud, mac)


def change(cloud: Cloud, mac: Mac, commitment: str) -> None:
    """Change the commitment: "none" cancels the renewal, and the date stays."""
    if commitment == "none":
        mac.cancelled = True
        return
    mac.cancelled = False
    if commitment == MONTHLY and mac.commitment != MONTHLY and mac.deletable is not None:
        mac.commitment = commitment
        commit(cloud, mac, cloud.now + MONTH)
    mac.commitment = commitment


def schedule(cloud: Cloud, mac: Mac, *, requested: bool) -> None:
    """Mark a Mac for deletion at its date, or take the mark away."""
    mac.deletion_scheduled = requested
    if requested and mac.deletable is not None and mac.deletable <= cloud.now:
        cloud.after(0.0, partial(due, cloud, mac, mac.deletable))


def check_floor(cloud: Cloud, mac: Mac) -> None:
    """Refuse to delete what is still paid for."""
    end = cloud.now + LEASE if mac.deletable is None else mac.deletable
    if cloud.now < end:
        date = cloud.date(end)[:19].replace("T", " ")
        raise too_early(cloud, f"this server cannot be deleted before {date} +0000 UTC")


def too_early(cloud: Cloud, words: str) -> Refused:
    """Return the refusal in the shape of the options."""
    shape = cloud.options.macs.floor
    shape = cloud.dice.choice(FLOORS) if shape == "mixed" else shape
    if shape == "412-untyped":
        message = f"precondition failed: unknown precondition, {words}"
        return Refused(412, {"message": message})
    if shape == "403":
        message = f"server is not deletable yet: {words}"
        return Refused(403, {"type": "permissions_denied", "message": message, "details": []})
    typed = precondition("2026", "unknown_precondition", words)
    return Refused(int(shape), typed.body)
