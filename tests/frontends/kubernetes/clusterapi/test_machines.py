"""HostlerMachines beside a running engine, in simulated time: made, watched, deleted, crashed."""

import asyncio
from datetime import timedelta

import pytest
from api_kit import Crashed
from core_kit import KIND, Site
from msgspec.structs import replace

from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind

pytestmark = pytest.mark.looptime


def site(count: int = 0) -> Site:
    made = Site()
    made.cluster()
    made.secret()
    for number in range(count):
        made.machine(f"w-{number}")
    return made


async def test_a_machine_is_made_and_provisioned() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
    (machine,) = await here.machines()
    raw = here.api.raw(KIND, "w-0")
    assert raw is not None
    assert raw["spec"]["machineID"] == machine.id
    assert raw["spec"]["providerID"]
    assert here.status("w-0")["failureDomain"] == machine.offer.zone
    assert here.status("w-0")["addresses"]
    assert here.ready("w-0") == "Provisioned"
    assert here.status("w-0")["ready"] is True


async def test_a_machine_costs_less_than_five_writes() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        await asyncio.sleep(600)
    assert len(here.api.writes) < 5


async def test_a_hundred_machines_come_in_ten_seconds_beyond_their_boot() -> None:
    here = Site()
    here.scene.fleet = replace(here.scene.fleet, maximum=100)
    here.scene.rate = here.scene.burst = 1000
    here.cluster()
    here.secret()
    names = [f"w-{number}" for number in range(100)]
    for name in names:
        here.machine(name)
    boot = here.scene.world.pace.boot
    async with here.serving():
        within = boot + timedelta(seconds=10)
        await here.until(lambda: all(map(here.is_provisioned, names)), within)
    assert len(here.api.writes) < 5 * len(names)


async def test_nothing_is_written_while_nothing_changes() -> None:
    here = site(3)
    async with here.serving():
        await here.until(lambda: all(here.is_provisioned(f"w-{n}") for n in range(3)))
        version = here.api.version
        await asyncio.sleep(1200)
    assert here.api.version == version


async def test_a_machine_that_waits_begins_when_its_cluster_is_ready() -> None:
    here = Site()
    here.cluster(provisioned=False)
    here.secret()
    here.machine("w-0")
    async with here.serving():
        await asyncio.sleep(60)
        assert here.ready("w-0") == "WaitingForClusterInfrastructure"
        assert await here.machines() == ()
        status = {"initialization": {"infrastructureProvisioned": True}}
        here.api.change("Cluster", "c1", status=status)
        await here.until(lambda: here.is_provisioned("w-0"), timedelta(seconds=60))


async def test_a_machine_that_is_unpaused_goes_on_at_once() -> None:
    here = site()
    here.api.change("Cluster", "c1", spec={"paused": True})
    here.machine("w-0")
    async with here.serving():
        await asyncio.sleep(60)
        assert await here.machines() == ()
        here.api.change("Cluster", "c1", spec={"paused": False})
        await here.until(lambda: here.is_provisioned("w-0"), timedelta(seconds=60))


async def test_a_deleted_machine_ends_and_its_object_goes() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        await here.deleted("w-0")
        assert await here.machines() == ()
    assert here.scene.world.servers() == ()


@pytest.mark.parametrize("name", ["a-copy", "z-copy"], ids=["listed first", "listed last"])
async def test_a_copy_of_an_object_does_not_end_the_machine_of_its_original(name: str) -> None:
    """Who writes an object anew under another name writes the id of the machine too."""
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        raw = here.api.raw(KIND, "w-0")
        assert raw is not None
        parts = ("labels", "ownerReferences", "finalizers")
        metadata = {"name": name, **{part: raw["metadata"][part] for part in parts}}
        here.api.put(KIND, {"metadata": metadata, "spec": raw["spec"]})
        here.api.objects[KIND] = dict(sorted(here.api.objects[KIND].items()))
        await asyncio.sleep(300)
        assert (here.ready("w-0"), here.ready(name)) == ("Provisioned", "MachineUnknown")
        (message,) = (c["message"] for c in here.status(name)["conditions"] if c["type"] == "Ready")
        assert "fleet/w-0 asked for machine" in message
        here.api.delete(KIND, name)
        await asyncio.sleep(300)
        assert here.api.raw(KIND, name) is None
        (machine,) = await here.machines()
        assert (machine.phase, machine.deletion) == (Phase.READY, None)
        await here.deleted("w-0")
        assert await here.machines() == ()


async def test_a_machine_that_is_deleted_while_it_is_made_leaves_nothing() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.ready("w-0") == "Provisioning")
        await here.deleted("w-0")
        await asyncio.sleep(600)
        assert await here.machines() == ()
    assert here.scene.world.servers() == ()


