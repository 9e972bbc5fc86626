"""Past: the events of the store in memory, numbered, with their images; and which may go."""

from bisect import bisect_right
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import StoredEvent


class Past:
    """Events in the order of their numbers, which grow and are never given twice."""

    def __init__(self) -> None:
        self._entries = list[StoredEvent]()
        self._last = 0

    @property
    def next(self) -> int:
        """The number of the next event."""
        return self._last + 1

    def add(self, entries: list[StoredEvent]) -> None:
        """Add events, numbered from `next` on."""
        self._entries += entries
        self._last += len(entries)

    def events(
        self,
        fleet: FleetName | None,
        machine: MachineId | None,
        after: int,
        limit: int,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        """Return events after a number, of a fleet, a machine or a host where one is named."""
        first = bisect_right(self._entries, after, key=lambda entry: entry.number)
        found = (
            entry
            for entry in self._entries[first:]
            if fleet in {None, entry.event.fleet}
            and machine in {None, entry.event.machine}
            and host in {None, entry.event.host}
        )
        return tuple(entry for entry, _ in zip(found, range(limit), strict=False))

    def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        """Return each machine's last image before a time, deleted ones left out, by serial."""
        last = (entry.image for entry in self._last_images(at) if entry.event.fleet == fleet)
        mine = (image for image in last if image and image.fleet == fleet)
        there = (image for image in mine if image.phase is not Phase.DELETED)
        return tuple(sorted(there, key=lambda machine: (machine.serial, machine.id)))

    def named_since(self, at: datetime) -> set[MachineId | None]:
        """Return whom the events from a time on are about."""
        return {entry.event.machine for entry in self._entries if entry.event.at >= at}

    def forget_machine(self, machine: MachineId, limit: int) -> int:
        """Remove a machine's first events, at most so many; return how many went."""
        mine = [entry for entry in self._entries if entry.event.machine == machine]
        return self._remove(mine[:limit])

    def forget_events(self, before: datetime, limit: int) -> int:
        """Remove the oldest events before a time, save each machine's last image among them."""
        needed = {entry.number for entry in self._last_images(before)}
        over = [k for k in self._entries if k.event.at < before and k.number not in needed]
        return self._remove(sorted(over, key=lambda entry: (entry.event.at, entry.number))[:limit])

    def _last_images(self, before: datetime) -> tuple[StoredEvent, ...]:
        """Return the events that carry each machine's last image before a time."""
        last = {
            (entry.event.fleet, entry.event.machine): entry
            for entry in self._entries
            if entry.image is not None and entry.event.at < before
        }
        return tuple(last.values())

    def _remove(self, some: list[StoredEvent]) -> int:
        numbers = {entry.number for entry in some}
        if numbers:
            self._entries = [entry for entry in self._entries if entry.number not in numbers]
        return len(numbers)
