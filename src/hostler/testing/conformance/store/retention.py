"""Checks of forgetting: what was over goes, a bounded number at once; nothing living is lost."""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.errors import Conflict, Fenced
from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Store

from .records import (
    CI,
    OPEN,
    WEB,
    Stores,
    ended,
    event,
    filled,
    host,
    machine,
    minutes,
    orphan,
    refused,
    request,
    row,
    stale_fence,
    stored,
    taken,
)

_ALL = 1000


async def an_empty_store_has_nothing_to_forget(stores: Stores) -> None:
    """Nor has it forgotten anything."""
    store = await stores.fresh()
    assert await store.forget(minutes(9), _ALL, OPEN) == 0
    assert await store.forgotten() is None


async def a_living_machine_keeps_its_last_image(stores: Stores) -> None:
    """However old; what came before it goes, and time travel shows the machine as before."""
    store = await stores.fresh()
    read = await filled(store, machine(1), machine(2))
    one, two = await store.machines(WEB)
    first = await _save(store, one, 1)
    last = await _save(store, first, 2)
    other = await _save(store, two, 1)
    await store.save_fleet(read, (), (event(last, minutes(3)),), OPEN)  # it carries no image
    assert await store.forget(minutes(60), _ALL, OPEN) == 2
    reopened = await stores.reopened(store)
    assert [entry.image for entry in await reopened.events()] == [last, other]
    assert await reopened.images(WEB, minutes(60)) == (last, other)
    assert await reopened.machines(WEB) == (last, other)


async def the_past_is_as_before_from_that_time_on(stores: Stores) -> None:
    """A machine's last image before it stays also where later ones follow, or its end."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2), machine(3))
    one, two, three = await store.machines(WEB)
    one = await _save(store, await _save(store, await _save(store, one, 1), 2), 7)
    await _save(store, ended(await _save(store, two, 1)), 8)
    await _save(store, await _save(store, three, 6), 4)  # the clock jumped back between
    times = [minutes(at) for at in (5, 6, 7, 8, 9)]
    before = [await store.images(WEB, at) for at in times]
    assert await store.forget(minutes(5), _ALL, OPEN) == 1
    assert [await store.images(WEB, at) for at in times] == before
    assert len(await store.events()) == 6


async def events_without_an_image_go(stores: Stores) -> None:
    """Those older than the time, not those at it; of every fleet, about machines or not."""
    store = await stores.fresh()
    read = await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    events = [event(at=minutes(at), kind=str(at)) for at in (1, 4, 5, 6)]
    about = event(one, minutes(2), kind="2")
    await store.save_fleet(read, (), (*events, about), OPEN)
    other = await store.add_fleet(row(CI))
    theirs = replace(event(at=minutes(3), kind="3"), fleet=CI)
    await store.save_fleet(other, (), (theirs,), OPEN)
    assert await store.forget(minutes(5), _ALL, OPEN) == 4
    assert [entry.event.kind for entry in await store.events()] == ["5", "6"]
    assert await store.events(machine=one.id) == ()


async def the_oldest_events_go_first(stores: Stores) -> None:
    """By their time; so many at once; fewer than asked means that nothing more is to go."""
    store = await stores.fresh()
    read = await filled(store)
    events = tuple(event(at=minutes(at), kind=str(at)) for at in (3, 1, 2, 5, 4))
    await store.save_fleet(read, (), events, OPEN)
    left = list[list[str]]()
    for limit in (0, 2, 2, 2, 2):
        went = await store.forget(minutes(9), limit, OPEN)
        assert went == min(limit, 5 if not left else len(left[-1]))
        left.append([entry.event.kind for entry in await store.events()])
    assert left == [["3", "1", "2", "5", "4"], ["3", "5", "4"], ["5"], [], []]


async def a_machine_that_went_before_goes_whole(stores: Stores) -> None:
    """Its record and all its events; one that went at that time or later stays in the history."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2), machine(3))
    for at, one in zip((4, 5, 6), await store.machines(WEB), strict=True):
        await _save(store, ended(replace(await _save(store, one, 1), since=minutes(at))), at)
    ids = tuple(machine(number).id for number in (1, 2, 3))
    assert await store.forget(minutes(5), _ALL, OPEN) == 3
    reopened = await stores.reopened(store)
    assert [found.id for found in await reopened.history(ids)] == list(ids[1:])
    assert await reopened.machine(ids[0]) is None
    assert await reopened.events(machine=ids[0]) == ()
    assert len(await reopened.events()) == 4


async def a_machine_went_when_its_record_says(stores: Stores) -> None:
    """As it was saved last, also where it was in the history already."""
    store = await stores.fresh()
    await filled(store, ended(machine(1)))
    read = await stored(store, machine(1).id)
    late = await store.save_machine(replace(read, since=minutes(7)), (), OPEN)
    assert await store.forget(minutes(7), _ALL, OPEN) == 0
    assert await store.history((read.id,)) == (late,)
    assert await store.forget(minutes(8), _ALL, OPEN) == 1


async def a_machine_with_a_later_event_stays(stores: Stores) -> None:
    """An event of it was still to be written: that keeps it in the history, its last image too."""
    store = await stores.fresh()
    await filled(store, machine(1))
    read = await stored(store, machine(1).id)
    deleted = await _save(store, ended(read), 1)
    events = await store.save_machine(deleted, (event(deleted, minutes(7)),), OPEN)
    assert await store.forget(minutes(5), _ALL, OPEN) == 0
    assert await store.history((read.id,)) == (events,)
    assert await store.forget(minutes(8), _ALL, OPEN) == 3
    assert await store.history((read.id,)) == ()


