"""Servers that lost their tags: what their root volume's name and their own say of them."""

import pytest
from scaleway_kit import (
    FLEET,
    INSTANCE,
    MACHINE,
    ZONE,
    block_body,
    block_page,
    claim,
    get,
    no_prices,
    page,
    provider,
    server_body,
)

from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.resource import Observation, Resource, Scope, Slot
from hostler.ports.http import NoAnswer
from hostler.providers.scaleway.common.owner_tags import name_of, server_name
from hostler.providers.scaleway.instances.provider import Instances
from hostler.testing.peers.exchanges import Exchange, Script

SERVERS, VOLUMES = f"{INSTANCE}/servers", f"{INSTANCE}/volumes"
WHOLE = (Scope(ZONE, "server"), Scope(ZONE, "volume"))
NAME = server_name(FLEET, MACHINE)
ROOT = name_of(claim(Slot("volume", 0), attempt=3))
BARE = server_body(name=NAME, tags=[])
LISTED = page(SERVERS, "servers", BARE)


def servers(observation: Observation) -> list[Resource]:
    return [resource for resource in observation.resources if resource.slot.kind == "server"]


def disks(name: str = ROOT) -> tuple[Exchange, Exchange]:
    return page(VOLUMES, "volumes"), block_page(block_body(name=name, tags=[]))


async def again(
    source: Instances, script: Script, scope: Scope, *exchanges: Exchange
) -> Observation:
    script.exchanges += exchanges
    observation = await source.observe((scope,))
    script.finish()
    return observation


async def observed(
    server: dict[str, object], *volumes: Exchange
) -> tuple[Instances, Script, list[Resource]]:
    script = Script([no_prices(), page(SERVERS, "servers", server), *volumes])
    source = provider(script)
    observation = await source.observe(WHOLE)
    script.finish()
    return source, script, servers(observation)


async def test_the_first_observation_shows_it_with_the_owner_tag_that_its_volume_bears() -> None:
    _, _, (server,) = await observed(BARE, *disks())
    assert (server.id, server.slot) == ("srv-1", Slot("server"))
    assert server.owner_tag == claim(Slot("server"), attempt=3).owner_tag


async def test_the_body_of_a_server_names_a_local_volume_itself() -> None:
    local = {"0": {"id": "vol-1", "volume_type": "l_ssd", "name": ROOT}}
    script = Script([no_prices(), page(SERVERS, "servers", {**BARE, "volumes": local})])
    observation = await provider(script).observe(WHOLE[:1])
    assert [resource.owner_tag for resource in observation.resources] == [
        claim(Slot("server"), attempt=3).owner_tag
    ]


@pytest.mark.parametrize(
    "server",
    [
        {**BARE, "name": "rescue"},
        {**BARE, "name": server_name(FLEET, MachineId("m-bbbbbbbbbb"))},
        {**BARE, "volumes": {"1": {"id": "vol-1", "volume_type": "sbs_volume"}}},
        {**BARE, "volumes": {}},
        {**BARE, "project": "somebody's"},
    ],
    ids=["renamed", "another machine's", "not in the first place", "no volume", "no project"],
)
async def test_somebodys_server_with_a_disk_of_ours_is_left_alone(
    server: dict[str, object],
) -> None:
    _, _, found = await observed(server, *disks())
    assert found == []


@pytest.mark.parametrize(
    "name",
    ["data", f"{ROOT[:-1]}z", name_of(claim(Slot("volume", 1)))],
    ids=["no mark", "a wrong check", "not a root volume"],
)
async def test_a_volume_that_is_no_tagged_root_says_nothing(name: str) -> None:
    _, _, found = await observed(BARE, *disks(name))
    assert found == []


async def test_what_volumes_said_is_remembered_for_later_observations_of_servers() -> None:
    source, script, _ = await observed(BARE, *disks())
    (server,) = (await again(source, script, WHOLE[0], LISTED)).resources
    assert server.owner_tag == claim(Slot("server"), attempt=3).owner_tag
    close = Scope(ZONE, "server", MACHINE, (server.id,))
    read = (page(SERVERS, "servers"), get(f"{SERVERS}/srv-1", {"server": BARE}))
    (server,) = (await again(source, script, close, *read)).resources
    assert server.owner_tag == claim(Slot("server"), attempt=3).owner_tag


async def test_its_unmarked_volumes_are_its_machines_too() -> None:
    source, script, _ = await observed(BARE, *disks())
    data = block_body("vol-2", name="data", tags=[])
    observation = await again(source, script, WHOLE[1], page(VOLUMES, "volumes"), block_page(data))
    assert [resource.id for resource in observation.resources] == ["vol-2"]


async def test_only_a_whole_listing_takes_back_what_a_volume_said() -> None:
    source, script, _ = await observed(BARE, *disks())
    broken = Exchange(method="GET", path=VOLUMES, answer=NoAnswer("hung"))
    await again(source, script, WHOLE[1], broken, block_page())
    assert (await again(source, script, WHOLE[0], LISTED)).resources
    await again(source, script, WHOLE[1], *disks("renamed"))
    assert not (await again(source, script, WHOLE[0], LISTED)).resources


async def test_a_server_that_a_listing_lacks_is_not_told_of() -> None:
    source, script, _ = await observed(BARE, *disks())
    observation = await again(source, script, WHOLE[0], page(SERVERS, "servers"))
    assert observation.resources == ()
    script.exchanges += [page(SERVERS, "servers"), *disks()]
    assert servers(await source.observe(WHOLE)) == []


def test_a_servers_name_is_a_host_name_also_for_a_fleet_of_another_namespace() -> None:
    assert server_name(FleetName("team-a_web"), MACHINE) == f"team-a-web-{MACHINE}"
    assert server_name(FleetName("web"), MACHINE) == f"web-{MACHINE}"
