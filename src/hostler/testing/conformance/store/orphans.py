"""Checks of the ledger of suspects, of wishes, and of the revision that tells of both."""

import asyncio
from dataclasses import replace

from hostler.domain.errors import Fenced
from hostler.domain.ids import InstallationId, PartId, machine_id
from hostler.domain.model.snapshot import SuspectClass, WishKind

from .records import CI, HOSTILE, OPEN, filled, machine, minutes, refused, stored, suspect, wish
from .stores import Stores, stale_fence


async def suspects_come_by_part(stores: Stores) -> None:
    """A suspect that is written again takes the place of the older entry."""
    store = await stores.fresh()
    await store.save_suspects((suspect("p-2"), suspect("p-1")), (), OPEN)
    await store.save_suspects((suspect("p-2", 2),), (), OPEN)
    found = await (await stores.again(store)).suspects()
    assert found == (suspect("p-1"), suspect("p-2", 2))


async def every_field_of_a_suspect_comes_back(stores: Stores) -> None:
    """Whatever name its owner gave it."""
    store = await stores.fresh()
    full = replace(
        suspect("p-1"),
        kind=HOSTILE,
        cls=SuspectClass.FOREIGN,
        counted=minutes(1),
        created=minutes(2),
        owner=HOSTILE,
        price=0.1,
        cost=123456.789,
        blocked="protected",
        installation=InstallationId("i-2"),
        machine=machine_id(7),
    )
    await store.save_suspects((full,), (), OPEN)
    assert await (await stores.again(store)).suspects() == (full,)


async def cleared_parts_leave_the_ledger(stores: Stores) -> None:
    """What is written and cleared at once is cleared; what was not there is no error."""
    store = await stores.fresh()
    await store.save_suspects((suspect("p-1"), suspect("p-2"), suspect("p-3")), (), OPEN)
    cleared = (PartId("p-1"), PartId("p-2"), PartId("p-9"))
    await store.save_suspects((suspect("p-2", 2), suspect("p-4")), cleared, OPEN)
    assert [found.part for found in await store.suspects()] == ["p-3", "p-4"]


async def the_ledger_is_fenced(stores: Stores) -> None:
    """A stale epoch neither writes nor clears."""
    store = await stores.fresh()
    await store.save_suspects((suspect("p-1"),), (), OPEN)
    stale = await stale_fence(store)
    late = store.save_suspects((suspect("p-2"),), (PartId("p-1"),), stale)
    await refused(Fenced, late)
    assert await store.suspects() == (suspect("p-1"),)


async def wishes_keep_their_order(stores: Stores) -> None:
    """Whoever writes them; each is returned with the number that it got."""
    store = await stores.fresh()
    again = await stores.again(store)
    kept = [await handle.wish(wish(size)) for size, handle in enumerate((store, again, store))]
    assert [one.number for one in kept] == sorted({one.number for one in kept})
    assert [replace(one, number=0) for one in kept] == [wish(size) for size in range(3)]
    assert await store.wishes() == tuple(kept)
    assert await again.wishes() == tuple(kept)


async def every_field_of_a_wish_comes_back(stores: Stores) -> None:
    """Whatever its author typed."""
    store = await stores.fresh()
    full = replace(
        wish(),
        kind=WishKind.HOLD,
        fleet=CI,
        actor=HOSTILE,
        machine=machine_id(3),
        size=None,
        until=minutes(60),
        why=HOSTILE,
        now=True,
        installation=InstallationId("i-2"),
    )
    kept = await store.wish(full)
    assert kept == replace(full, number=kept.number)
    assert await (await stores.again(store)).wishes() == (kept,)


async def taken_wishes_do_not_come_back(stores: Stores) -> None:
    """Taking twice is no error; the others stay; no number is ever given twice."""
    store = await stores.fresh()
    again = await stores.again(store)
    first, second, third = [await store.wish(wish(size)) for size in range(3)]
    await store.take_wishes((third.number, first.number), OPEN)
    await again.take_wishes((first.number, third.number, 999), OPEN)
    assert await again.wishes() == (second,)
    assert (await again.wish(wish())).number > third.number


async def racing_wishes_get_numbers_of_their_own(stores: Stores) -> None:
    """None is lost, none overwrites another."""
    store = await stores.fresh()
    handles = [store, await stores.again(store), await stores.again(store)]
    kept = await asyncio.gather(*(handles[size % 3].wish(wish(size)) for size in range(12)))
    assert len({one.number for one in kept}) == 12
    assert set(await store.wishes()) == set(kept)


async def taking_wishes_is_fenced(stores: Stores) -> None:
    """A stale epoch takes nothing; writing wishes needs no lease."""
    store = await stores.fresh()
    kept = await store.wish(wish())
    stale = await stale_fence(store)
    await refused(Fenced, store.take_wishes((kept.number,), stale))
    later = await store.wish(wish(2))
    assert await store.wishes() == (kept, later)


async def the_revision_tells_of_other_writers(stores: Stores) -> None:
    """Every kind of write of another handle changes it."""
    store = await stores.fresh()
    again = await stores.again(store)
    read = await filled(again, machine(1))
    one = await stored(again, machine_id(1))
    last = await store.revision()
    lease = await again.take_lease("fleet/x", "a", None)
    assert lease is not None
    writes = (
        again.wish(wish()),
        again.save_machine(one, (), OPEN),
        again.save_fleet(read, (), (), OPEN),
        again.save_suspects((suspect("p-1"),), (), OPEN),
        again.take_wishes((1,), OPEN),
        again.renew_lease(lease),
    )
    for write in writes:
        await write
        now = await store.revision()
        assert now != last, f"{write} was not told"
        last = now


async def the_revision_tells_of_wishes_through_the_same_handle(stores: Stores) -> None:
    """A door in the engine's own process is heard as well."""
    store = await stores.fresh()
    before = await store.revision()
    await store.wish(wish())
    assert await store.revision() != before


async def the_revision_rests_while_nobody_writes(stores: Stores) -> None:
    """Reading is no news."""
    store = await stores.fresh()
    again = await stores.again(store)
    await again.wish(wish())
    before = await store.revision()
    await again.wishes()
    await store.fleets()
    assert await store.revision() == before
