"""What happens to Macs and their images without a request."""

from collections.abc import Callable
from functools import partial
from random import Random

from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_catalogue import DEVOS, TYPES
from hostler.simulators.scaleway.state.mac_records import AT_REST, Mac, MacStatus, OsImage, Porch
from hostler.simulators.scaleway.state.records import Record

from . import images, lease, lifecycle

STRANGE = "hibernating"  # a status that no document knows
OperatorAction = Callable[[Estate, Record, float, Random], bool]


def delete(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Delete a Mac, whatever was paid."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    lease.vanish(estate, record)
    return True


def rename(estate: Estate, record: Record, _spell: float, rng: Random) -> bool:
    """Give a Mac a name of nobody's, or that of another Mac."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    others = [mac.name for mac in estate.macs if mac is not record]
    record.name = rng.choice((f"renamed by hand {rng.randrange(1000)}", *others))
    record.modified = estate.now
    return True


def lock(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Lock a Mac that is at rest, for a spell."""
    if not isinstance(record, Mac) or record.status not in AT_REST or record.ended is not None:
        return False
    lifecycle.lock(estate, record, spell)
    return True


def break_down(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Let a Mac that is ready go into error."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    lifecycle.broken(estate, record)
    return True


def detain(
    statuses: tuple[MacStatus, ...], estate: Estate, record: Record, spell: float, rng: Random
) -> bool:
    """Let a Mac that is ready be in one of some statuses, for a spell."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    lifecycle.enter(estate, record, rng.choice(statuses))
    lifecycle.hold(estate, record, spell)
    return True


def pool(estate: Estate, record: Record, _spell: float, rng: Random) -> bool:
    """Give a Mac a name of a pool, wiped or not."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    prefix = rng.choice(estate.pool_prefixes or ["pool-"])
    record.name, record.modified = f"{prefix}hand{rng.randrange(1000)}", estate.now
    return True


def wipe(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Wipe a Mac that is at rest, and install what it has, or the usual image of its type."""
    if not isinstance(record, Mac) or record.status not in AT_REST or record.ended is not None:
        return False
    image = record.os if record.os.ended is None else None
    image = image or images.default_image(estate, TYPES[record.type_name])
    if image is None:
        return False
    lifecycle.reinstall(estate, record, lifecycle.Wipe(image=image))
    return True


def strange_status(estate: Estate, record: Record, spell: float, rng: Random) -> bool:
    """Show the status that means unknown, or one that no document knows, for a spell."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    record.shown = rng.choice(("unknown_status", STRANGE))
    estate.after(spell, partial(usual_status, record))
    return True


def usual_status(mac: Mac) -> None:
    """Show the true status again."""
    mac.shown = ""


def seal(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Seal the password of a Mac again, for a spell."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    record.sealed_until = max(record.sealed_until, estate.now + spell)
    return True


def refuse_ssh(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Let a Mac refuse connections to SSH, for a spell."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    record.porch.refused = estate.now + spell
    return True


def silence_ssh(estate: Estate, record: Record, spell: float, _rng: Random) -> bool:
    """Let SSH on a Mac accept connections and say nothing, for a spell."""
    if not isinstance(record, Mac) or not idle(record):
        return False
    record.porch.silent = estate.now + spell
    return True


def forge_key(_estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Let a Mac show another host key, once."""
    if not isinstance(record, Mac) or record.ended is not None:
        return False
    record.porch.wrong_keys += 1
    return True


def calm(estate: Estate, mac: Mac) -> None:
    """End what ails a Mac for a spell."""
    usual_status(mac)
    mac.sealed_until = min(mac.sealed_until, estate.now + estate.options.macs.sealed)
    mac.porch = Porch()


def idle(mac: Mac) -> bool:
    """Tell if a Mac is ready and there."""
    return mac.status is MacStatus.READY and mac.ended is None


def retire(estate: Estate, record: Record, _spell: float, _rng: Random) -> bool:
    """Retire an image: hosts that run it go on, nobody can install it any more.

    The last one of a type stays, DevOS apart: no type is let on which nothing could be installed,
    and no host of it could ever be wiped.
    """
    if not isinstance(record, OsImage) or record.ended is not None:
        return False
    left = [image for image in estate.os_images if image is not record and image.family != DEVOS]
    if any(all(name not in image.types for image in left) for name in record.types):
        return False
    estate.os_images.drop(record, estate.now)
    return True


OPERATOR_ACTIONS: dict[str, OperatorAction] = {
    "mac_renamed_by_hand": rename,
    "mac_pooled_by_hand": pool,
    "mac_reinstalled_by_hand": wipe,
    "mac_deleted_by_hand": delete,
    "mac_locked": lock,
    "mac_stuck_locking": partial(detain, (MacStatus.LOCKING, MacStatus.UNLOCKING)),
    "mac_broken": break_down,
    "mac_busy": partial(detain, (MacStatus.BUSY, MacStatus.UPDATING)),
    "mac_unknown_status": strange_status,
    "mac_sealed": seal,
    "mac_ssh_refused": refuse_ssh,
    "mac_ssh_hung": silence_ssh,
    "mac_ssh_wrong_key": forge_key,
    "mac_image_retired": retire,
}
