"""Checks of fleets: rows, their versions, and machines that appear only with them."""

import asyncio
from dataclasses import replace

from hostler.domain.errors import AlreadyBound, Conflict, Fenced
from hostler.domain.ids import InstallationId
from hostler.ports.store import Store

from .records import (
    CI,
    HOSTILE,
    NOON,
    OPEN,
    OTHER,
    WEB,
    Stores,
    ended,
    event,
    filled,
    machine,
    refused,
    row,
    stale_fence,
    taken,
)


async def a_store_keeps_its_identity(stores: Stores) -> None:
    """Its own id is born with it, is the same for every handle, and differs between stores."""
    one, other = await stores.fresh(), await stores.fresh()
    own = (await one.identity()).own
    assert own
    assert (await (await stores.retry_at(one)).identity()).own == own
    assert (await other.identity()).own != own


async def adopted_installations_are_ours_after_our_own(stores: Stores) -> None:
    """They are kept in the order of their adoption; adopting again changes nothing."""
    store = await stores.fresh()
    own = (await store.identity()).own
    another = InstallationId("zzz-and-another")
    await store.adopt((another,), OPEN)
    await store.adopt((OTHER, another, own), OPEN)
    for handle in (store, await stores.retry_at(store)):
        assert (await handle.identity()).ours == (own, another, OTHER)


async def adopting_is_fenced(stores: Stores) -> None:
    """A stale epoch adopts nothing."""
    store = await stores.fresh()
    stale = await stale_fence(store)
    await refused(Fenced, store.adopt((OTHER,), stale))
    assert (await store.identity()).adopted == ()


async def a_fleet_is_added_once(stores: Stores) -> None:
    """The first row is stored at version 1; who comes later gets that one back."""
    store = await stores.fresh()
    retry_at = await stores.retry_at(store)
    first = await store.add_fleet(replace(row(), size=3, version=7))
    assert first == replace(row(), size=3, version=1)
    assert await retry_at.add_fleet(replace(row(), size=9)) == first
    assert await retry_at.fleets() == (first,)


async def fleets_come_by_name(stores: Stores) -> None:
    """The order does not depend on that of adding."""
    store = await stores.fresh()
    for name in (WEB, CI):
        await store.add_fleet(row(name))
    assert [found.name for found in await store.fleets()] == [CI, WEB]


async def saving_a_fleet_returns_the_next_version(stores: Stores) -> None:
    """What is returned is what every handle reads."""
    store = await stores.fresh()
    added = await store.add_fleet(row())
    wanted = replace(added, size=5, serial=2, creations=(NOON,), condition=HOSTILE)
    saved = await store.save_fleet(wanted, (), (), OPEN)
    assert saved == replace(wanted, version=2)
    assert await (await stores.retry_at(store)).fleets() == (saved,)


async def the_second_save_of_a_fleets_version_loses(stores: Stores) -> None:
    """Nothing of the loser is kept: neither row, nor machines, nor events."""
    store = await stores.fresh()
    retry_at = await stores.retry_at(store)
    read = await store.add_fleet(row())
    won = await store.save_fleet(replace(read, size=1), (machine(1),), (), OPEN)
    lost = retry_at.save_fleet(replace(read, size=2), (machine(2),), (event(machine(2)),), OPEN)
    await refused(Conflict, lost)
    assert await store.fleets() == (won,)
    assert [found.serial for found in await store.machines(WEB)] == [1]
    assert await store.events() == ()


async def one_of_many_racing_saves_of_a_fleet_wins(stores: Stores) -> None:
    """Of saves over the same version that are under way at once, exactly one is kept."""
    store = await stores.fresh()
    handles = [store, await stores.retry_at(store), await stores.retry_at(store)]
    read = await store.add_fleet(row())
    results = await asyncio.gather(
        *(
            handles[number % 3].save_fleet(read, (machine(number),), (), OPEN)
            for number in range(12)
        ),
        return_exceptions=True,
    )
    losers = [result for result in results if isinstance(result, BaseException)]
    assert len(losers) == 11
    assert {type(loser) for loser in losers} == {Conflict}
    assert len(await store.machines(WEB)) == 1


async def a_fleet_that_was_never_added_cannot_be_saved(stores: Stores) -> None:
    """Its version 0 is no version that a save could be over."""
    store = await stores.fresh()
    await refused(Conflict, store.save_fleet(row(), (machine(1),), (), OPEN))
    assert await store.fleets() == ()
    assert await store.machine(machine(1).id) is None


async def saving_a_fleet_is_fenced(stores: Stores) -> None:
    """A stale epoch saves neither row nor machines nor events."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    stale = await stale_fence(store)
    late = store.save_fleet(replace(read, size=4), (machine(1),), (event(machine(1)),), stale)
    await refused(Fenced, late)
    assert await store.fleets() == (read,)
    assert await store.machines(WEB) == ()
    assert await store.events() == ()


async def new_machines_are_stored_at_version_1(stores: Stores) -> None:
    """With the row that brought them, whatever version they carried."""
    store = await stores.fresh()
    await filled(store, replace(machine(1), version=5), machine(2, resource="p-2"))
    wanted = (replace(machine(1), version=1), replace(machine(2, resource="p-2"), version=1))
    assert await (await stores.retry_at(store)).machines(WEB) == wanted


async def an_id_is_given_to_one_machine_only(stores: Stores) -> None:
    """A new machine under the id of another, living or deleted, is a Conflict; nothing is kept."""
    store = await stores.fresh()
    read = await filled(store, machine(1), ended(machine(2)))
    for known in (machine(1), machine(2)):
        both = (machine(3), replace(known, serial=9))
        await refused(Conflict, store.save_fleet(read, both, (event(),), OPEN))
    assert await store.fleets() == (read,)
    assert [found.serial for found in await store.machines(WEB)] == [1]
    assert await store.machine(machine(3).id) is None
    assert await store.events() == ()


async def new_machines_must_not_have_the_resources_of_others(stores: Stores) -> None:
    """Neither those of stored machines nor each other's; nothing of the save is kept."""
    store = await stores.fresh()
    read = await filled(store, machine(1, resource="p-1"))
    taken_resource = (machine(2, resource="p-2"), machine(3, resource="p-1"))
    same_resource = (machine(2, resource="p-2"), machine(3, resource="p-2"))
    for inserts in (taken_resource, same_resource):
        await refused(AlreadyBound, store.save_fleet(read, inserts, (event(),), OPEN))
    assert await store.fleets() == (read,)
    assert [found.serial for found in await store.machines(WEB)] == [1]
    assert await store.events() == ()
    await store.save_fleet(read, (machine(2, resource="p-2"),), (), OPEN)


async def a_lease_of_another_name_fences_nothing(stores: Stores) -> None:
    """Epochs are counted for each name alone."""
    store: Store = await stores.fresh()
    other = await taken(store, "fleet/ci", "a")
    await taken(store, "fleet/ci", "b", other)
    read = await store.add_fleet(row())
    assert (await store.save_fleet(read, (), (), OPEN)).version == 2
