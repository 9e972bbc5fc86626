"""Checks of fleets: rows, their versions, and machines that appear only with them."""

import asyncio

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict, Fenced
from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.fleet import Order
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
    minutes,
    refused,
    row,
    stale_fence,
    stored,
    taken,
)

ORDERED = MachineId("m-ordered234")


async def a_store_keeps_its_identity(stores: Stores) -> None:
    """Its own id is born with it, is the same for every handle, and differs between stores."""
    one, other = await stores.fresh(), await stores.fresh()
    own = (await one.identity()).own
    assert own
    assert (await (await stores.reopened(one)).identity()).own == own
    assert (await other.identity()).own != own


async def adopted_installations_are_ours_after_our_own(stores: Stores) -> None:
    """They are kept in the order of their adoption; adopting again changes nothing."""
    store = await stores.fresh()
    own = (await store.identity()).own
    another = InstallationId("zzz-and-another")
    await store.adopt((another,), OPEN)
    await store.adopt((OTHER, another, own), OPEN)
    for handle in (store, await stores.reopened(store)):
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
    reopened = await stores.reopened(store)
    first = await store.add_fleet(replace(row(), size=3, version=7))
    assert first == replace(row(), size=3, version=1)
    assert await reopened.add_fleet(replace(row(), size=9)) == first
    assert await reopened.fleets() == (first,)


async def a_removed_fleet_is_gone_and_its_past_stays(stores: Stores) -> None:
    """Its events and the ids that it issued stay; a fleet of its name begins anew."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = replace(await filled(store, ended(machine(1))), serial=7)
    read = await store.save_fleet(read, (), (event(kind="a"),), OPEN)
    other = await store.add_fleet(row(CI))
    await store.remove_fleet(read, (event(kind="b"),), OPEN)
    assert await reopened.fleets() == (other,)
    assert [entry.event.kind for entry in await reopened.events(WEB)] == ["a", "b"]
    assert await reopened.issued((machine(1).id,)) == {machine(1).id}
    assert (await stored(reopened, machine(1).id)).fleet == WEB
    assert await store.add_fleet(row()) == replace(row(), version=1)


async def a_fleet_is_removed_at_the_version_that_was_read(stores: Stores) -> None:
    """Of two who save and remove over one version one loses, and nothing of the loser is kept."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = await store.add_fleet(row())
    won = await store.save_fleet(replace(read, size=1), (), (), OPEN)
    await refused(Conflict, reopened.remove_fleet(read, (event(kind="x"),), OPEN))
    assert (await store.fleets(), await store.events()) == ((won,), ())
    await refused(Conflict, store.remove_fleet(row(CI), (), OPEN))
    await reopened.remove_fleet(won, (), OPEN)
    await refused(Conflict, store.save_fleet(won, (machine(1),), (), OPEN))
    await refused(Conflict, store.remove_fleet(won, (), OPEN))
    assert (await store.fleets(), await store.machines(WEB)) == ((), ())


async def no_fleet_with_living_machines_is_removed(stores: Stores) -> None:
    """Nor under a stale epoch."""
    store = await stores.fresh()
    read = await filled(store, machine(1))
    await refused(Conflict, store.remove_fleet(read, (event(kind="x"),), OPEN))
    await store.save_machine(ended(await stored(store, machine(1).id)), (), OPEN)
    await refused(Fenced, store.remove_fleet(read, (), await stale_fence(store)))
    assert (await store.fleets(), await store.events()) == ((read,), ())


async def a_machine_that_is_saved_for_another_fleet_is_its_from_then_on(stores: Stores) -> None:
    """One save moves it whole, with what it claims; the past of each fleet says so."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1, resource="p-1"), machine(2))
    await filled(store, machine(3, CI), fleet=CI)
    before = await stored(store, machine(1).id)
    await store.save_machine(before, (event(before),), OPEN)
    moved = replace(before, version=2, fleet=CI, serial=9)
    events = (event(before, minutes(2)), event(moved, minutes(2)))
    saved = await store.save_machine(moved, events, OPEN)
    assert saved == replace(moved, version=3)
    assert [found.serial for found in await reopened.machines(WEB)] == [2]
    assert [found.serial for found in await reopened.machines(CI)] == [3, 9]
    assert [found.id for found in await reopened.images(WEB, minutes(1))] == [moved.id]
    assert [found.id for found in await reopened.images(WEB, minutes(3))] == []
    assert [found.id for found in await reopened.images(CI, minutes(3))] == [moved.id]
    await refused(Conflict, store.save_machine(replace(before, version=2), (), OPEN))
    taken_twice = machine(4, resource="p-1")
    await refused(AlreadyBound, filled(store, taken_twice))
    await store.save_machine(ended(saved), (), OPEN)
    assert [found.serial for found in await reopened.machines(CI)] == [3]


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
    assert await (await stores.reopened(store)).fleets() == (saved,)


async def the_second_save_of_a_fleets_version_loses(stores: Stores) -> None:
    """Nothing of the loser is kept: neither row, nor machines, nor events."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = await store.add_fleet(row())
    won = await store.save_fleet(replace(read, size=1), (machine(1),), (), OPEN)
    lost = reopened.save_fleet(replace(read, size=2), (machine(2),), (event(machine(2)),), OPEN)
    await refused(Conflict, lost)
    assert await store.fleets() == (won,)
    assert [found.serial for found in await store.machines(WEB)] == [1]
    assert await store.events() == ()


async def one_of_many_racing_saves_of_a_fleet_wins(stores: Stores) -> None:
    """Of saves over the same version that are under way at once, exactly one is kept."""
    store = await stores.fresh()
    handles = [store, await stores.reopened(store), await stores.reopened(store)]
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
    assert await (await stores.reopened(store)).machines(WEB) == wanted


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


async def ids_are_issued_with_the_save_that_makes_them_known(stores: Stores) -> None:
    """To machines and to orders alike; what was refused is not issued, and what was is for ever."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    asked = (machine(1).id, machine(2).id, ORDERED, machine(3).id)
    assert await store.issued(asked) == frozenset()
    read = await store.add_fleet(row())
    order = Order(id=ORDERED, offer=machine(1).offer, at=NOON)
    saved = await store.save_fleet(replace(read, orders=(order,)), (machine(1),), (), OPEN)
    await refused(Conflict, reopened.save_fleet(read, (machine(3),), (), OPEN))
    saved = await store.save_fleet(replace(saved, orders=()), (ended(machine(2)),), (), OPEN)
    assert await store.forget(minutes(90), 1000, OPEN) > 0
    assert await store.history((machine(2).id,)) == ()
    for handle in (store, reopened, await stores.reopened(store)):
        assert await handle.issued(asked) == {machine(1).id, machine(2).id, ORDERED}


async def a_lease_of_another_name_fences_nothing(stores: Stores) -> None:
    """Epochs are counted for each name alone."""
    store: Store = await stores.fresh()
    other = await taken(store, "fleet/ci", "a")
    await taken(store, "fleet/ci", "b", other)
    read = await store.add_fleet(row())
    assert (await store.save_fleet(read, (), (), OPEN)).version == 2
