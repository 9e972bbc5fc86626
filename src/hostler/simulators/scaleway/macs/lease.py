"""How long a Mac is paid for, when it may be deleted, and how a deletion before that is refused."""

from functools import partial

from hostler.simulators.scaleway.state.errors import Refused, precondition
from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_catalogue import HOUR, LEASE, MONTH, TYPES
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.state.options import FLOORS


def vanish(estate: Estate, mac: Mac) -> None:
    """Take a Mac out of the world, with its attachments."""
    for attachment in mac.attachments.values():
        estate.attachments.drop(attachment, estate.now)
    mac.attachments.clear()
    mac.turn += 1
    estate.stuck.pop(mac.id, None)
    estate.spell_ends.pop(mac.id, None)
    estate.spell_ends.pop(f"{mac.id} held", None)
    estate.macs.drop(mac, estate.now)
    estate.gone_macs.add(mac.id)
    estate.networks.free(mac.ip)
    del estate.mac_at[mac.ip]
    estate.count(mac.organization, mac.type_name, -1)


DAY = "duration_24h"
MONTHLY = "renewed_monthly"


def begin(estate: Estate, mac: Mac) -> None:
    """Begin to charge for a Mac: on its delivery, for the least time at once."""
    price = TYPES[mac.type_name].price / HOUR
    estate.ledger.meter(mac.id, price, estate.now)
    commit(estate, mac, estate.now + (MONTH if mac.commitment == MONTHLY else LEASE))


def commit(estate: Estate, mac: Mac, end: float) -> None:
    """Charge for a Mac until a moment, whatever becomes of it; then it may be deleted."""
    mac.deletable = end
    price = TYPES[mac.type_name].price / HOUR
    estate.ledger.commit(mac.id, price, estate.now, end)
    estate.after(end - estate.now, partial(due, estate, mac, end))


def due(estate: Estate, mac: Mac, end: float) -> None:
    """Renew what is renewed, and delete what was to be deleted, at the end of the paid time."""
    if mac.ended is not None or mac.deletable != end:
        return
    if mac.commitment == MONTHLY and not mac.cancelled:
        commit(estate, mac, end + MONTH)
    elif mac.deletion_scheduled:
        vanish(estate, mac)


def change(estate: Estate, mac: Mac, commitment: str) -> None:
    """Change the commitment: "none" cancels the renewal, and the date stays."""
    if commitment == "none":
        mac.cancelled = True
        return
    mac.cancelled = False
    if commitment == MONTHLY and mac.commitment != MONTHLY and mac.deletable is not None:
        mac.commitment = commitment
        commit(estate, mac, estate.now + MONTH)
    mac.commitment = commitment


def schedule(estate: Estate, mac: Mac, *, wanted: bool) -> None:
    """Mark a Mac for deletion at its date, or take the mark away."""
    mac.deletion_scheduled = wanted
    if wanted and mac.deletable is not None and mac.deletable <= estate.now:
        estate.after(0.0, partial(due, estate, mac, mac.deletable))


def check_floor(estate: Estate, mac: Mac) -> None:
    """Refuse to delete what is still paid for, or is not delivered yet."""
    end = estate.now + LEASE if mac.deletable is None else mac.deletable
    if estate.now < end:
        date = estate.date(end)[:19].replace("T", " ")
        raise too_early(estate, f"this server cannot be deleted before {date}")


def too_early(estate: Estate, words: str) -> Refused:
    """Return the refusal in the shape of the options."""
    shape = estate.options.macs.floor
    shape = estate.dice.choice(FLOORS) if shape == "mixed" else shape
    if shape == "412-untyped":
        message = f"precondition failed: unknown precondition, {words}"
        return Refused(412, {"message": message})
    if shape == "403":
        message = f"server is not deletable yet: {words}"
        return Refused(403, {"type": "permissions_denied", "message": message, "details": []})
    typed = precondition("2026", "unknown_precondition", words)
    return Refused(int(shape), typed.body)
