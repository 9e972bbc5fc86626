"""Checks of hosts: versions, and bindings that are unique on both ends."""

import asyncio

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict, Fenced
from hostler.domain.ids import HostId, MachineId, machine_id
from hostler.domain.model.host import HostCondition, HostGoal

from .records import (
    OPEN,
    Stores,
    event,
    filled,
    host,
    machine,
    minutes,
    refused,
    stale_fence,
    stored,
)

H1, H2 = HostId("h-1"), HostId("h-2")
M1, M2 = machine_id(1), machine_id(2)


async def hosts_come_by_id(stores: Stores) -> None:
    """Each at version 1 after its first save."""
    store = await stores.fresh()
    for name in ("h-2", "h-10", "h-1"):
        assert await store.save_host(host(name), (), OPEN) == replace(host(name), version=1)
    found = await (await stores.reopened(store)).hosts()
    assert [one.id for one in found] == ["h-1", "h-10", "h-2"]


async def every_field_of_a_host_comes_back(stores: Stores) -> None:
    """Spans of time too, to the microsecond."""
    store = await stores.fresh()
    first = await store.save_host(host("h-1"), (), OPEN)
    full = replace(
        first.with_health(strikes=2, quarantined_until=minutes(1))
        .with_cleaning(wiped=minutes(2))
        .with_purchase(paid_until=minutes(3)),
        condition=HostCondition.QUARANTINED,
        machine=M1,
        goal=HostGoal.CLEAN,
    )
    saved = await store.save_host(full, (), OPEN)
    assert saved == replace(full, version=2)
    assert await (await stores.reopened(store)).hosts() == (saved,)


async def what_is_told_of_a_host_is_kept_with_its_record(stores: Stores) -> None:
    """And found by the host, in pages; a save that is refused adds nothing."""
    store = await stores.fresh()
    await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    mine = [replace(event(kind=str(number)), host=H1) for number in range(3)]
    await store.save_machine(one, (replace(event(one), kind="held", host=H1),), OPEN)
    first = await store.save_host(host("h-1"), (mine[0], mine[1]), OPEN)
    await store.save_host(host("h-2"), (replace(event(kind="other"), host=H2),), OPEN)
    await refused(Conflict, store.save_host(host("h-1"), (mine[2],), OPEN))
    await store.save_host(first, (mine[2],), OPEN)
    reopened = await stores.reopened(store)

    async def kinds(of: HostId, machine: MachineId | None = None, after: int = 0) -> list[str]:
        page = await reopened.events(machine=machine, after=after, limit=3, host=of)
        return [entry.event.kind for entry in page]

    assert await kinds(H1) == ["held", "0", "1"]
    last = (await reopened.events(limit=3, host=H1))[-1].number
    assert await kinds(H1, after=last) == ["2"]
    assert await kinds(H1, one.id) == ["held"]
    assert await kinds(H2) == ["other"]
    assert [k.event for k in await reopened.events(host=H1, after=last)] == [mine[2]]


async def the_second_save_of_a_hosts_version_loses(stores: Stores) -> None:
    """New or not; a host that nobody saved has no version but 0."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await refused(Conflict, store.save_host(replace(host("h-1"), version=1), (), OPEN))
    first = await store.save_host(host("h-1"), (), OPEN)
    await refused(Conflict, reopened.save_host(host("h-1").with_health(strikes=1), (), OPEN))
    second = await reopened.save_host(first, (), OPEN)
    await refused(Conflict, store.save_host(first.with_health(strikes=1), (), OPEN))
    assert await store.hosts() == (second,)


async def hosts_are_fenced(stores: Stores) -> None:
    """A stale epoch saves no host, and binds and unbinds nothing."""
    store = await stores.fresh()
    await store.bind(H1, M1, OPEN)
    stale = await stale_fence(store)
    current = replace(stale, epoch=stale.epoch + 1)
    await refused(Fenced, store.save_host(host("h-1"), (), stale))
    await refused(Fenced, store.bind(H2, M2, stale))
    await refused(Fenced, store.unbind(H1, M1, stale))
    assert await store.hosts() == ()
    await refused(AlreadyBound, store.bind(H1, M2, current))
    await store.bind(H2, M2, current)


async def a_binding_is_unique_on_both_ends(stores: Stores) -> None:
    """A host has one machine and a machine one host; the same bind again changes nothing."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await store.bind(H1, M1, OPEN)
    await reopened.bind(H1, M1, OPEN)
    await refused(AlreadyBound, reopened.bind(H1, M2, OPEN))
    await refused(AlreadyBound, reopened.bind(H2, M1, OPEN))
    await reopened.bind(H2, M2, OPEN)
    assert await store.bindings() == ((H1, M1), (H2, M2)) == await reopened.bindings()


async def one_of_many_racing_machines_gets_the_host(stores: Stores) -> None:
    """Exactly one bind succeeds, and it stays."""
    store = await stores.fresh()
    handles = [store, await stores.reopened(store), await stores.reopened(store)]
    machines = [machine_id(number) for number in range(9)]
    results = await asyncio.gather(
        *(handles[n % 3].bind(H1, one, OPEN) for n, one in enumerate(machines)),
        return_exceptions=True,
    )
    winners = [one for one, result in zip(machines, results, strict=True) if result is None]
    assert len(winners) == 1
    assert sum(isinstance(result, AlreadyBound) for result in results) == 8
    await store.bind(H1, winners[0], OPEN)


async def only_this_very_binding_is_removed(stores: Stores) -> None:
    """Unbinding what is not bound, or bound otherwise, changes nothing."""
    store = await stores.fresh()
    await store.bind(H1, M1, OPEN)
    await store.unbind(H1, M2, OPEN)
    await store.unbind(H2, M1, OPEN)
    await refused(AlreadyBound, store.bind(H1, M2, OPEN))
    await store.unbind(H1, M1, OPEN)
    await store.unbind(H1, M1, OPEN)
    assert await store.bindings() == ()
    await store.bind(H1, M2, OPEN)
    await store.bind(H2, M1, OPEN)


async def a_binding_changes_no_record(stores: Stores) -> None:
    """Host and machine keep their versions: who binds them saves them too."""
    store = await stores.fresh()
    before = await store.save_host(host("h-1"), (), OPEN)
    await filled(store, machine(1))
    read = await stored(store, M1)
    await store.bind(H1, M1, OPEN)
    assert await store.hosts() == (before,)
    assert await store.machine(M1) == read
