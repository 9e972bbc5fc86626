"""How Macs go from status to status over time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from hostler.simulators.scaleway.state.inventory import Estate
from hostler.simulators.scaleway.state.mac_records import Disk, Mac, MacStatus, OsImage
from hostler.simulators.scaleway.state.timeline import Effect

from . import lease

Step = Callable[[Estate, Mac], None]
LETTERS = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789@:/%#"


def enter(estate: Estate, mac: Mac, status: MacStatus) -> None:
    """Put a Mac in a status; whatever was under way for it is overtaken."""
    mac.status = status
    mac.turn += 1
    mac.modified = estate.now


def plan(estate: Estate, mac: Mac, seconds: float, step: Step) -> Effect:
    """Plan the next step of a Mac, unless another transition overtakes it."""
    effect = partial(unless_overtaken, estate, mac, mac.turn, step)
    estate.after(seconds, effect)
    return effect


def linger(estate: Estate, mac: Mac, transition: str, stuck: float, step: Step) -> None:
    """Plan the end of a transition, which may be stuck; the end of all faults ends that wait."""
    effect = plan(estate, mac, estate.lasts(transition) + stuck, step)
    if stuck:
        estate.stuck[mac.id] = effect


def unless_overtaken(estate: Estate, mac: Mac, turn: int, step: Step) -> None:
    """Take a step of a Mac that is where it was when the step was planned."""
    if mac.turn == turn and mac.ended is None:
        step(estate, mac)


def ready(estate: Estate, mac: Mac) -> None:
    """Let a Mac be ready."""
    enter(estate, mac, MacStatus.READY)


def broken(estate: Estate, mac: Mac) -> None:
    """Let a Mac be in error; a reboot or a reinstallation gets it out of there."""
    enter(estate, mac, MacStatus.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How a new Mac is handed over: with the usual image or not, late, never, or in error.

    stuck: for how many seconds more it stays in starting; never: for a month, or until all
    faults end.
    """

    usual: bool
    stuck: float = 0.0
    never: bool = False
    fails: bool = False


def deliver(estate: Estate, mac: Mac, how: Delivery) -> None:
    """Begin to install a new Mac; another image than the usual one takes longer."""
    way = "mac.delivery" if how.usual else "mac.delivery.other"
    stuck = how.stuck + (lease.MONTH if how.never else 0.0)
    linger(estate, mac, way, stuck, delivered_broken if how.fails else delivered)


def delivered(estate: Estate, mac: Mac) -> None:
    """Hand a new Mac over: from now on it is delivered for ever, and costs."""
    mac.delivered = True
    written(estate, mac)
    lease.begin(estate, mac)
    ready(estate, mac)


def delivered_broken(estate: Estate, mac: Mac) -> None:
    """Hand a new Mac over in error: it costs as any other."""
    delivered(estate, mac)
    broken(estate, mac)


def written(estate: Estate, mac: Mac) -> None:
    """Give a Mac another disk, on which the keys that its project has now may log in."""
    mac.installs += 1
    mac.sealed_until = estate.now + estate.options.macs.sealed
    known = (key for key in estate.keys if key.project == mac.project and not key.disabled)
    keys = tuple(key.public_key for key in known)
    mac.disk = Disk(keys=keys, seed=estate.dice.randbytes(32))


def reboot(estate: Estate, mac: Mac, stuck: float = 0.0) -> None:
    """Begin a reboot."""
    enter(estate, mac, MacStatus.REBOOTING)
    linger(estate, mac, "mac.reboot", stuck, ready)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wipe:
    """How a reinstallation goes: of which image, if it fails, and what takes so many seconds more.

    stuck: for how long it stays in reinstalling; deaf: for how long SSH is refused after it.
    """

    image: OsImage
    fails: bool = False
    stuck: float = 0.0
    deaf: float = 0.0


def reinstall(estate: Estate, mac: Mac, wipe: Wipe) -> None:
    """Begin to wipe a Mac and to install an image; it may end in error, its old disk kept."""
    enter(estate, mac, MacStatus.REINSTALLING)
    end = broken if wipe.fails else partial(reinstalled, wipe=wipe)
    linger(estate, mac, "mac.reinstall", wipe.stuck, end)


def reinstalled(estate: Estate, mac: Mac, wipe: Wipe) -> None:
    """End a reinstallation: another disk, another password."""
    mac.os = wipe.image
    mac.password = password(estate.dice)
    mac.porch.refused = estate.now + wipe.deaf
    written(estate, mac)
    ready(estate, mac)


def password(dice: Random) -> str:
    """Draw a password, with characters that a URL must escape."""
    return "".join(dice.choice(LETTERS) for _ in range(16))


def lock(estate: Estate, mac: Mac, spell: float) -> None:
    """Lock a Mac for a spell, on its way through `locking`."""
    enter(estate, mac, MacStatus.LOCKING)
    plan(estate, mac, estate.lasts("mac.lock"), locked)
    end = partial(unlock, estate, mac)
    estate.spell_ends[mac.id] = end
    estate.after(spell, end)


def hold(estate: Estate, mac: Mac, spell: float) -> None:
    """Let a Mac be as it is for a spell, and then ready."""
    end = partial(unless_overtaken, estate, mac, mac.turn, ready)
    estate.spell_ends[f"{mac.id} held"] = end
    estate.after(spell, end)


def locked(estate: Estate, mac: Mac) -> None:
    """Let a Mac be locked."""
    enter(estate, mac, MacStatus.LOCKED)


def unlock(estate: Estate, mac: Mac) -> None:
    """Begin to unlock a Mac, once."""
    if estate.spell_ends.pop(mac.id, None) and mac.ended is None:
        enter(estate, mac, MacStatus.UNLOCKING)
        plan(estate, mac, estate.lasts("mac.lock"), ready)
