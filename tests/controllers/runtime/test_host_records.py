"""The hosts and ties in memory: trusted as long as every save was seen to its end."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from hostler.controllers.runtime.host_records import HostRecords
from hostler.domain.errors import StoreBusy
from hostler.domain.ids import AccountName, Epoch, HostId, InstallationId, MachineId, Zone
from hostler.domain.model.commands import Event
from hostler.domain.model.host import Host, HostCondition
from hostler.ports.store import Fence
from hostler.stores.memory import MemoryStore

MAIN = AccountName("main")
HOST = Host(id=HostId("h-1"), account=MAIN, zone=Zone("z-1"))
OTHER = replace(HOST, id=HostId("h-2"))
MACHINE = MachineId("m-aaaaaaaaaa")


class Halting(MemoryStore):
    """Saves, but its answers are lost, or keep somebody waiting."""

    lost = False
    hangs = False
    meanwhile: Callable[[], Awaitable[None]] | None = None

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        saved = await super().save_host(host, events, fence)
        if self.lost:
            raise StoreBusy("no answer")
        if self.hangs:
            await asyncio.Event().wait()
        return saved

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().bindings()


async def opened() -> tuple[HostRecords, Halting, Fence]:
    store = Halting(InstallationId("home"), exclusive=True)
    lease = await store.take_lease("account/main", "me", None)
    assert lease is not None
    host_records = HostRecords(MAIN)
    await host_records.refresh(store)
    return host_records, store, Fence(lease="account/main", epoch=Epoch(lease.epoch))


async def test_what_was_answered_is_known_without_another_reading() -> None:
    host_records, store, fence = await opened()
    await host_records.take(store, HOST, MACHINE, fence)
    saved = await host_records.keep(
        store, host_records.hosts[HOST.id].with_ownership(name="a"), fence
    )
    assert host_records.known
    assert (host_records.hosts, host_records.bindings) == ({HOST.id: saved}, {HOST.id: MACHINE})
    await host_records.unbind(store, HOST.id, MACHINE, fence)
    assert (host_records.known, host_records.bindings) == (True, {})


async def test_what_was_not_answered_is_read_again() -> None:
    host_records, store, fence = await opened()
    store.lost = True
    with pytest.raises(StoreBusy):
        await host_records.keep(store, HOST, fence)
    assert not host_records.known
    await host_records.refresh(store)
    assert (host_records.known, host_records.hosts[HOST.id].version) == (True, 1)
    with pytest.raises(StoreBusy):
        await host_records.take(store, OTHER, MACHINE, fence)
    assert not host_records.known
    await host_records.refresh(store)
    assert host_records.bindings == {OTHER.id: MACHINE}


async def test_what_was_not_answered_while_all_was_read_is_read_again() -> None:
    """What was read then may be what stood before."""
    host_records, store, fence = await opened()
    before = await host_records.keep(store, HOST, fence)
    host_records.distrust()

    async def lose() -> None:
        store.lost, store.meanwhile = True, None
        with pytest.raises(StoreBusy):
            await host_records.keep(store, before, fence)

    store.meanwhile = lose
    await host_records.refresh(store)
    assert host_records.hosts[HOST.id] == before
    await host_records.refresh(store)
    assert (host_records.known, host_records.hosts[HOST.id].version) == (True, 2)


async def test_a_reading_that_fails_is_made_again() -> None:
    host_records, store, _ = await opened()
    host_records.distrust()

    async def fail() -> None:
        raise StoreBusy("no answer")

    store.meanwhile = fail
    with pytest.raises(StoreBusy):
        await host_records.refresh(store)
    assert not host_records.known


async def test_whoever_is_cancelled_in_a_save_leaves_nothing_trusted() -> None:
    host_records, store, fence = await opened()
    store.hangs = True
    async with asyncio.TaskGroup() as group:
        task = group.create_task(host_records.keep(store, HOST, fence))
        await asyncio.sleep(0)
        task.cancel()
    assert not host_records.known
    await host_records.refresh(store)
    assert HOST.id in host_records.hosts


async def test_a_save_that_goes_well_makes_nothing_else_trusted() -> None:
    """A claim that went well made trusted again what another save had left in doubt."""
    host_records, store, fence = await opened()
    host_records.distrust()
    await host_records.take(store, HOST, MACHINE, fence)
    await host_records.keep(store, host_records.hosts[HOST.id], fence)
    assert not host_records.known


async def test_hosts_of_another_account_are_none_of_this_one() -> None:
    host_records, store, fence = await opened()
    await store.save_host(replace(HOST, account=AccountName("other")), (), fence)
    await store.save_host(OTHER, (), fence)
    host_records.distrust()
    await host_records.refresh(store)
    assert list(host_records.hosts) == [OTHER.id]


@pytest.mark.parametrize("exclusive", [True, False])
async def test_what_others_may_write_is_read_each_time(*, exclusive: bool) -> None:
    store = Halting(InstallationId("home"), exclusive=exclusive)
    lease = await store.take_lease("account/main", "me", None)
    assert lease is not None
    host_records = HostRecords(MAIN)
    await host_records.refresh(store)
    await store.save_host(HOST, (), Fence(lease="account/main", epoch=lease.epoch))
    await host_records.refresh(store)
    assert bool(host_records.hosts) is not exclusive


def test_zones_are_those_of_hosts_that_there_are() -> None:
    absent = replace(OTHER, zone=Zone("z-2"), condition=HostCondition.ABSENT)
    assert HostRecords(MAIN, hosts={HOST.id: HOST, absent.id: absent}).zones() == ("z-1",)
