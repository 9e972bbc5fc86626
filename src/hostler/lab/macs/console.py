"""What a person with a console does to hosts, chosen by the names that these bear."""

from collections.abc import Mapping
from functools import partial
from random import Random

from hostler.domain.ids import FleetName, HostId, InstallationId
from hostler.domain.model.resource import Stage
from hostler.lab.scenario.faults import FORGOTTEN
from hostler.simulators.scaleway.state.mac_catalogue import published
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.simulators.scaleway.world import World

from .faults import PUT_BACK
from .names import HostName, digest_of


def stage_of(name: str) -> str:
    """Return what a hostler's name says is being done with a host; empty for any other name."""
    words = name.split(".")
    return words[1] if words[0] == "hostler" and len(words) > 1 else ""


def rename(world: World, act: str, which: float, pools: tuple[str, ...]) -> bool:
    """Do one of `faults.PEOPLE`, or put a host back; tell whether there was a host to do it to."""
    dice = Random(which)
    fitting = [mac for mac in world.cloud.macs if _fits(act, mac, pools)]
    if not fitting:
        return False
    mac = fitting[int(which * len(fitting))]
    mac.deletion_scheduled = mac.deletion_scheduled and act != PUT_BACK
    pooled = act in {"claimed_pooled", "other_pooled", PUT_BACK}
    name = f"{dice.choice(pools)}hand{dice.randrange(1000)}" if pooled else "lent to ann"
    return world.console.rename(mac.id, name)


def name_back(world: World, which: float, names: Mapping[HostId, str]) -> bool:
    """Give a host that is claimed, or on its way to that, the name that it had in its pool.

    `names` are those names. Tell whether there was a host to do it to.
    """
    claimed = [mac for mac in world.cloud.macs if stage_of(mac.name) in {"pending", "claimed"}]
    fitting = [mac for mac in claimed if names.get(HostId(mac.id))]
    if not fitting:
        return False
    mac = fitting[int(which * len(fitting))]
    return world.console.rename(mac.id, names[HostId(mac.id)])


def _fits(act: str, mac: Mac, pools: tuple[str, ...]) -> bool:
    stage = stage_of(mac.name)
    match act:
        case "claimed_pooled" | "claimed_renamed":
            return stage == Stage.CLAIMED
        case "pending_renamed":
            return stage in {"pending", "releasing", "wiping"}
        case _ if act == PUT_BACK:
            return stage == Stage.RETIRING or (mac.deletion_scheduled and bool(stage))
        case _:
            return not stage and not mac.name.startswith(pools)


def leave_host(world: World, own: InstallationId, fleet: FleetName, pool: str) -> bool:
    """Let somebody give a free host a name of ours that no record knows, as by a copied one."""
    free = [mac for mac in world.cloud.macs if mac.name.startswith(pool)]
    if not free:
        return False
    name = HostName(
        stage=Stage.CLAIMED,
        installation=own,
        fleet=fleet,
        machine=FORGOTTEN,
        pool=digest_of(pool),
    )
    return world.console.rename(free[0].id, str(name))


def crowd(world: World, many: int) -> None:
    """Let somebody have so many Macs of their own in the project, so that lists are long."""
    for mac in world.stock_macs(many, "M4-S", prefix="lent-") if many else ():
        world.console.rename(mac, f"lent to bob {mac[:8]}")
    if many:
        world.cloud.pool_prefixes.remove("lent-")


def sell_out(world: World, spell: float) -> None:
    """Let a type be sold out for a while."""
    for name in ("M2-L", "M4-M"):
        world.console.set_stock(name, "no_stock")
        world.cloud.after(spell, partial(world.cloud.stock.__setitem__, name, "low_stock"))


def restock(world: World, family: str) -> None:
    """Let everything be sold again that was sold out, with an image of a family at least."""
    cloud = world.cloud
    for name, stock in tuple(cloud.stock.items()):
        if stock == "no_stock":
            world.console.set_stock(name, "low_stock")
    if all(image.family != family for image in cloud.os_images):
        newest = [image for image in published(cloud.now) if image.family == family][-1]
        cloud.os_images.put(newest)
