"""A renamed fleet on the real providers: its machines run on, and bear the new name in the end."""

from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.ids import FleetName
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.macs import FLEET as MACS
from hostler.lab.scenes.macs import MacRig, changes, hosts, play_macs
from hostler.lab.scenes.servers import ALL_RESOURCES, FLEET, Hostler, Rig, play
from hostler.simulators.scaleway.state.records import Server

MINUTE = timedelta(minutes=1)
BUILDERS = FleetName("builders")


async def adopt(hostler: Hostler, source: FleetName) -> None:
    """Rename the fleet in the file before its engine begins, and ask for its machines."""
    request = Request(
        number=0,
        kind=RequestKind.ADOPT_FLEET,
        fleet=hostler.fleet.name,
        at=hostler.rig.clock.now(),
        actor="scene",
        source=source,
    )
    await hostler.store.request(request)


def names(rig: Rig) -> set[str]:
    """Return the fleets that owner tags of servers, addresses and volumes name."""
    found = set[str]()
    for leak in rig.servers():
        server = rig.world.cloud.servers.get(leak.id)
        assert isinstance(server, Server)
        tagged = [server, *server.addresses, *server.volumes.values()]
        found |= {tag for one in tagged for tag in one.tags if tag.startswith("hostler-fleet=")}
    return found


def test_owner_tags_of_a_renamed_fleet_are_written_again_and_nothing_is_made_or_ended() -> None:
    async def scene(rig: Rig) -> None:
        fleet = replace(FLEET, size=2, reclaim=True)
        first = rig.hostler(fleet, template=ALL_RESOURCES)
        await first.rests(2, 10 * MINUTE)
        await rig.clock.sleep(5 * MINUTE)
        before = await first.machines()
        await first.stop()
        made = rig.world.calls["server.create"]
        new = replace(fleet, name=BUILDERS)
        second = rig.hostler(new, first.store, template=ALL_RESOURCES)
        second.beside = (replace(fleet, removed=True),)
        await adopt(second, fleet.name)
        await rig.clock.sleep(30 * MINUTE)
        after = await second.machines()
        assert [m.id for m in after] == [m.id for m in before]
        assert await second.ready() == 2
        assert rig.world.calls["server.create"] == made
        assert rig.world.calls.get("server.delete", 0) == 0
        assert names(rig) == {f"hostler-fleet={BUILDERS}"}
        assert await second.store.orphans() == ()
        assert (await second.row()).condition == ""
        await second.leaves_nothing(20 * MINUTE)

    play(scene)


def test_a_mac_in_use_keeps_its_name_until_its_machine_ends_and_then_is_clean_and_free() -> None:
    async def scene(rig: MacRig) -> None:
        first = await rig.one()
        (machine,) = await first.machines()
        await first.stop()
        name, done = rig.mac().name, len(changes(rig.rig))
        new, left = replace(MACS, name=BUILDERS), replace(MACS, removed=True)
        second = rig.hostler(new, first.store)
        second.beside = (left,)
        await adopt(second, left.name)
        await rig.rig.clock.sleep(60 * MINUTE)
        (after,) = await second.machines()
        assert (after.id, after.fleet, after.host) == (machine.id, BUILDERS, machine.host)
        assert rig.mac().name == name, "nobody renames a host under the job that runs on it"
        assert len(changes(rig.rig)) == done
        assert await second.store.orphans() == ()
        assert (await second.row()).condition == ""
        await second.scale(0)
        await rig.all_free(second)
        assert {host.fleet for host in await hosts(second)} == {BUILDERS}

    play_macs(scene)
