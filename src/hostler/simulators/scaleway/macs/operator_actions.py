"""What happens to Macs and their images without a request."""

from functools import partial
from random import Random
from typing import Any

from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_catalogue import DEVOS, TYPES
from hostler.simulators.scaleway.state.mac_records import AT_REST, Mac, MacStatus, OsImage, Porch
from hostler.simulators.scaleway.state.operator_action import OperatorAction

from . import images, lease, lifecycle

STRANGE = "hibernating"  # a status that no document knows


def delete(cloud: Cloud, mac: Mac, _spell: float, _rng: Random) -> None:
    """Delete a Mac, whatever was paid."""
    lease.vanish(cloud, mac)


def rename(cloud: Cloud, mac: Mac, _spell: float, rng: Random) -> None:
    """Give a Mac a name of nobody's, or that of another Mac."""
    others = [other.name for other in cloud.macs if other is not mac]
    mac.name = rng.choice((f"renamed by hand {rng.randrange(1000)}", *others))
    mac.modified = cloud.now


def lock(cloud: Cloud, mac: Mac, spell: float, _rng: Random) -> None:
    """Lock a Mac that is at rest, for a spell."""
    lifecycle.lock(cloud, mac, spell)


def break_down(cloud: Cloud, mac: Mac, _spell: float, _rng: Random) -> None:
    """Let a Mac that is ready go into error."""
    lifecycle.broken(cloud, mac)


def detain(
    statuses: tuple[MacStatus, ...], cloud: Cloud, mac: Mac, spell: float, rng: Random
) -> None:
    """Let a Mac that is ready be in one of some statuses, for a spell."""
    lifecycle.enter(cloud, mac, rng.choice(statuses))
    lifecycle.hold(cloud, mac, spell)


def pool(cloud: Cloud, mac: Mac, _spell: float, rng: Random) -> None:
    """Give a Mac a name of a pool, wiped or not."""
    prefix = rng.choice(cloud.pool_prefixes or ["pool-"])
    mac.name, mac.modified = f"{prefix}hand{rng.randrange(1000)}", cloud.now


def wipe(cloud: Cloud, mac: Mac, _spell: float, _rng: Random) -> bool:
    """Wipe a Mac that is at rest, and install what it has, or the usual image of its type."""
    image = mac.os if mac.os.ended is None else None
    image = image or images.default_image(cloud, TYPES[mac.type_name])
    if image is None:
        return False
    lifecycle.reinstall(cloud, mac, lifecycle.Wipe(image=image))
    return True


def strange_status(cloud: Cloud, mac: Mac, spell: float, rng: Random) -> None:
    """Show the status that means unknown, or one that no document knows, for a spell."""
    mac.displayed = rng.choice(("unknown_status", STRANGE))
    cloud.after(spell, partial(usual_status, mac))


def usual_status(mac: Mac) -> None:
    """Show the true status again."""
    mac.displayed = ""


def seal(cloud: Cloud, mac: Mac, spell: float, _rng: Random) -> None:
    """Seal the password of a Mac again, for a spell."""
    mac.sealed_until = max(mac.sealed_until, cloud.now + spell)


def refuse_ssh(cloud: Cloud, mac: Mac, spell: float, _rng: Random) -> None:
    """Let a Mac refuse connections to SSH, for a spell."""
    mac.porch.refused = cloud.now + spell


def silence_ssh(cloud: Cloud, mac: Mac, spell: float, _rng: Random) -> None:
    """Let SSH on a Mac accept connections and say nothing, for a spell."""
    mac.porch.silent = cloud.now + spell


def forge_key(_cloud: Cloud, mac: Mac, _spell: float, _rng: Random) -> None:
    """Let a Mac show another host key, once."""
    mac.porch.wrong_keys += 1


def calm(cloud: Cloud, mac: Mac) -> None:
    """End what ails a Mac for a spell."""
    usual_status(mac)
    mac.sealed_until = min(mac.sealed_until, cloud.now + cloud.options.macs.sealed)
    mac.porch = Porch()


def idle(mac: Mac) -> bool:
    """Tell if a Mac is ready."""
    return mac.status is MacStatus.READY


def at_rest(mac: Mac) -> bool:
    """Tell if nothing is being done with a Mac."""
    return mac.status in AT_REST


def retire(cloud: Cloud, image: OsImage, _spell: float, _rng: Random) -> bool:
    """Retire an image: hosts that run it go on, nobody can install it any more.

    The last one of a type stays, DevOS apart: no type is let on which nothing could be installed,
    and no host of it could ever be wiped.
    """
    left = [one for one in cloud.os_images if one is not image and one.family != DEVOS]
    if any(all(name not in one.types for one in left) for name in image.types):
        return False
    cloud.os_images.drop(image, cloud.now)
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
