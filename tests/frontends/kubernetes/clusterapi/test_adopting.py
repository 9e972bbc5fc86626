"""Hosts that an older provider had, and that are taken over because a person named them."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace
from roll_kit import IMPORTED, MACS, OLD, Roll, imported, play_adoption, taken_over

from hostler.domain.errors import StoreBusy
from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Request, RequestKind
from hostler.lab.scenes.macs import MINUTE, POOL
from hostler.lab.scenes.servers import ZONE
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore


class Busy(MemoryStore):
    """A store that makes no record of a machine while it is busy."""

    busy = True

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        if self.busy and inserts:
            raise StoreBusy("database is locked")
        return await super().save_fleet(row, inserts, events, fence)


def test_an_imported_mac_is_taken_over_as_it_is() -> None:
    """It keeps its disk and its providerID, and core sees it provisioned."""

    async def scene(roll: Roll) -> None:
        host = await taken_over(roll)
        (machine,) = await roll.cluster.machines()
        assert (machine.id, machine.host, roll.rig.mac(host).installs) == (OLD, host, 1)
        assert machine.spec.requester is not None
        raw = roll.cluster.api.raw("HostlerMachine", IMPORTED)
        assert raw is not None
        assert raw["spec"]["providerID"] == f"scw-applesilicon://{ZONE}/{host}"
        await asyncio.sleep(3600)
        assert len(await roll.cluster.machines()) == 1

    play_adoption(scene)


def test_an_imported_mac_that_is_given_back_is_wiped_into_the_pool() -> None:
    async def scene(roll: Roll) -> None:
        host = await taken_over(roll)
        await roll.cluster.deleted(IMPORTED, 10 * MINUTE)
        await roll.rig.all_free(roll.rig.truth.hostlers[0], 180 * MINUTE)
        assert roll.rig.mac(host).name.startswith(POOL)
        assert roll.rig.mac(host).installs == 2

    play_adoption(scene)


@pytest.mark.parametrize(
    ("confirmed", "called", "reason"),
    [
        ("", IMPORTED, "MachineUnknown"),
        (IMPORTED, "somebody-elses", "Refused"),
        ("another", IMPORTED, "Refused"),
    ],
    ids=["nobody named it", "it is called otherwise", "another name was given"],
)
def test_no_mac_is_taken_over_that_a_person_did_not_name(
    confirmed: str, called: str, reason: str
) -> None:
    async def scene(roll: Roll) -> None:
        host = await imported(roll, confirmed, called)
        await asyncio.sleep(600)
        assert roll.cluster.ready(IMPORTED) == reason
        assert not await roll.cluster.machines()
        assert roll.rig.mac(host).name == called

    play_adoption(scene)


@pytest.mark.parametrize(
    ("changes", "reason", "text"),
    [
        ({"renews": True}, "FleetUnsuitable", "renews = false"),
        ({"maximum": 0}, "Refused", "has at most 0 machines"),
    ],
    ids=["it keeps its size", "it is full"],
)
def test_no_mac_is_taken_over_by_a_fleet_that_would_make_no_machine(
    changes: dict[str, Any], reason: str, text: str
) -> None:
    async def scene(roll: Roll) -> None:
        host = await imported(roll, IMPORTED)
        await roll.cluster.until(lambda: roll.cluster.ready(IMPORTED) == reason)
        assert text in str(roll.cluster.status(IMPORTED))
        await asyncio.sleep(300)
        assert not await roll.cluster.machines()
        assert roll.rig.mac(host).name == IMPORTED

    play_adoption(scene, replace(MACS, **changes))


def test_the_room_of_a_fleet_is_not_promised_twice() -> None:
    """What was asked for and is not on record yet counts."""
    store = Busy(InstallationId("i-held"))

    async def scene(roll: Roll) -> None:
        await imported(roll, IMPORTED)
        await roll.cluster.until(lambda: roll.cluster.ready(IMPORTED) == "Provisioning")
        await imported(roll, "other", "other", "other", "m-bbbbbbbbbb")
        await roll.cluster.until(lambda: roll.cluster.ready("other") == "Refused")
        assert _kinds(await store.requests()) == [RequestKind.POOL_ADOPT]

    play_adoption(scene, replace(MACS, maximum=1), store)


# ---------------------------------------------------------------- deleted before it was answered


@pytest.mark.parametrize("goes_on", ["the same", "another"])
def test_an_object_deleted_while_its_host_is_taken_over_waits_and_its_machine_ends(
    goes_on: str,
) -> None:
    """What was asked for is known to the store alone where another process goes on."""
    store = Busy(InstallationId("i-held"))

    async def deletion(roll: Roll) -> None:
        for one in ("Machine", "HostlerMachine"):
            roll.cluster.api.delete(one, IMPORTED)
        await asyncio.sleep(20)
        assert roll.cluster.api.raw("HostlerMachine", IMPORTED) is not None
        assert _kinds(await store.requests()) == [RequestKind.POOL_ADOPT, RequestKind.DELETE]
        store.busy = False
        ends = set[int]()
        for _ in range(12_000):
            ends |= {r.number for r in await store.requests() if r.kind is RequestKind.DELETE}
            if roll.cluster.api.raw("HostlerMachine", IMPORTED) is None:
                break
            await asyncio.sleep(0.05)
        assert len(ends) == 1
        assert await store.machine(MachineId(OLD)) is not None
        await asyncio.sleep(3600)
        assert not await roll.cluster.machines()

    async def scene(roll: Roll) -> None:
        await imported(roll, IMPORTED)
        await roll.cluster.until(lambda: roll.cluster.ready(IMPORTED) == "Provisioning")
        if goes_on == "the same":
            await deletion(roll)
            return
        roll.provider.cancel()
        async with roll.cluster.provided():
            await deletion(roll)

    play_adoption(scene, store=store)


def _kinds(requests: Iterable[Request]) -> list[RequestKind]:
    return [request.kind for request in requests]
