"""How Macs go from status to status over time."""

from collections.abc import Callable
from functools import partial
from random import Random

from msgspec import Struct

from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.mac_records import Disk, Mac, MacStatus, OsImage
from hostler.simulators.scaleway.state.timeline import Effect

from . import lease

Step = Callable[[Cloud, Mac], None]
LETTERS = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789@:/%#"


def enter(cloud: Cloud, mac: Mac, status: MacStatus) -> None:
    """Put a Mac in a status; whatever was under way for it is overtaken."""
    mac.status = status
    mac.turn += 1
    mac.modified = cloud.now


def plan(cloud: Cloud, mac: Mac, seconds: float, step: Step) -> Effect:
    """Plan the next step of a Mac, unless another transition overtakes it."""
    effect = partial(unless_overtaken, cloud, mac, mac.turn, step)
    cloud.after(seconds, effect)
    return effect


def linger(cloud: Cloud, mac: Mac, transition: str, stuck: float, step: Step) -> None:
    """Plan the end of a transition, which may be stuck; the end of all faults ends that wait."""
    effect = plan(cloud, mac, cloud.lasts(transition) + stuck, step)
    if stuck:
        cloud.stuck[mac.id] = effect


def unless_overtaken(cloud: Cloud, mac: Mac, turn: int, step: Step) -> None:
    """Take a step of a Mac that is where it was when the step was planned."""
    if mac.turn == turn and mac.ended is None:
        step(cloud, mac)


def ready(cloud: Cloud, mac: Mac) -> None:
    """Let a Mac be ready."""
    enter(cloud, mac, MacStatus.READY)


def broken(cloud: Cloud, mac: Mac) -> None:
    """Let a Mac be in error; a reboot or a reinstallation gets it out of there."""
    enter(cloud, mac, MacStatus.ERROR)


class Delivery(Struct, frozen=True, kw_only=True):
    """How a new Mac is handed over: with the usual image or not, late, never, or in error.

    stuck: for how many seconds more it stays in starting; never: for a month, or until all
    faults end.
    """

    usual: bool
    stuck: float = 0.0
    never: bool = False
    fails: bool = False


def deliver(cloud: Cloud, mac: Mac, how: Delivery) -> None:
    """Begin to install a new Mac; another image than the usual one takes longer."""
    way = "mac.delivery" if how.usual else "mac.delivery.other"
    stuck = how.stuck + (lease.MONTH if how.never else 0.0)
    linger(cloud, mac, way, stuck, delivered_broken if how.fails else delivered)


def delivered(cloud: Cloud, mac: Mac) -> None:
    """Hand a new Mac over: from now on it is delivered for ever."""
    mac.delivered = True
    written(cloud, mac)
    ready(cloud, mac)


def delivered_broken(cloud: Cloud, mac: Mac) -> None:
    """Hand a new Mac over in error: it costs as any other."""
    delivered(cloud, mac)
    broken(cloud, mac)


def written(cloud: Cloud, mac: Mac) -> None:
    """Give a Mac another disk, on which the keys that its project has now may log in."""
    mac.installs += 1
    mac.sealed_until = cloud.now + cloud.options.macs.sealed
    known = (key for key in cloud.keys if key.project == mac.project and not key.disabled)
    keys = tuple(key.public_key for key in known)
    mac.disk = Disk(keys=keys, seed=cloud.dice.randbytes(32))


def reboot(cloud: Cloud, mac: Mac, stuck: float = 0.0) -> None:
    """Begin a reboot."""
    enter(cloud, mac, MacStatus.REBOOTING)
    linger(cloud, mac, "mac.reboot", stuck, ready)


class Wipe(Struct, frozen=True, kw_only=True):
    """How a reinstallation goes: of which image, if it fails, and what takes so many seconds more.

    stuck: for how long it stays in reinstalling; deaf: for how long SSH is refused after it.
    """

    image: OsImage
    fails: bool = False
    stuck: float = 0.0
    deaf: float = 0.0


def reinstall(cloud: Cloud, mac: Mac, wipe: Wipe) -> None:
    """Begin to wipe a Mac and to install an image; it may end in error, its old disk kept."""
    enter(cloud, mac, MacStatus.REINSTALLING)
    end = broken if wipe.fails else partial(reinstalled, wipe=wipe)
    linger(cloud, mac, "mac.reinstall", wipe.stuck, end)


def reinstalled(cloud: Cloud, mac: Mac, wipe: Wipe) -> None:
    """End a reinstallation: another disk, another password."""
    mac.os = wipe.image
    mac.password = password(cloud.dice)
    mac.porch.refused = cloud.now + wipe.deaf
    written(cloud, mac)
    ready(cloud, mac)


def password(dice: Random) -> str:
    """Draw a password, with characters that a URL must escape."""
    return "".join(dice.choice(LETTERS) for _ in range(16))


def lock(cloud: Cloud, mac: Mac, spell: float) -> None:
    """Lock a Mac for a spell, on its way through `locking`; what was in error is so after it."""
    back = broken if mac.status is MacStatus.ERROR else ready
    enter(cloud, mac, MacStatus.LOCKING)
    plan(cloud, mac, cloud.lasts("mac.lock"), locked)
    end = partial(unlock, cloud, mac, back)
    cloud.spell_ends[mac.id] = end
    cloud.after(spell, end)


def hold(cloud: Cloud, mac: Mac, spell: float) -> None:
    """Let a Mac be as it is for a spell, and then ready."""
    end = partial(unless_overtaken, cloud, mac, mac.turn, ready)
    cloud.spell_ends[f"{mac.id} held"] = end
    cloud.after(spell, end)


def locked(cloud: Cloud, mac: Mac) -> None:
    """Let a Mac be locked."""
    enter(cloud, mac, MacStatus.LOCKED)


def unlock(cloud: Cloud, mac: Mac, back: Step) -> None:
    """Begin to unlock a Mac, once; it goes back to what it was."""
    if cloud.spell_ends.pop(mac.id, None) and mac.ended is None:
        enter(cloud, mac, MacStatus.UNLOCKING)
        plan(cloud, mac, cloud.lasts("mac.lock"), back)
