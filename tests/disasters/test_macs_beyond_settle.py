"""Beyond settle nothing can be proved by names alone: both sides hold, and an alarm is raised."""

from hostler.domain.ids import FleetName, InstallationId, machine_id
from hostler.domain.phases import Phase
from hostler.lab.macstand import MINUTE, POOL, MacStand, play_macs
from hostler.lab.stand import Hostler
from hostler.providers.scaleway.macs.names import Name, Stage, pool_digest

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

    play_macs(scene)
