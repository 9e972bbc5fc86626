"""What is missing of a server when it is switched on for the first time."""

from collections.abc import Iterator
from random import Random

import pytest
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.machine import Known, Machine, Place
from hostler.domain.model.resource import Slot
from hostler.lab.scaleway.bystanders import ask
from hostler.lab.scaleway.world import ScalewayWorld, open_world
from hostler.lab.servers.as_asked import CLOUD_INIT
from hostler.lab.servers.first_start import first_start
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.state.records import Server
from hostler.testing.scenes.builders import BEGIN, ZONE, machine
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop

SERVERS = "/instance/v1/zones/fr-par-1/servers"
IMAGE = "ubuntu_noble"


@pytest.fixture
def world() -> Iterator[ScalewayWorld]:
    loop = SimLoop()
    yield open_world(Options(epoch=BEGINNING), loop, Random(1))
    loop.close()


def made(world: ScalewayWorld) -> Server:
    """Return a server that is off, as its maker has just made and told it."""
    body = {"name": "one", "project": world.options.project, "image": IMAGE}
    answer = ask(world, "POST", SERVERS, {**body, "commercial_type": "PLAY2-NANO"})
    server = world.cloud.servers.get(answer["server"]["id"])
    assert server is not None
    assert server.volumes
    server.user_data["cloud-init"] = CLOUD_INIT.encode()
    return server


def owner(*ids: str) -> Machine:
    known = tuple(Known(id=ResourceId(one), zone=ZONE, since=BEGIN) for one in ids)
    return replace(machine(1), places=(Place(slot=Slot("volume"), known=known),))


def asked(server: Server, action: str = "poweron") -> HttpRequest:
    body = b'{"action": "%s"}' % action.encode()
    return HttpRequest(method="POST", path=f"{SERVERS}/{server.id}/action", body=body)


def ids(server: Server) -> list[str]:
    return [volume.id for volume in server.volumes.values()]


def test_nothing_is_missing_of_one_that_is_recorded_whole_and_told(world: ScalewayWorld) -> None:
    server = made(world)
    assert first_start(world, asked(server), owner(*ids(server)), joins=False) == ()


def test_a_volume_that_no_record_has_is_told(world: ScalewayWorld) -> None:
    server = made(world)
    (found,) = first_start(world, asked(server), owner(), joins=False)
    assert found.invariant == "S1"
    assert ids(server)[0] in found.text


def test_what_the_first_boot_would_read_and_is_not_there_is_told(world: ScalewayWorld) -> None:
    server = made(world)
    (found,) = first_start(world, asked(server), owner(*ids(server)), joins=True)
    assert found.text.endswith("is in no private network")
    server.user_data.clear()
    (found,) = first_start(world, asked(server), owner(*ids(server)), joins=False)
    assert (found.invariant, found.text.endswith("told nothing for its first boot")) == ("L1", True)


def test_another_start_another_act_and_anothers_server_are_not_judged(world: ScalewayWorld) -> None:
    server = made(world)
    assert first_start(world, asked(server), None, joins=True) == ()
    assert first_start(world, asked(server, "terminate"), owner(), joins=True) == ()
    server.turn = 1
    assert first_start(world, asked(server), owner(), joins=True) == ()
