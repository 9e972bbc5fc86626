"""The story of a host: what happened to it under each of its machines, and between them."""

from hostler.domain.ids import HostId
from hostler.domain.reporting.history import tell
from hostler.lab.scenes.macs import MacRig, play_macs
from hostler.lab.scenes.servers import Hostler
from hostler.simulators.scaleway.faults.rates import Rule


async def story(hostler: Hostler, host: str) -> list[str]:
    """Return a host's story as lines."""
    events = await hostler.store.events(host=HostId(host), limit=10_000)
    return [tell(one.event).text for one in events]


def test_a_hosts_history_goes_from_its_claim_through_its_wipe_into_the_pool() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        (machine,) = await hostler.machines()
        await hostler.scale(0)
        await s.all_free(hostler)
        lines = await story(hostler, s.mac().id)
        order = [
            f"takes host {s.mac().id}",
            "starting → ready",
            "the host: allocated → wiping, to be clean",
            "done: mac.free",
            "the host: wiping → free: wiped, and put back",
        ]
        found = [next(i for i, line in enumerate(lines) if resource in line) for resource in order]
        assert found == sorted(found), lines
        mine = await hostler.store.events(host=HostId(s.mac().id), machine=machine.id)
        assert {entry.event.machine for entry in mine} == {machine.id}

    play_macs(scene)


def test_the_same_refusal_of_a_host_is_told_once() -> None:
    async def scene(s: MacRig) -> None:
        hostler = await s.one()
        into_the_pool = 5 - 2  # of its renames, two were for its claim
        s.rig.world.script(
            Rule(fault="transient_409", route="mac.update", after=into_the_pool, count=3)
        )
        await hostler.scale(0)
        await s.all_free(hostler)
        lines = await story(hostler, s.mac().id)
        assert sum("refused mac.free" in line for line in lines) == 1, lines

    play_macs(scene)
