"""Checks of machines: versions, fences, the history, and resources that are one machine's only."""

import asyncio
from datetime import timedelta, timezone

from msgspec.structs import replace

from hostler.domain.errors import AlreadyBound, Conflict, Fenced, StoreError
from hostler.domain.ids import Epoch, HostId, ResourceId
from hostler.domain.model.calls import Refusal, Shows
from hostler.domain.model.machine import Asked, CallState, Deletion, Doubt, Fact, Origin, Protection
from hostler.domain.model.phases import Goal, Phase
from hostler.testing.scenes.fields import with_fields

from .records import (
    CI,
    HOSTILE,
    NOON,
    OPEN,
    SERVER,
    WEB,
    Stores,
    ended,
    event,
    filled,
    knowing,
    machine,
    minutes,
    refused,
    stale_fence,
    stored,
)


async def machines_come_by_serial(stores: Stores) -> None:
    """Those of one fleet, the living alone; the order of ids is another."""
    store = await stores.fresh()
    await filled(store, machine(32), machine(9), ended(machine(3)), machine(2))
    await filled(store, machine(1, CI), fleet=CI)
    assert [found.serial for found in await store.machines(WEB)] == [2, 9, 32]
    assert [found.serial for found in await store.machines(CI)] == [1]


async def a_machine_is_found_by_its_id(stores: Stores) -> None:
    """Living or in the history; None for what nobody saved."""
    store = await stores.fresh()
    await filled(store, machine(1), ended(machine(2)))
    assert (await stored(store, machine(1).id)).serial == 1
    assert (await stored(store, machine(2).id)).phase is Phase.DELETED
    assert await store.machine(machine(3).id) is None


async def a_save_returns_the_next_version(stores: Stores) -> None:
    """The one that carried the version read; every handle reads it from then on."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1))
    before = await stored(reopened, machine(1).id)
    saved = await store.save_machine(replace(before, phase=Phase.STARTING), (), OPEN)
    assert saved == replace(before, phase=Phase.STARTING, version=2)
    assert await reopened.machine(saved.id) == saved
    assert await reopened.machines(WEB) == (saved,)


async def every_field_of_a_machine_comes_back(stores: Stores) -> None:
    """As it was, to the microsecond and the last character."""
    store = await stores.fresh()
    await filled(store, machine(1, resource="p-1"))
    before = await stored(store, machine(1).id)
    exact = NOON + timedelta(microseconds=123457)
    asked = Asked(
        kind="server.create",
        slot=SERVER,
        attempt=3,
        at=exact,
        epoch=Epoch(4),
        shows=Shows.POWER,
        call_state=CallState.LAPSED,
        closed=minutes(2),
    )
    full = replace(
        before.with_health(
            doubt=Doubt(what="absent", since=exact),
            was_ready=minutes(5),
            stuck=True,
            refused=Refusal.QUOTA,
        ).with_billing(price=0.1 + 0.2, spent=1e-9, billed_from=minutes(7)),
        phase=Phase.FAILED,
        since=exact,
        goal=Goal.STANDBY,
        reason=HOSTILE,
        template="sha256:1",
        observed="weird status",
        origin=Origin.ADOPTED,
        host=HostId("h-1"),
        asked=(asked,),
        facts=(Fact(name="probe", at=exact),),
        tries=2,
        retry_at=minutes(3),
        retry_since=minutes(2),
        unknown_since=minutes(4),
        protection=Protection(until=minutes(60), why=HOSTILE, actor="é"),
        deletion=Deletion(at=exact, actor="a", why="w", now=True),
        error=HOSTILE,
        address="2001:db8::1",
    )
    saved = await store.save_machine(full, (), OPEN)
    assert saved == replace(full, version=2)
    assert await (await stores.reopened(store)).machine(full.id) == saved


async def a_huge_record_comes_back(stores: Stores) -> None:
    """A megabyte of text is no reason to lose a machine."""
    store = await stores.fresh()
    await filled(store, machine(1))
    before = await stored(store, machine(1).id)
    saved = await store.save_machine(replace(before, error="é" * 500_000), (), OPEN)
    assert await store.machine(saved.id) == saved


async def what_could_not_be_read_back_is_not_stored(stores: Stores) -> None:
    """A price that is no number, half a character, an odd zone; the record stays as it was."""
    store = await stores.fresh()
    await filled(store, machine(1))
    before = await stored(store, machine(1).id)
    odd = NOON.astimezone(timezone(timedelta(seconds=30)))
    changes = ({"error": "\ud800"}, {"price": float("nan")}, {"since": odd})
    for spoilt in (with_fields(before, **change) for change in changes):
        await refused(StoreError, store.save_machine(spoilt, (event(before),), OPEN))
    assert await store.machine(before.id) == before
    assert await store.events() == ()


async def the_second_save_of_a_version_loses(stores: Stores) -> None:
    """The loser's record, resources and events are not kept."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1))
    read = await stored(store, machine(1).id)
    won = await store.save_machine(replace(read, reason="first"), (), OPEN)
    late = reopened.save_machine(knowing(read, "p-9"), (event(read),), OPEN)
    await refused(Conflict, late)
    assert await reopened.machine(read.id) == won
    assert await reopened.events() == ()


