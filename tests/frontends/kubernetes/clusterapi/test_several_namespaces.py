"""HostlerMachines of several namespaces: each has to do with the fleets and machines of its own."""

import asyncio

import pytest
from core_kit import KIND, WORKERS, Site
from msgspec.structs import replace
from view_kit import item, with_spec

from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.frontends.kubernetes.clusterapi.caches import watched
from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.errors import Forbidden
from hostler.kubernetes.informer import Surroundings
from hostler.kubernetes.objects import Key

pytestmark = pytest.mark.looptime

OF_TEAM = replace(WORKERS, name=FleetName(f"team_{WORKERS.name}"))
NAME = str(WORKERS.name)


def a_site(fleet: Fleet = WORKERS, namespaces: Namespaces | None = None) -> Site:
    """Return a site that reads the namespace `team` too, with a Cluster in both."""
    here = Site(fleet)
    here.namespaces = namespaces or Namespaces(home="fleet", others=("team",))
    for namespace in ("team", "fleet"):
        here.api.namespace = namespace
        here.cluster()
        here.secret()
    return here


async def settled() -> None:
    await asyncio.sleep(120)


async def only(here: Site) -> Machine:
    (machine,) = await here.machines()
    return machine


@pytest.mark.parametrize(
    "namespaces",
    [Namespaces(home="fleet", others=("team",)), Namespaces(home="fleet", every=True)],
    ids=["two", "all"],
)
async def test_a_machine_of_another_namespace_gets_its_host_from_a_fleet_there(
    namespaces: Namespaces,
) -> None:
    here = a_site(OF_TEAM, namespaces)
    here.api.namespace = "team"
    async with here.serving():
        here.machine("w-1", fleetName=NAME)
        await here.until(lambda: here.is_provisioned("w-1"))
        machine = await only(here)
        assert machine.spec.requester is not None
        assert machine.spec.requester.namespace == "team"
        await here.deleted("w-1")


async def test_objects_of_a_namespace_that_is_not_read_are_left_alone() -> None:
    here = a_site(OF_TEAM, Namespaces(home="fleet", others=("other",)))
    here.api.namespace = "team"
    async with here.serving():
        here.machine("w-1", fleetName=NAME)
        await settled()
        assert "status" not in (here.api.raw(KIND, "w-1") or {})


@pytest.mark.parametrize("name", [NAME, f"fleet_{NAME}", f"_{NAME}"])
async def test_a_fleet_of_the_home_namespace_is_none_of_another(name: str) -> None:
    here = a_site(WORKERS)
    here.api.namespace = "team"
    async with here.serving():
        here.machine("w-1", fleetName=name)
        await here.until(lambda: here.ready("w-1") == "FleetNotFound")
        texts = [one.get("message", "") for one in here.status("w-1")["conditions"]]
        assert f"there is no fleet {name} in team: " in "".join(texts)
        assert await here.machines() == ()


@pytest.mark.parametrize("name", [NAME, f"team_{NAME}"])
async def test_a_fleet_of_another_namespace_is_none_of_the_home_one(name: str) -> None:
    here = a_site(OF_TEAM)
    async with here.serving():
        here.machine("w-1", fleetName=name)
        await here.until(lambda: here.ready("w-1") == "FleetNotFound")
        assert await here.machines() == ()


async def test_a_fleet_of_the_file_that_is_lent_serves_every_namespace() -> None:
    here = a_site(WORKERS)
    here.lent, here.api.namespace = (NAME,), "team"
    async with here.serving():
        here.machine("w-1")
        await here.until(lambda: here.is_provisioned("w-1"))
        await here.deleted("w-1")


async def test_the_machine_of_another_namespace_cannot_be_named_to_be_had_or_ended() -> None:
    """An id in a spec proves nothing; a fleet that is lent to both is where it could be tried."""
    here = a_site(WORKERS)
    here.lent = (NAME,)
    async with here.serving():
        here.machine("w-1")
        await here.until(lambda: here.is_provisioned("w-1"))
        machine = await only(here)
        here.api.namespace = "team"
        here.machine("thief", machineID=str(machine.id))
        await here.until(lambda: here.is_provisioned("thief"))
        machines = await here.machines()
        stolen = (here.api.raw(KIND, "thief") or {})["spec"]["machineID"]
        assert stolen != machine.id
        assert {one.id for one in machines} == {machine.id, stolen}
        await here.deleted("thief")
        await settled()
        left = [one for one in await here.machines() if one.deletion is None]
        assert [one.id for one in left] == [machine.id]
        assert left[0].spec.requester == machine.spec.requester


async def test_an_abandoned_machine_is_not_kept_by_an_object_of_another_namespace() -> None:
    here = a_site(WORKERS)
    here.lent = (NAME,)
    async with here.serving():
        here.machine("w-1")
        here.machine("w-2")
        await here.until(lambda: all(map(here.is_provisioned, ("w-1", "w-2"))))
        machine = str((here.api.raw(KIND, "w-1") or {})["spec"]["machineID"])
        here.api.vanish(KIND, "w-1")
        here.api.namespace = "team"
        paused = {"cluster.x-k8s.io/paused": ""}
        spec = {"fleetName": NAME, "machineID": machine}
        here.api.put(KIND, {"metadata": {"name": "thief", "annotations": paused}, "spec": spec})
        await asyncio.sleep(600)
        abandoned = [one for one in await here.machines() if one.health.abandoned is not None]
        assert [str(one.id) for one in abandoned] == [machine]


async def test_a_provider_id_in_another_namespace_holds_nothing_up() -> None:
    here = a_site(WORKERS)
    around = Surroundings(clock=here.scene.clock, draw=lambda: 0.5)
    caches = watched(here.api, around, here.namespaces)
    for namespace, name in (("team", "x"), ("fleet", "y")):
        one = with_spec(item(namespace=namespace, name=name), provider_id="a://1")
        list(caches.items.cache.put(one))
    assert caches.rival("a://1", Key("fleet", "z")) == "fleet/y"
    assert caches.rival("a://1", Key("fleet", "y")) == ""
    assert caches.rival("a://1", Key("team", "x")) == ""


async def test_no_conclusion_is_drawn_while_one_of_the_namespaces_cannot_be_read() -> None:
    here = a_site(WORKERS)
    async with here.serving():
        here.machine("w-1")
        here.machine("w-2")
        await here.until(lambda: all(map(here.is_provisioned, ("w-1", "w-2"))))
        here.api.unread["team"] = Forbidden("list hostlermachines in team: no", code=403)
        here.api.vanish(KIND, "w-1")
        await asyncio.sleep(600)
        assert not [one for one in await here.machines() if one.health.abandoned is not None]
        here.api.unread.clear()
        await asyncio.sleep(600)
        assert len([one for one in await here.machines() if one.health.abandoned is not None]) == 1
