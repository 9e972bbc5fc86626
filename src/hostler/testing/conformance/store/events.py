"""Checks of events: numbered, filtered, with images; and the fleet as of a time."""

from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.model.phases import Phase

from .records import (
    CI,
    HOSTILE,
    OPEN,
    WEB,
    Stores,
    ended,
    event,
    filled,
    machine,
    minutes,
    row,
    stored,
)


async def events_are_numbered_in_order(stores: Stores) -> None:
    """Numbers grow, and every handle reads the same."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    read = await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    await store.save_machine(one, (event(one, kind="a"), event(one, kind="b")), OPEN)
    await reopened.save_fleet(read, (), (event(kind="c"),), OPEN)
    entries = await reopened.events()
    assert [entry.event.kind for entry in entries] == ["a", "b", "c"]
    numbers = [entry.number for entry in entries]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0
    assert await store.events() == entries


async def the_newest_event_is_what_later_ones_come_after(stores: Stores) -> None:
    """For every handle; in a new store it is before all of them."""
    store = await stores.fresh()
    reopened = await stores.reopened(store)
    assert await store.newest_event() == 0
    read = await store.add_fleet(row())
    read = await store.save_fleet(read, (), (event(kind="a"), event(kind="b")), OPEN)
    before = await reopened.newest_event()
    await store.save_fleet(read, (), (event(kind="c"),), OPEN)
    assert [entry.event.kind for entry in await reopened.events(after=before)] == ["c"]


async def every_field_of_an_event_comes_back(stores: Stores) -> None:
    """Hostile text too."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    full = replace(event(machine(1)), at=minutes(0.000001), reason=HOSTILE, detail="é" * 100_000)
    full = replace(full, request=7)
    await store.save_fleet(read, (), (full,), OPEN)
    assert [entry.event for entry in await store.events()] == [full]


async def an_event_carries_its_machine_as_saved(stores: Stores) -> None:
    """Events of the fleet carry none; each new machine's event carries its own."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    events = (event(machine(2)), event(), event(machine(1)))
    await store.save_fleet(read, (machine(1), machine(2)), events, OPEN)
    one, two = await store.machines(WEB)
    saved = await store.save_machine(replace(one, reason="x"), (event(one),), OPEN)
    images = [entry.image for entry in await (await stores.reopened(store)).events()]
    assert images == [two, None, one, saved]


async def an_event_about_another_machine_carries_no_image(stores: Stores) -> None:
    """Only what this very save changed is its image."""
    store = await stores.fresh()
    await filled(store, machine(1), machine(2))
    one, two = await store.machines(WEB)
    await store.save_machine(one, (event(two), event(one)), OPEN)
    images = [entry.image for entry in await store.events()]
    assert images == [None, replace(one, version=2)]


async def events_are_filtered(stores: Stores) -> None:
    """By fleet, by machine, by both."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    other = await store.add_fleet(row(CI))
    ours = (event(kind="fleet"), event(machine(1), kind="one"), event(machine(2), kind="two"))
    await store.save_fleet(read, (machine(1), machine(2)), ours, OPEN)
    theirs = (event(machine(3, CI), kind="ci"),)
    await store.save_fleet(other, (machine(3, CI),), theirs, OPEN)

    async def kinds(fleet: str | None, of: MachineId | None) -> list[str]:
        name = {"web": WEB, "ci": CI}.get(fleet or "")
        return [entry.event.kind for entry in await store.events(name, of)]

    assert await kinds(None, None) == ["fleet", "one", "two", "ci"]
    assert await kinds("web", None) == ["fleet", "one", "two"]
    assert await kinds("ci", None) == ["ci"]
    assert await kinds(None, machine(2).id) == ["two"]
    assert await kinds("web", machine(1).id) == ["one"]
    assert await kinds("ci", machine(1).id) == []


async def events_are_read_in_pages(stores: Stores) -> None:
    """Those after a number, at most so many; each filter pages alike."""
    store = await stores.fresh()
    await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    events = tuple(event(one, kind=str(number)) for number in range(7))
    await store.save_machine(one, events, OPEN)
    for fleet, of in ((None, None), (WEB, None), (None, one.id), (WEB, one.id)):
        seen, after = list[str](), 0
        while page := await store.events(fleet, of, after=after, limit=3):
            assert len(page) <= 3
            for entry in page:
                seen.append(entry.event.kind)
                after = entry.number
        assert seen == [str(number) for number in range(7)]
    assert await store.events(limit=0) == ()


async def the_past_is_each_machines_last_image_before_it(stores: Stores) -> None:
    """An image at that very time is not before it; by serial; other fleets are left out."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    new = (machine(2), machine(1))
    await store.save_fleet(read, new, tuple(event(one, minutes(0)) for one in new), OPEN)
    one, two = await store.machines(WEB)
    starting = replace(one, phase=Phase.STARTING)
    saved = await store.save_machine(starting, (event(one, minutes(5)),), OPEN)
    other = await store.add_fleet(row(CI))
    theirs = machine(3, CI)
    await store.save_fleet(other, (theirs,), (event(theirs, minutes(1)),), OPEN)
    reopened = await stores.reopened(store)
    assert await reopened.images(WEB, minutes(0)) == ()
    assert await reopened.images(WEB, minutes(1)) == (one, two)
    assert await reopened.images(WEB, minutes(5)) == (one, two)
    assert await reopened.images(WEB, minutes(5.1)) == (saved, two)
    assert await reopened.images(CI, minutes(5.1)) == (replace(theirs, version=1),)


async def the_past_leaves_out_what_was_gone_then(stores: Stores) -> None:
    """Before its end it is there, after it not, and after its reopening again."""
    store = await stores.fresh()
    read = await store.add_fleet(row())
    await store.save_fleet(read, (machine(1),), (event(machine(1), minutes(0)),), OPEN)
    born = await stored(store, machine(1).id)
    deleted = await store.save_machine(ended(born), (event(born, minutes(5)),), OPEN)
    back = replace(deleted, phase=Phase.STOPPING)
    back = await store.save_machine(back, (event(born, minutes(9)),), OPEN)
    found = [await store.images(WEB, minutes(at)) for at in (1, 6, 10)]
    assert found == [(born,), (), (back,)]


async def the_past_goes_by_the_order_of_saves(stores: Stores) -> None:
    """When the clock jumped back between two saves, the later save is the last image."""
    store = await stores.fresh()
    await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    first = await store.save_machine(one, (event(one, minutes(8)),), OPEN)
    second = await store.save_machine(first, (event(one, minutes(3)),), OPEN)
    assert await store.images(WEB, minutes(9)) == (second,)


async def several_events_of_one_save_make_one_image(stores: Stores) -> None:
    """A machine is in the past once."""
    store = await stores.fresh()
    await filled(store, machine(1))
    one = await stored(store, machine(1).id)
    events = tuple(event(one, minutes(number)) for number in range(3))
    saved = await store.save_machine(one, events, OPEN)
    assert await store.images(WEB, minutes(9)) == (saved,)