async def one_of_many_racing_saves_wins(stores: Stores) -> None:
    """Of saves over the same version that are under way at once, exactly one is kept."""
    store = await stores.fresh()
    handles = [store, await stores.reopened(store), await stores.reopened(store)]
    await filled(store, machine(1))
    read = await stored(store, machine(1).id)
    results = await asyncio.gather(
        *(
            handles[number % 3].save_machine(
                replace(read, tries=number), (event(read, kind=str(number)),), OPEN
            )
            for number in range(12)
        ),
        return_exceptions=True,
    )
    winners = [result for result in results if not isinstance(result, BaseException)]
    losers = [result for result in results if isinstance(result, BaseException)]
    assert len(winners) == 1
    assert {type(loser) for loser in losers} == {Conflict}
    assert await store.machine(read.id) == winners[0]
    assert [entry.event.kind for entry in await store.events()] == [str(winners[0].tries)]


async def a_refusal_of_one_save_leaves_its_neighbours(stores: Stores) -> None:
    """Saves that are under way together share nothing but time."""
    store = await stores.fresh()
    await filled(store, *(machine(number) for number in range(20)))
    read = await store.machines(WEB)
    tried = [replace(one, version=99) if one.serial % 3 == 0 else one for one in read]
    results = await asyncio.gather(
        *(store.save_machine(one, (event(one),), OPEN) for one in tried), return_exceptions=True
    )
    updated = {one.serial for one in read if one.serial % 3}
    assert {one.serial for one in await store.machines(WEB) if one.version == 2} == updated
    assert sum(isinstance(result, Conflict) for result in results) == 20 - len(updated)
    assert len(await store.events()) == len(updated)


async def a_machine_that_was_never_inserted_cannot_be_saved(stores: Stores) -> None:
    """Machines appear with their fleet's row and not otherwise."""
    store = await stores.fresh()
    await filled(store)
    for version in (0, 1):
        new = replace(machine(1), version=version)
        await refused(Conflict, store.save_machine(new, (event(new),), OPEN))
    assert await store.machine(machine(1).id) is None
    assert await store.events() == ()


async def saving_a_machine_is_fenced(stores: Stores) -> None:
    """A stale epoch changes nothing, on whatever handle."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1))
    read = await stored(store, machine(1).id)
    stale = await stale_fence(store)
    for handle in (store, reopened):
        await refused(Fenced, handle.save_machine(read, (event(read),), stale))
    assert await store.machine(read.id) == read
    assert await store.events() == ()
    current = replace(stale, epoch=Epoch(stale.epoch + 1))
    assert (await reopened.save_machine(read, (), current)).version == 2


async def a_gone_machine_moves_to_the_history(stores: Stores) -> None:
    """It leaves the living with that very save, and can be asked for by id."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2))
    read = await stored(store, machine(1).id)
    assert await store.history((read.id,)) == ()
    deleted = await store.save_machine(ended(read), (), OPEN)
    reopened = await stores.reopened(store)
    assert [found.serial for found in await reopened.machines(WEB)] == [2]
    assert await reopened.history((machine(2).id, read.id, machine(7).id)) == (deleted,)
    assert await reopened.machine(read.id) == deleted


async def a_machine_in_the_history_can_be_saved_there(stores: Stores) -> None:
    """Its version goes on counting."""
    store = await stores.fresh()
    await filled(store, ended(machine(1)))
    read = await stored(store, machine(1).id)
    saved = await store.save_machine(replace(read, reason="billed"), (), OPEN)
    assert saved.version == 2
    assert await store.history((read.id,)) == (saved,)
    await refused(Conflict, store.save_machine(read, (), OPEN))


