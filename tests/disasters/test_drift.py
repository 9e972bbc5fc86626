"""What somebody detaches, edits or swaps under a ready machine is told, and mended if that is safe.

Each scene changes one thing by hand that the record binds to a machine, on the provider's own
world, and says what has to be so again, by which calls, and what the history tells.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.servers import ALL_RESOURCES, PLAIN, ZONE, Hostler, Rig, play
from hostler.providers.scaleway.common.settings import Template
from hostler.simulators.scaleway.instances.network import addresses, groups, nics
from hostler.simulators.scaleway.instances.storage import volumes
from hostler.simulators.scaleway.state.inventory import touch
from hostler.simulators.scaleway.state.record import Owner
from hostler.simulators.scaleway.state.records import BlockVolume, SecurityGroup, Server

from .servers_by_hand import guest, made_by_hand

MINUTE = timedelta(minutes=1)
QUIET = 5 * MINUTE
"""More than the consistency delay, and a few observations."""


async def at_rest(rig: Rig, template: Template = PLAIN) -> Hostler:
    hostler = rig.hostler(template=template)
    await hostler.rests(1, 10 * MINUTE)
    await rig.clock.sleep(QUIET)
    assert not await drifted(hostler)
    return hostler


async def drifted(hostler: Hostler, kind: str = "drift") -> list[str]:
    """Return what was told to differ, or to be as before."""
    return [stored.event.reason for stored in await hostler.events() if stored.event.kind == kind]


def take_address(rig: Rig, server: Server) -> None:
    assert rig.world.act("address_detached_by_hand", server.addresses[0].id)


def leave_network(rig: Rig, server: Server) -> None:
    nics.remove(rig.world.cloud, next(iter(server.nics.values())))


def untag_server(rig: Rig, server: Server) -> None:
    server.tags = ["team=red"]
    touch(rig.world.cloud, server)


def lift_protection(rig: Rig, server: Server) -> None:
    server.protected = False
    touch(rig.world.cloud, server)


def untag_address(rig: Rig, server: Server) -> None:
    server.addresses[0].tags = ["team=red"]
    touch(rig.world.cloud, server)


def untag_volume(rig: Rig, server: Server) -> None:
    volume = server.volumes["1"]
    volume.tags, volume.name = [], "renamed by hand"
    touch(rig.world.cloud, server)


def strip_volume(rig: Rig, server: Server) -> None:
    """Take the tags of a volume away, whose name still says whose it is."""
    volume = server.volumes["1"]
    assert volume.name.startswith("hostler.")
    volume.tags = []
    touch(rig.world.cloud, server)


def resize(rig: Rig, server: Server) -> None:
    server.commercial_type = "DEV1-M"
    touch(rig.world.cloud, server)


def detach_volume(rig: Rig, server: Server) -> None:
    volume = server.volumes.pop("1")
    assert isinstance(volume, BlockVolume)
    volumes.detach(rig.world.cloud, volume, "now")
    touch(rig.world.cloud, server)


ByHand = Callable[[Rig, Server], None]

MENDED: tuple[tuple[ByHand, str, str], ...] = (
    (take_address, "address 0 is not attached any more", "ip.update"),
    (leave_network, "the server is not in private network", "nic.create"),
    (untag_server, "the server's owner tag is gone", "server.update"),
    (lift_protection, "the server is not protected", "server.update"),
    (untag_address, "the owner tag of address 0 is gone", "ip.update"),
    (untag_volume, "the owner tag of volume 1 is gone", "volume.update"),
    (strip_volume, "the owner tag of volume 1 is gone", "volume.update"),
)
TOLD: tuple[tuple[ByHand, str], ...] = (
    (resize, "the server is a DEV1-M, and was made as a DEV1-S"),
    (detach_volume, "volume 1 is not attached any more"),
)


def looks(server: Server) -> object:
    """Return what of a server its record binds, so that before and after can be compared."""
    return (
        [address.id for address in server.addresses],
        {nic.network_id for nic in server.nics.values()},
        server.protected,
        {tag for tag in server.tags if tag.startswith("hostler")},
        {tag for address in server.addresses for tag in address.tags if "hostler" in tag},
        {tag for volume in server.volumes.values() for tag in volume.tags},
    )


@pytest.mark.parametrize(("by_hand", "what", "route"), MENDED, ids=[m[0].__name__ for m in MENDED])
def test_what_can_be_mended_without_harm_is(by_hand: ByHand, what: str, route: str) -> None:
    """By one call, once; told when it is noticed and when it is over; the machine goes on."""

    async def scene(rig: Rig) -> None:
        hostler = await at_rest(rig, replace(ALL_RESOURCES, protected=True))
        (before,) = await hostler.machines()
        server = guest(rig)
        whole, calls = looks(server), rig.world.calls.get(route, 0)
        by_hand(rig, server)
        assert looks(server) != whole
        await rig.clock.sleep(QUIET)
        assert looks(guest(rig)) == whole
        assert rig.world.calls.get(route, 0) == calls + 1
        (seen,) = await drifted(hostler)
        assert what in seen
        assert await drifted(hostler, "drift_over") == [seen]
        await rests_on(hostler, before)
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


async def rests_on(hostler: Hostler, before: Machine) -> None:
    (after,) = await hostler.machines()
    assert (after.id, after.phase, after.since) == (before.id, Phase.READY, before.since)


@pytest.mark.parametrize("by_hand", [untag_server, untag_address])
def test_tags_of_others_stay_beside_the_owner_tag(by_hand: ByHand) -> None:
    async def scene(rig: Rig) -> None:
        hostler = await at_rest(rig)
        server = guest(rig)
        by_hand(rig, server)
        await rig.clock.sleep(QUIET)
        assert await drifted(hostler, "drift_over")
        assert "team=red" in [*server.tags, *server.addresses[0].tags]

    play(scene)


@pytest.mark.parametrize(("by_hand", "what"), TOLD, ids=[t[0].__name__ for t in TOLD])
def test_what_only_a_person_can_mend_is_told_once_and_left(by_hand: ByHand, what: str) -> None:
    async def scene(rig: Rig) -> None:
        hostler = await at_rest(rig, replace(ALL_RESOURCES, protected=True))
        (before,) = await hostler.machines()
        changes = {route: n for route, n in rig.world.calls.items() if "list" not in route}
        by_hand(rig, guest(rig))
        await rig.clock.sleep(4 * QUIET)
        assert await drifted(hostler) == [what]
        (event,) = [s.event for s in await hostler.events() if s.event.kind == "drift"]
        assert f"hostler delete FILE {before.id}" in event.detail
        now = {route: n for route, n in rig.world.calls.items() if "list" not in route}
        reads = {route for route in now if route.endswith(".get")}
        assert {r: n for r, n in now.items() if r not in reads} == {
            r: n for r, n in changes.items() if r not in reads
        }
        await rests_on(hostler, before)
        await hostler.leaves_nothing(10 * MINUTE)

    play(scene)


@pytest.mark.parametrize("named", [True, False], ids=["named", "the project's default"])
def test_a_security_group_that_was_swapped_is_told(*, named: bool) -> None:
    async def scene(rig: Rig) -> None:
        first, second = a_group(rig, "first"), a_group(rig, "second")
        template = replace(PLAIN, security_group=first.id) if named else PLAIN
        hostler = await at_rest(rig, template)
        server = guest(rig)
        assert (server.security_group is first) is named
        server.security_group = second
        touch(rig.world.cloud, server)
        await rig.clock.sleep(QUIET)
        assert await drifted(hostler) == [
            f"the server is in security group {second.id}, and was made in another"
        ]
        assert server.security_group is second

    play(scene)


def a_group(rig: Rig, name: str) -> SecurityGroup:
    options, cloud = rig.world.options, rig.world.cloud
    owner = Owner(zone=str(ZONE), organization=options.organization, project=options.project)
    group = groups.new_group(cloud, owner, name)
    groups.put(cloud, group)
    return group


def test_nothing_is_mended_while_the_fleet_is_paused() -> None:
    async def scene(rig: Rig) -> None:
        hostler = await at_rest(rig)
        await hostler.request(RequestKind.PAUSE)
        await rig.clock.sleep(MINUTE)
        take_address(rig, guest(rig))
        await rig.clock.sleep(QUIET)
        assert await drifted(hostler)
        assert not guest(rig).addresses
        await hostler.request(RequestKind.RESUME)
        await rig.clock.sleep(QUIET)
        assert guest(rig).addresses

    play(scene)


def test_an_address_on_another_server_is_left_there() -> None:
    async def scene(rig: Rig) -> None:
        hostler = await at_rest(rig)
        address = guest(rig).addresses[0]
        stranger = made_by_hand(rig)
        addresses.move(rig.world.cloud, address, stranger)
        await rig.clock.sleep(QUIET)
        assert await drifted(hostler) == [f"address 0 is attached to server {stranger.id}"]
        assert address.server is stranger

    play(scene)