async def a_machine_is_forgotten_within_the_limit(stores: Stores) -> None:
    """Its events first, the oldest first, then its record: it is never seen alive meanwhile."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2))
    for one in await store.machines(WEB):
        await _save(store, ended(await _save(store, one, 1)), 2)
    counts = list[tuple[int, int, int]]()
    for _ in range(4):
        went = await store.forget(minutes(5), 2, OPEN)
        old = await store.history((machine(1).id, machine(2).id))
        counts.append((went, len(await store.events()), len(old)))
        assert await store.images(WEB, minutes(5)) == ()
    assert counts == [(2, 2, 2), (2, 1, 1), (2, 0, 0), (0, 0, 0)]


async def a_forgotten_machine_was_never_there(stores: Stores) -> None:
    """Whoever still has its record cannot save it; numbers of events are not given again."""
    store = await stores.fresh()
    read = await filled(store, machine(1))
    deleted = await _save(store, ended(await stored(store, machine(1).id)), 1)
    last = (await store.events())[-1].number
    assert await store.forget(minutes(5), _ALL, OPEN) == 2
    await refused(Conflict, store.save_machine(deleted, (event(deleted),), OPEN))
    await store.save_fleet(read, (), (event(at=minutes(6)),), OPEN)
    assert [entry.number > last for entry in await store.events()] == [True]
    assert await store.events(after=last) == await store.events()


async def a_reopened_machine_lives_again(stores: Stores) -> None:
    """Its record is not in the history any more: it keeps its last image."""
    store = await stores.fresh()
    await filled(store, machine(1))
    deleted = await _save(store, ended(await stored(store, machine(1).id)), 1)
    back = await _save(store, replace(deleted, phase=Phase.STOPPING), 2)
    assert await store.forget(minutes(5), _ALL, OPEN) == 1
    assert await store.machines(WEB) == (back,)
    assert [entry.image for entry in await store.events()] == [back]


async def forgetting_leaves_everything_else(stores: Stores) -> None:
    """Rows, hosts, bindings, orphans, requests and leases are as they were."""
    store = await stores.fresh()
    read = await filled(store, machine(1))
    deleted = await _save(store, ended(await stored(store, machine(1).id)), 1)
    saved = await store.save_host(host("h-1"), (), OPEN)
    await store.bind(saved.id, deleted.id, OPEN)
    await store.save_orphans((orphan("p-1"),), (), OPEN)
    desired = await store.request(request())
    lease = await taken(store, "account/main", "a")
    assert await store.forget(minutes(5), _ALL, OPEN) == 2
    assert await store.fleets() == (read,)
    assert await store.hosts() == (saved,)
    assert [found.resource for found in await store.orphans()] == [ResourceId("p-1")]
    assert await store.requests() == (desired,)
    assert await store.leases() == (lease,)
    await store.unbind(saved.id, deleted.id, OPEN)


async def what_was_forgotten_is_told(stores: Stores) -> None:
    """The latest time by which anything went, whatever was asked since to no effect."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = await filled(store)
    events = tuple(event(at=minutes(at)) for at in (1, 3.5, 7))
    await store.save_fleet(read, (), events, OPEN)
    found = list[datetime | None]()
    for at in (1, 5.000001, 6, 2):
        await store.forget(minutes(at), _ALL, OPEN)
        found.append(await reopened.forgotten())
    assert found == [None, minutes(5.000001), minutes(5.000001), minutes(5.000001)]


async def what_deleted_machines_cost_is_never_forgotten(stores: Stores) -> None:
    """It is a fleet's own, goes with a record that leaves *deleted*, and outlives its record."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2), machine(3))
    one, two, _ = await store.machines(WEB)
    assert await store.spent(WEB) == 0.0
    first = await _save(store, ended(one.with_billing(spent=1.5)), 1)
    second = await _save(store, ended(two.with_billing(spent=0.25)), 2)
    assert await store.spent(WEB) == 1.75
    assert await store.spent(CI) == 0.0
    await _save(store, replace(second, phase=Phase.STOPPING), 3)
    assert await store.spent(WEB) == 1.5
    await _save(store, first.with_billing(spent=2.0), 4)
    assert await store.spent(WEB) == 2.0
    assert await store.forget(minutes(60), _ALL, OPEN) > 0
    reopened = await stores.reopened(store)
    assert await reopened.machine(first.id) is None
    assert await reopened.spent(WEB) == 2.0


async def forgetting_is_fenced(stores: Stores) -> None:
    """A stale epoch removes nothing."""
    store = await stores.fresh()
    read = await filled(store)
    await store.save_fleet(read, (), (event(),), OPEN)
    stale = await stale_fence(store)
    await refused(Fenced, (await stores.reopened(store)).forget(minutes(5), _ALL, stale))
    assert len(await store.events()) == 1
    assert await store.forgotten() is None
    current = replace(stale, epoch=Epoch(stale.epoch + 1))
    assert await store.forget(minutes(5), _ALL, current) == 1


async def _save(store: Store, record: Machine, at: float) -> Machine:
    """Save a machine with one event, so many minutes after noon."""
    return await store.save_machine(record, (event(record, minutes(at)),), OPEN)
