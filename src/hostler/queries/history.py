"""History: what happened to a machine, a host or a fleet, read page by page."""

from collections.abc import Iterable
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.reporting.history import Line, tell
from hostler.domain.reporting.usage import Image
from hostler.ports.store import Store, StoredEvent

_PAGE = 1000


async def machine_events(store: Store, machine: MachineId) -> tuple[StoredEvent, ...]:
    """Return every event of a machine, in order."""
    return await _from(store, None, machine, 0)


async def host_events(store: Store, host: HostId) -> tuple[StoredEvent, ...]:
    """Return every event of a host, and of its machines while they had it, in order."""
    found, after = list[StoredEvent](), 0
    while page := await store.events(after=after, limit=_PAGE, host=host):
        found += page
        after = page[-1].number
    return tuple(found)


async def fleet_events(store: Store, fleet: FleetName, after: int) -> tuple[StoredEvent, ...]:
    """Return a fleet's events after a number, in order."""
    return await _from(store, fleet, None, after)


async def fleet_images(store: Store, fleet: FleetName) -> tuple[Image, ...]:
    """Return every remembered image of a fleet's machines, and when it was, in order."""
    entries = await fleet_events(store, fleet, 0)
    return tuple((entry.event.at, entry.image) for entry in entries if entry.image is not None)


async def fleet_images_now(store: Store, fleet: FleetName, now: datetime) -> tuple[Image, ...]:
    """Return these images, and its machines as they are now: not every change makes an image."""
    living = await store.machines(fleet)
    return (*await fleet_images(store, fleet), *((now, machine) for machine in living))


async def newest_fleet_events(
    store: Store, fleet: FleetName, count: int
) -> tuple[StoredEvent, ...]:
    """Return a fleet's newest events, at most `count`, in order; old ones are not read."""
    last = await _last_number(store, fleet)
    span = count
    while span < last:
        found = await _from(store, fleet, None, last - span)
        if len(found) >= count:
            return found[-count:]
        span *= 4
    return (await _from(store, fleet, None, 0))[-count:]


def sentences(events: Iterable[StoredEvent]) -> tuple[Line, ...]:
    """Return events as sentences, in the same order."""
    return tuple(tell(entry.event) for entry in events)


async def _from(
    store: Store, fleet: FleetName | None, machine: MachineId | None, after: int
) -> tuple[StoredEvent, ...]:
    found = list[StoredEvent]()
    while page := await store.events(fleet, machine, after, _PAGE):
        found += page
        after = page[-1].number
    return tuple(found)


async def _last_number(store: Store, fleet: FleetName) -> int:
    """Return the number of the fleet's newest event (0: none), in a few small reads."""

    async def is_after(number: int) -> bool:
        return bool(await store.events(fleet, None, number, 1))

    high = 1
    while await is_after(high):
        high *= 2
    low = high // 2
    while low < high:
        middle = (low + high) // 2
        if await is_after(middle):
            low = middle + 1
        else:
            high = middle
    return high
