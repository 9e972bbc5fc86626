"""What happens to Macs and their images without a request."""

from functools import partial
from random import Random
from typing import Any

from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_catalogue import DEVOS, TYPES
from hostler.simulators.scaleway.state.mac_records import AT_REST, Mac, MacStatus, OsImage, Porch
from hostler.simulators.scaleway.state.operator_action import OperatorAction

from . import images, lease, lifecycle

STRANGE = "hibernating"  # a status that no document knows


def delete(estate: Estate, mac: Mac, _spell: float, _rng: Random) -> None:
    """Delete a Mac, whatever was paid."""
    lease.vanish(estate, mac)


def rename(estate: Estate, mac: Mac, _spell: float, rng: Random) -> None:
    """Give a Mac a name of nobody's, or that of another Mac."""
    others = [other.name for other in estate.macs if other is not mac]
    mac.name = rng.choice((f"renamed by hand {rng.randrange(1000)}", *others))
    mac.modified = estate.now


def lock(estate: Estate, mac: Mac, spell: float, _rng: Random) -> None:
    """Lock a Mac that is at rest, for a spell."""
    lifecycle.lock(estate, mac, spell)


def break_down(estate: Estate, mac: Mac, _spell: float, _rng: Random) -> None:
    """Let a Mac that is ready go into error."""
    lifecycle.broken(estate, mac)


def detain(
    statuses: tuple[MacStatus, ...], estate: Estate, mac: Mac, spell: float, rng: Random
) -> None:
    """Let a Mac that is ready be in one of some statuses, for a spell."""
    lifecycle.enter(estate, mac, rng.choice(statuses))
    lifecycle.hold(estate, mac, spell)


def pool(estate: Estate, mac: Mac, _spell: float, rng: Random) -> None:
    """Give a Mac a name of a pool, wiped or not."""
    prefix = rng.choice(estate.pool_prefixes or ["pool-"])
    mac.name, mac.modified = f"{prefix}hand{rng.randrange(1000)}", estate.now


def wipe(estate: Estate, mac: Mac, _spell: float, _rng: Random) -> bool:
    """Wipe a Mac that is at rest, and install what it has, or the usual image of its type."""
    image = mac.os if mac.os.ended is None else None
    image = image or images.default_image(estate, TYPES[mac.type_name])
    if image is None:
        return False
    lifecycle.reinstall(estate, mac, lifecycle.Wipe(image=image))
    return True


def strange_status(estate: Estate, mac: Mac, spell: float, rng: Random) -> None:
    """Show the status that means unknown, or one that no document knows, for a spell."""
    mac.shown = rng.choice(("unknown_status", STRANGE))
    estate.after(spell, partial(usual_status, mac))


def usual_status(mac: Mac) -> None:
    """Show the true status again."""
    mac.shown = ""


def seal(estate: Estate, mac: Mac, spell: float, _rng: Random) -> None:
    """Seal the password of a Mac again, for a spell."""
    mac.sealed_until = max(mac.sealed_until, estate.now + spell)


def refuse_ssh(estate: Estate, mac: Mac, spell: float, _rng: Random) -> None:
    """Let a Mac refuse connections to SSH, for a spell."""
    mac.porch.refused = estate.now + spell


def silence_ssh(estate: Estate, mac: Mac, spell: float, _rng: Random) -> None:
    """Let SSH on a Mac accept connections and say nothing, for a spell."""
    mac.porch.silent = estate.now + spell


def forge_key(_estate: Estate, mac: Mac, _spell: float, _rng: Random) -> None:
    """Let a Mac show another host key, once."""
    mac.porch.wrong_keys += 1


def calm(estate: Estate, mac: Mac) -> None:
    """End what ails a Mac for a spell."""
    usual_status(mac)
    mac.sealed_until = min(mac.sealed_until, estate.now + estate.options.macs.sealed)
    mac.porch = Porch()


def idle(mac: Mac) -> bool:
    """Tell if a Mac is ready."""
    return mac.status is MacStatus.READY


def at_rest(mac: Mac) -> bool:
    """Tell if nothing is being done with a Mac."""
    return mac.status in AT_REST


def retire(estate: Estate, image: OsImage, _spell: float, _rng: Random) -> bool:
    """Retire an image: hosts that run it go on, nobody can install it any more.

    The last one of a type stays, DevOS apart: no type is let on which nothing could be installed,
    and no host of it could ever be wiped.
    """
    left = [one for one in estate.os_images if one is not image and one.family != DEVOS]
    if any(all(name not in one.types for one in left) for name in image.types):
        return False
    estate.os_images.drop(image, estate.now)
    return True


OPERATOR_ACTIONS: dict[str, OperatorAction[Any]] = {
    "mac_renamed_by_hand": OperatorAction(Mac, rename),
    "mac_pooled_by_hand": OperatorAction(Mac, pool),
    "mac_reinstalled_by_hand": OperatorAction(Mac, wipe, at_rest),
    "mac_deleted_by_hand": OperatorAction(Mac, delete),
    "mac_locked": OperatorAction(Mac, lock, at_rest),
    "mac_stuck_locking": OperatorAction(
        Mac, partial(detain, (MacStatus.LOCKING, MacStatus.UNLOCKING)), idle
    ),
    "mac_broken": OperatorAction(Mac, break_down, idle),
    "mac_busy": OperatorAction(Mac, partial(detain, (MacStatus.BUSY, MacStatus.UPDATING)), idle),
    "mac_unknown_status": OperatorAction(Mac, strange_status),
    "mac_sealed": OperatorAction(Mac, seal),
    "mac_ssh_refused": OperatorAction(Mac, refuse_ssh, idle),
    "mac_ssh_hung": OperatorAction(Mac, silence_ssh, idle),
    "mac_ssh_wrong_key": OperatorAction(Mac, forge_key),
    "mac_image_retired": OperatorAction(OsImage, retire),
}
