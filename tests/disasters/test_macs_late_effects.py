"""Beyond settle nothing can be proved by names alone: both sides hold, and an alarm is raised."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import FleetName, InstallationId, MachineId, machine_id
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Stage
from hostler.lab.scenes.macs import (
    FLEET,
    MINUTE,
    OTHERS,
    POOL,
    MacRig,
    changes,
    hosts,
    play_macs,
    stage,
)
from hostler.lab.scenes.servers import Hostler
from hostler.ports.metrics import Count
from hostler.providers.scaleway.macs.plan.names import Name, pool_digest
from hostler.simulators.scaleway.faults.rates import Rule

THEIRS = Name(
    stage=Stage.PENDING,
    installation=InstallationId("theirs"),
    fleet=FleetName("others"),
    machine=machine_id(77),
    pool=pool_digest(POOL),
)


async def alarms(hostler: Hostler) -> list[str]:
    return [entry.event.detail for entry in await hostler.events() if entry.event.kind == "alarm"]


def test_a_tenant_whose_host_gets_another_name_stays_and_tells() -> None:
    """A claim of another installation lands beyond settle on a host that is in use."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler()
        await s.ready(hostler, 1)
        mine = s.mac().name
        s.rename(s.ids[0], str(THEIRS))
        installs = s.mac().installs
        await s.rig.clock.sleep(30 * MINUTE)
        (machine,) = await hostler.machines()
        assert machine.phase is Phase.READY
        assert (s.mac().name, s.mac().installs) == (str(THEIRS), installs), "nothing is done to it"
        (alarm,) = await alarms(hostler)
        assert "theirs" in alarm
        s.rename(s.ids[0], mine)
        await s.rig.clock.sleep(5 * MINUTE)
        s.rename(s.ids[0], str(THEIRS))
        await s.rig.clock.sleep(5 * MINUTE)
        assert len(await alarms(hostler)) == 2, "once for each time"
        assert s.rig.metrics.series(Count.ALARMS) == {(FLEET.name, "host_taken"): 2}

    play_macs(scene)


def test_a_double_is_left_alone_also_when_the_machine_of_its_claim_is_forgotten() -> None:
    """What says that a claim came too late went with the machine's history: a stray, and wiped."""

    async def scene(s: MacRig) -> None:
        s.rig.settings = Settings(remember=timedelta(hours=2))
        s.rig.world.script(Rule(fault="effect_too_late", route="mac.update", spell=600.0))
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.until(lambda: claims(hostler), 10 * MINUTE)
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await s.rig.clock.sleep(30 * MINUTE)
        (orphan,) = await hostler.store.orphans()
        assert (stage(s.mac()), orphan.cls) == ("pending", "double")
        asked = len(changes(s.rig))
        await s.rig.clock.sleep(timedelta(hours=6))
        assert await hostler.store.machine(machine.id) is None, "it was forgotten"
        (orphan,) = await hostler.store.orphans()
        assert orphan.cls == "double"
        assert len(changes(s.rig)) == asked, "nothing was done to whoever uses it"
        s.rename(s.ids[0], f"{POOL}1")
        await hostler.scale(1)
        await s.ready(hostler, 1)

    play_macs(scene)


async def claims(hostler: Hostler) -> bool:
    """Tell whether a claim was asked for."""
    return any(m.asked for m in await hostler.machines())


async def gave_up_early(s: MacRig, remember: timedelta | None = None) -> tuple[Hostler, str]:
    """Return a hostler that gave its host back before one of its marks of use takes effect.

    No answer came to the mark, and its effect comes hours later; the next mark was answered.
    """
    rule = Rule(fault="effect_too_late", route="mac.update", after=2, spell=2 * 3600.0)
    s.rig.world.script(rule)
    if remember is not None:
        s.rig.settings = Settings(remember=remember)
    hostler = s.hostler(replace(FLEET, reclaim=True))
    await s.ready(hostler, 1)
    late = s.mac().name
    s.truth.named_by_hand[s.mac().id] = late
    await hostler.scale(0)
    await s.all_free(hostler)
    return hostler, late


async def lands(s: MacRig, late: str) -> None:
    """Wait until the late mark has its effect."""

    async def named() -> bool:
        return s.mac().name == late

    await s.until(named, timedelta(hours=2))