async def a_reopened_machine_moves_back(stores: Stores) -> None:
    """It is among the living again, at its next version, and no longer in the history."""
    store = await stores.fresh()
    await filled(store, ended(machine(1)))
    read = await stored(store, machine(1).id)
    back = await store.save_machine(replace(read, phase=Phase.STOPPING), (), OPEN)
    assert back.version == 2
    assert await store.machines(WEB) == (back,)
    assert await store.history((read.id,)) == ()
    await refused(Conflict, store.save_machine(read, (), OPEN))


async def a_resource_belongs_to_one_machine(stores: Stores) -> None:
    """In any fleet, bound or only known: AlreadyBound, and nothing is kept."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1, resource="p-1"))
    await filled(store, machine(2, CI), fleet=CI)
    read = await stored(store, machine(2).id)
    for bound in (True, False):
        wrong = knowing(read, "p-1", bound=bound)
        await refused(AlreadyBound, reopened.save_machine(wrong, (event(read),), OPEN))
    only_bound = read.with_place(replace(read.place(SERVER), bound=ResourceId("p-1")))
    await refused(AlreadyBound, reopened.save_machine(only_bound, (), OPEN))
    assert await store.machine(read.id) == read
    assert await store.events() == ()


async def one_of_two_racing_machines_gets_the_resource(stores: Stores) -> None:
    """Whichever it is, the other is told so."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    await filled(store, machine(1), machine(2))
    one, two = await store.machines(WEB)
    results = await asyncio.gather(
        store.save_machine(knowing(one, "p-1"), (), OPEN),
        reopened.save_machine(knowing(two, "p-1"), (), OPEN),
        return_exceptions=True,
    )
    assert sum(isinstance(result, AlreadyBound) for result in results) == 1
    holders = [found for found in await store.machines(WEB) if found.ids()]
    assert len(holders) == 1


async def a_resource_that_left_a_record_is_free(stores: Stores) -> None:
    """Its machine saved without it, and another may have it."""
    store = await stores.fresh()
    await filled(store, machine(1, resource="p-1"), machine(2))
    one, two = await store.machines(WEB)
    await store.save_machine(knowing(one, "p-2"), (), OPEN)
    await store.save_machine(knowing(two, "p-1"), (), OPEN)
    one = await stored(store, one.id)
    await refused(AlreadyBound, store.save_machine(knowing(one, "p-1"), (), OPEN))


async def a_resource_confirmed_gone_is_free(stores: Stores) -> None:
    """Even while it still stands as bound in its old machine's record."""
    store = await stores.fresh()
    await filled(store, machine(1, resource="p-1"), machine(2))
    one, two = await store.machines(WEB)
    await refused(AlreadyBound, store.save_machine(knowing(two, "p-1"), (), OPEN))
    await store.save_machine(knowing(one, "p-1", deleted=True), (), OPEN)
    await store.save_machine(knowing(two, "p-1"), (), OPEN)


async def the_history_has_no_resources(stores: Stores) -> None:
    """What a deleted machine knew is free; reopened, it may have it only if nobody took it."""
    store = await stores.fresh()
    await filled(store, machine(1, resource="p-1"), machine(2), machine(3, resource="p-3"))
    one, two, three = await store.machines(WEB)
    one = await store.save_machine(ended(one), (), OPEN)
    three = await store.save_machine(ended(three), (), OPEN)
    await store.save_machine(knowing(two, "p-1"), (), OPEN)
    reopened = store.save_machine(replace(one, phase=Phase.STOPPING), (event(one),), OPEN)
    await refused(AlreadyBound, reopened)
    assert await store.history((one.id,)) == (one,)
    assert await store.events() == ()
    back = await store.save_machine(replace(three, phase=Phase.STOPPING), (), OPEN)
    two = await stored(store, two.id)
    await refused(AlreadyBound, store.save_machine(knowing(two, "p-3"), (), OPEN))
    assert back in await store.machines(WEB)


async def a_machine_may_know_its_own_resource_twice(stores: Stores) -> None:
    """Saving what one has already is no theft."""
    store = await stores.fresh()
    await filled(store, machine(1, resource="p-1"))
    read = await stored(store, machine(1).id)
    saved = await store.save_machine(replace(read, reason="still mine"), (), OPEN)
    assert (await store.save_machine(saved, (), OPEN)).version == 3
