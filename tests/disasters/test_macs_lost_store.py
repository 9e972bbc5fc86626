"""A store that was lost while a host was being wiped: the next one tells of it, and adopts it."""

from datetime import timedelta

from hostler.domain.ids import InstallationId
from hostler.domain.seen import SuspectClass, WishKind
from hostler.lab.macstand import MINUTE, MacStand, play_macs, stage
from hostler.lab.stand import Hostler


async def left_in_a_wipe(s: MacStand) -> tuple[Hostler, InstallationId]:
    """Return a hostler with a new store, and the lost one's id: its host is being wiped."""
    lost = s.hostler()
    await s.ready(lost, 1)
    await lost.scale(0)

    async def wiping() -> bool:
        return stage(s.mac()) == "wiping" and not await lost.machines()

    await s.until(wiping, timedelta(hours=1))
    await lost.stop()
    s.truth.hostlers.remove(lost)
    identity = await lost.store.identity()
    return s.hostler(), identity.own


def test_a_host_that_a_lost_store_wiped_is_in_the_ledger_and_is_not_touched() -> None:
    async def scene(s: MacStand) -> None:
        heir, lost = await left_in_a_wipe(s)
        await s.stand.clock.sleep(60 * MINUTE)
        (suspect,) = await heir.store.suspects()
        assert (suspect.cls, suspect.installation) == (SuspectClass.FOREIGN, lost)
        assert suspect.price > 0
        assert stage(s.mac()) == "wiping"
        assert await heir.machines() == ()

    play_macs(scene)


def test_a_host_that_a_lost_store_wiped_is_adopted_wiped_anew_and_used() -> None:
    async def scene(s: MacStand) -> None:
        heir, lost = await left_in_a_wipe(s)
        await s.stand.clock.sleep(30 * MINUTE)
        installs = s.mac().installs
        await heir.wish(WishKind.ADOPT, installation=lost)
        await s.ready(heir, 1, timedelta(hours=2))
        assert s.mac().installs > installs, "no wipe of a lost store is proved"
        assert await heir.store.suspects() == ()

    play_macs(scene)
