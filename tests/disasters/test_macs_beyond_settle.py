"""Beyond settle nothing can be proved by names alone: both sides hold, and an alarm is raised."""

from dataclasses import replace
from datetime import timedelta

from hostler.controllers.settings import Settings
from hostler.domain.ids import FleetName, InstallationId, machine_id
from hostler.domain.phases import Phase
from hostler.lab.macstand import FLEET, MINUTE, POOL, MacStand, changes, play_macs, stage
from hostler.lab.stand import Hostler
from hostler.providers.scaleway.macs.names import Name, Stage, pool_digest
from hostler.simulators.scaleway.weather import Rule

THEIRS = Name(
    stage=Stage.PENDING,
    installation=InstallationId("theirs"),
    fleet=FleetName("others"),
    machine=machine_id(77),
    pool=pool_digest(POOL),
)


async def alarms(hostler: Hostler) -> list[str]:
    return [kept.event.detail for kept in await hostler.events() if kept.event.kind == "alarm"]


def test_a_tenant_whose_host_gets_another_name_stays_and_tells() -> None:
    """A claim of another installation lands beyond settle on a host that is in use."""

    async def scene(s: MacStand) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        mine = s.mac().name
        s.rename(s.ids[0], str(THEIRS))
        installs = s.mac().installs
        await s.stand.clock.sleep(30 * MINUTE)
        (machine,) = await hostler.machines()
        assert machine.phase is Phase.READY
        assert (s.mac().name, s.mac().installs) == (str(THEIRS), installs), "nothing is done to it"
        (told,) = await alarms(hostler)
        assert "theirs" in told
        s.rename(s.ids[0], mine)
        await s.stand.clock.sleep(5 * MINUTE)
        s.rename(s.ids[0], str(THEIRS))
        await s.stand.clock.sleep(5 * MINUTE)
        assert len(await alarms(hostler)) == 2, "once for each time"
        assert s.stand.meters.alarms == {(FLEET.name, "host_taken"): 2}

    play_macs(scene)


def test_a_double_is_left_alone_also_when_the_machine_of_its_claim_is_forgotten() -> None:
    """What says that a claim came too late went with the machine's history: a stray, and wiped."""

    async def scene(s: MacStand) -> None:
        s.stand.settings = Settings(remember=timedelta(hours=2))
        s.stand.world.script(Rule(fault="effect_too_late", route="mac.update", spell=600.0))
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.until(lambda: claims(hostler), 10 * MINUTE)
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await s.stand.clock.sleep(30 * MINUTE)
        (suspect,) = await hostler.store.suspects()
        assert (stage(s.mac()), suspect.cls) == ("pending", "double")
        asked = len(changes(s.stand))
        await s.stand.clock.sleep(timedelta(hours=6))
        assert await hostler.store.machine(machine.id) is None, "it was forgotten"
        (suspect,) = await hostler.store.suspects()
        assert suspect.cls == "double"
        assert len(changes(s.stand)) == asked, "nothing was done to whoever uses it"
        s.rename(s.ids[0], f"{POOL}1")
        await hostler.scale(1)
        await s.ready(hostler, 1)

    play_macs(scene)


async def claims(hostler: Hostler) -> bool:
    """Tell whether a claim was asked for."""
    return any(m.asked for m in await hostler.machines())