async def test_a_machine_that_is_lost_stays_lost_and_says_so() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        (server,) = here.scene.world.servers()
        here.scene.world.remove(server.id)
        await here.until(lambda: here.ready("w-0") == "MachineLost")
        assert here.is_provisioned("w-0")
        await asyncio.sleep(600)
        assert await here.machines() == ()
        await here.deleted("w-0")


async def test_a_deletion_by_the_engines_own_user_is_told() -> None:
    here = site(1)
    async with here.serving():
        await here.until(lambda: here.is_provisioned("w-0"))
        (machine,) = await here.machines()
        await here.scene.request(RequestKind.DELETE, machine=machine.id)
        await here.until(lambda: here.ready("w-0") == "MachineLost")


async def test_a_machine_waits_for_room_and_is_then_made() -> None:
    here = site(11)
    names = [f"w-{number}" for number in range(11)]
    async with here.serving():
        await here.until(lambda: sum(map(here.is_provisioned, names)) == 10)
        await asyncio.sleep(60)
        (late,) = (name for name in names if not here.is_provisioned(name))
        assert here.ready(late) == "NoCapacity"
        await here.deleted(next(name for name in names if name != late))
        await here.until(lambda: here.is_provisioned(late))
        assert len(await here.machines()) == 10


async def test_a_stock_out_is_waited_for_however_long_it_lasts() -> None:
    here = site(1)
    offer = here.scene.fleet.offers[0]
    here.scene.provider.out_of_stock.add((offer.type, offer.zone))
    async with here.serving():
        await asyncio.sleep(1500)
        assert not here.is_provisioned("w-0")
        here.scene.provider.out_of_stock.clear()
        await here.until(lambda: here.is_provisioned("w-0"), timedelta(minutes=20))
        assert [machine.phase for machine in await here.machines()] == [Phase.READY]


async def test_a_new_provider_asks_for_nothing_twice() -> None:
    here = site(3)
    async with here.serving():
        await here.until(lambda: all(here.is_provisioned(f"w-{n}") for n in range(3)))
    ids = {machine.id for machine in await here.machines()}
    for name in here.api.names(KIND):  # as after a move, the status is lost
        here.api.change(KIND, name, status=None)
    async with here.serving():
        await here.until(lambda: all(here.is_provisioned(f"w-{n}") for n in range(3)))
        await asyncio.sleep(600)
    assert {machine.id for machine in await here.machines()} == ids


# ---------------------------------------------------------------- crashes


@pytest.mark.parametrize("point", range(1, 13))
async def test_a_crash_at_any_answer_of_the_server_makes_no_second_machine(point: int) -> None:
    """It dies at the n-th await, before the effect or after it, and another one begins."""
    here = site(1)
    async with here.scene.running() as engine:
        here.engine = engine
        await asyncio.sleep(2)
        async with here.provided() as first:
            here.api.crash_at = point
            await asyncio.wait([first], timeout=120)
            assert here.api.crash_at == 0, "it died"
            assert not here.is_provisioned("w-0"), "before it was done"
        here.api.crash_at = None
        async with here.provided():
            await here.until(lambda: here.is_provisioned("w-0"))
            await asyncio.sleep(300)
            assert len(await here.machines()) == 1
            assert len(here.scene.world.servers()) == 1
            await here.deleted("w-0")
            await asyncio.sleep(300)
    assert here.scene.world.servers() == ()


@pytest.mark.parametrize("point", range(1, 4))
async def test_a_crash_at_any_answer_of_a_deletion_leaves_nothing(point: int) -> None:
    here = site(1)
    async with here.scene.running() as engine:
        here.engine = engine
        await asyncio.sleep(2)
        async with here.provided() as first:
            await here.until(lambda: here.is_provisioned("w-0"))
            here.api.crash_at = point
            here.api.delete("Machine", "w-0")
            here.api.delete(KIND, "w-0")
            await asyncio.wait([first], timeout=120)
            assert here.api.crash_at == 0, "it died"
            assert here.api.raw(KIND, "w-0") is not None, "before it was done"
        here.api.crash_at = None
        async with here.provided():
            await here.until(lambda: here.api.raw(KIND, "w-0") is None)
            await asyncio.sleep(300)
            assert await here.machines() == ()
    assert here.scene.world.servers() == ()


def test_a_crash_is_no_error_that_is_caught() -> None:
    assert not issubclass(Crashed, Exception)


async def test_nothing_is_decided_by_the_memory_of_an_engine_that_does_not_lead() -> None:
    here = site()
    async with here.serving():
        assert here.engine is not None
        await asyncio.sleep(5)
        here.engine.leases.tenure = _nobodys  # it is another's by now
        here.machine("w-0")
        await asyncio.sleep(60)
        assert here.ready("w-0") == ""
        assert await here.scene.store.requests() == ()
        del here.engine.leases.tenure
        await here.until(lambda: here.is_provisioned("w-0"))


def _nobodys(name: str) -> None:
    del name