def test_a_tag_of_use_that_lands_on_the_host_of_another_installation_takes_nothing_from_it() -> (
    None
):
    """Its name is ours and no record has it: a stray, if it had not been given back before."""

    async def scene(s: MacRig) -> None:
        hostler, late = await gave_up_early(s, remember=timedelta(hours=4))
        theirs = s.hostler(OTHERS)
        await s.ready(theirs, 1)
        (machine,) = await theirs.machines()
        installs = s.mac().installs
        await lands(s, late)
        await s.rig.clock.sleep(timedelta(hours=6))
        (orphan,) = await hostler.store.orphans()
        assert (orphan.cls, orphan.machine) == ("double", MachineId(late.split(".")[4]))
        assert await hostler.store.machine(MachineId(late.split(".")[4])) is None, "forgotten"
        assert (s.mac().name, s.mac().installs) == (late, installs), "nothing is done to it"
        assert (await theirs.machine(machine.id)).phase is Phase.READY
        (alarm,) = await alarms(theirs)
        assert late in alarm

    play_macs(scene)


def test_a_tag_of_use_that_lands_on_a_free_host_is_told_and_nobody_gets_the_host_unwiped() -> None:
    async def scene(s: MacRig) -> None:
        hostler, late = await gave_up_early(s)
        await lands(s, late)
        await s.rig.clock.sleep(30 * MINUTE)
        (orphan,) = await hostler.store.orphans()
        assert orphan.cls == "double"
        installs = s.mac().installs
        await hostler.scale(1)
        await s.rig.clock.sleep(30 * MINUTE)
        assert await hostler.ready() == 0, "it is not free"
        s.rename(s.mac().id, f"{POOL}1")
        await s.ready(hostler, 1)
        assert s.mac().installs == installs + 1

    play_macs(scene)


def test_a_tag_of_use_that_lands_on_the_host_of_our_next_machine_is_put_right() -> None:
    async def scene(s: MacRig) -> None:
        hostler, late = await gave_up_early(s)
        await hostler.scale(1)
        await s.ready(hostler, 1)
        (machine,) = await hostler.machines()
        name, installs = s.mac().name, s.mac().installs
        await lands(s, late)
        await s.rig.clock.sleep(5 * MINUTE)
        assert (s.mac().name, s.mac().installs) == (name, installs)
        assert [m.id for m in await hostler.machines()] == [machine.id]
        assert await hostler.ready() == 1
        assert await hostler.store.orphans() == ()

    play_macs(scene)


def test_a_tag_of_use_that_lands_before_the_host_is_back_in_the_pool_is_wiped_away() -> None:
    """Nobody else can have it yet: it goes on without a person."""

    async def scene(s: MacRig) -> None:
        rule = Rule(fault="effect_too_late", route="mac.update", after=2, spell=200.0)
        s.rig.world.script(rule)
        hostler = s.hostler()
        await s.ready(hostler, 1)
        late = s.mac().name
        s.truth.named_by_hand[s.mac().id] = late
        await hostler.scale(0)

        async def wiping() -> bool:
            return stage(s.mac()) == "wiping"

        await s.until(wiping, 10 * MINUTE)
        await lands(s, late)
        await s.all_free(hostler)
        assert s.mac().installs == 4, "for the claim, after the use, and after the late name"

    play_macs(scene)


def test_a_tag_of_use_that_lands_just_after_the_host_was_put_back_is_told() -> None:
    """Somebody else may have taken it in between: it is not wiped once more."""

    async def scene(s: MacRig) -> None:
        hostler = s.hostler(replace(FLEET, reclaim=True))
        await s.ready(hostler, 1)
        late = s.mac().name
        s.truth.named_by_hand[s.mac().id] = late
        await hostler.scale(0)

        async def back() -> bool:
            return s.mac().name.startswith(POOL)

        await s.until(back, 60 * MINUTE)
        assert "free" not in {host.condition for host in await hosts(hostler)}
        installs = s.mac().installs
        s.rig.world.console.rename(s.mac().id, late)
        await s.rig.clock.sleep(2 * timedelta(hours=1))
        (orphan,) = await hostler.store.orphans()
        assert (orphan.cls, s.mac().name, s.mac().installs) == ("double", late, installs)

    play_macs(scene)
