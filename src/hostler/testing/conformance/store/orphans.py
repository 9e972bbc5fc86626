"""Checks of the orphan report, of requests, and of the revision that tells of both."""

import asyncio

from msgspec.structs import replace

from hostler.domain.errors import Fenced, StoreError
from hostler.domain.ids import InstallationId, ResourceId, machine_id
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import RequestKind

from .records import (
    CI,
    HOSTILE,
    OPEN,
    Stores,
    filled,
    machine,
    minutes,
    orphan,
    refused,
    request,
    stale_fence,
    stored,
)


async def orphans_come_by_resource(stores: Stores) -> None:
    """An orphan that is written again takes the place of the older entry."""
    store = await stores.fresh()
    await store.save_orphans((orphan("p-2"), orphan("p-1")), (), OPEN)
    await store.save_orphans((orphan("p-2", 2),), (), OPEN)
    found = await (await stores.reopened(store)).orphans()
    assert found == (orphan("p-1"), orphan("p-2", 2))


async def every_field_of_an_orphan_comes_back(stores: Stores) -> None:
    """Whatever name its owner gave it."""
    store = await stores.fresh()
    full = replace(
        orphan("p-1"),
        kind=HOSTILE,
        cls=OrphanClass.FOREIGN,
        counted=minutes(1),
        created=minutes(2),
        owner=HOSTILE,
        price=0.1,
        cost=123456.789,
        blocked="protected",
        installation=InstallationId("i-2"),
        machine=machine_id(7),
    )
    await store.save_orphans((full,), (), OPEN)
    assert await (await stores.reopened(store)).orphans() == (full,)


async def cleared_resources_leave_the_orphan_report(stores: Stores) -> None:
    """What is written and cleared at once is cleared; what was not there is no error."""
    store = await stores.fresh()
    await store.save_orphans((orphan("p-1"), orphan("p-2"), orphan("p-3")), (), OPEN)
    cleared = (ResourceId("p-1"), ResourceId("p-2"), ResourceId("p-9"))
    await store.save_orphans((orphan("p-2", 2), orphan("p-4")), cleared, OPEN)
    assert [found.resource for found in await store.orphans()] == ["p-3", "p-4"]


async def the_orphan_report_is_fenced(stores: Stores) -> None:
    """A stale epoch neither writes nor clears."""
    store = await stores.fresh()
    await store.save_orphans((orphan("p-1"),), (), OPEN)
    stale = await stale_fence(store)
    late = store.save_orphans((orphan("p-2"),), (ResourceId("p-1"),), stale)
    await refused(Fenced, late)
    assert await store.orphans() == (orphan("p-1"),)


async def requests_keep_their_order(stores: Stores) -> None:
    """Whoever writes them; each is returned with the number that it got."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    recorded = [
        await handle.request(request(size)) for size, handle in enumerate((store, reopened, store))
    ]
    assert [one.number for one in recorded] == sorted({one.number for one in recorded})
    assert [replace(one, number=0) for one in recorded] == [request(size) for size in range(3)]
    assert await store.requests() == tuple(recorded)
    assert await reopened.requests() == tuple(recorded)


async def requests_of_one_call_are_recorded_all_or_none(stores: Stores) -> None:
    """With the numbers of their order; what follows has a higher one."""
    store = await stores.fresh()
    first = await store.request_all((request(1), request(2)))
    spoilt = replace(request(4), why="\ud800")  # half a letter: no document has it
    await refused(StoreError, store.request_all((request(3), spoilt)))
    later = await store.request(request(5))
    assert await store.request_all(()) == ()
    assert [replace(one, number=0) for one in first] == [request(1), request(2)]
    assert first[0].number < first[1].number < later.number
    assert await (await stores.reopened(store)).requests() == (*first, later)


async def every_field_of_a_request_comes_back(stores: Stores) -> None:
    """Whatever its author typed."""
    store = await stores.fresh()
    full = replace(
        request(),
        kind=RequestKind.PROTECT,
        fleet=CI,
        actor=HOSTILE,
        machine=machine_id(3),
        size=None,
        until=minutes(60),
        why=HOSTILE,
        now=True,
        installation=InstallationId("i-2"),
    )
    recorded = await store.request(full)
    assert recorded == replace(full, number=recorded.number)
    assert await (await stores.reopened(store)).requests() == (recorded,)


async def taken_requests_do_not_come_back(stores: Stores) -> None:
    """Taking twice is no error; the others stay; no number is ever given twice."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    first, second, third = [await store.request(request(size)) for size in range(3)]
    await store.take_requests((third.number, first.number), OPEN)
    await reopened.take_requests((first.number, third.number, 999), OPEN)
    assert await reopened.requests() == (second,)
    assert (await reopened.request(request())).number > third.number


async def racing_requests_get_numbers_of_their_own(stores: Stores) -> None:
    """None is lost, none overwrites another."""
    store = await stores.fresh()
    handles = [store, await stores.reopened(store), await stores.reopened(store)]
    recorded = await asyncio.gather(
        *(handles[size % 3].request(request(size)) for size in range(12))
    )
    assert len({one.number for one in recorded}) == 12
    assert set(await store.requests()) == set(recorded)


async def taking_requests_is_fenced(stores: Stores) -> None:
    """A stale epoch takes nothing; writing requests needs no lease."""
    store = await stores.fresh()
    recorded = await store.request(request())
    stale = await stale_fence(store)
    await refused(Fenced, store.take_requests((recorded.number,), stale))
    later = await store.request(request(2))
    assert await store.requests() == (recorded, later)


async def the_revision_tells_of_other_writers(stores: Stores) -> None:
    """Every kind of write of another handle changes it."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = await filled(reopened, machine(1))
    one = await stored(reopened, machine_id(1))
    last = await store.revision()
    lease = await reopened.take_lease("fleet/x", "a", None)
    assert lease is not None
    writes = (
        reopened.request(request()),
        reopened.save_machine(one, (), OPEN),
        reopened.save_fleet(read, (), (), OPEN),
        reopened.save_orphans((orphan("p-1"),), (), OPEN),
        reopened.take_requests((1,), OPEN),
        reopened.renew_lease(lease),
    )
    for write in writes:
        await write
        now = await store.revision()
        assert now != last, f"{write} was not told"
        last = now


async def the_revision_tells_of_requests_through_the_same_handle(stores: Stores) -> None:
    """A frontend in the engine's own process is heard as well."""
    store = await stores.fresh()
    before = await store.revision()
    await store.request(request())
    assert await store.revision() != before


async def the_revision_tells_of_a_request_whose_author_gave_up(stores: Stores) -> None:
    """Whoever is cancelled while it is recorded: what is on record is noticed."""
    store = await stores.fresh()
    for turns in range(1, 9):
        last, many = await store.revision(), len(await store.requests())
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(store.request(request()))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
        if len(await store.requests()) > many:
            assert await store.revision() != last, f"given up after {turns} turns of the loop"


async def the_revision_rests_while_nobody_writes(stores: Stores) -> None:
    """Reading is no news."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await reopened.request(request())
    before = await store.revision()
    await reopened.requests()
    await store.fleets()
    assert await store.revision() == before
