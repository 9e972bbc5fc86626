"""Past: the events of a store in memory, numbered, with their images; and which may go."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import StoredEvent


class Past:
    """Events in the order of their numbers, which grow and are never given twice."""

    def __init__(self) -> None:
        self._entries = list[StoredEvent]()

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[StoredEvent]:
        """Return all events, in order."""
        return iter(self._entries)

    def add(self, entry: StoredEvent) -> None:
        """Add an event; the newest is added fastest."""
        if not self._entries or self._entries[-1].number < entry.number:
            self._entries.append(entry)
            return
        self._entries.insert(self._place(entry.number), entry)

    def remove(self, numbers: Iterable[int]) -> tuple[StoredEvent, ...]:
        """Remove these events; return those that there were."""
        wanted = set(numbers)
        if len(wanted) == 1 and self._entries and self._entries[-1].number in wanted:
            return (self._entries.pop(),)
        removed = tuple(entry for entry in self._entries if entry.number in wanted)
        if removed:
            self._entries = [entry for entry in self._entries if entry.number not in wanted]
        return removed

    def events(
        self,
        fleet: FleetName | None,
        machine: MachineId | None,
        after: int,
        limit: int,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        """Return events after a number, of a fleet, a machine or a host where one is named."""
        found = (
            entry
            for entry in self._entries[self._place(after) :]
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

    def about(self, machines: Iterable[MachineId]) -> Mapping[MachineId, list[int]]:
        """Return the numbers of each machine's events, in order."""
        numbers = {machine: list[int]() for machine in machines}
        for entry in self._entries:
            machine = entry.event.machine
            if machine is not None and machine in numbers:
                numbers[machine].append(entry.number)
        return numbers

    def date(self, place: int) -> datetime:
        """Return when the event at this place was, the oldest at 0."""
        return self._entries[place].event.at

    def over(self, before: datetime, limit: int, without: set[int]) -> tuple[int, ...]:
        """Return the oldest events before a time, save each machine's last image among them.

        Numbers in `without` count as removed already.
        """
        needed = {entry.number for entry in self._last_images(before)} | without
        over = [k for k in self._entries if k.event.at < before and k.number not in needed]
        over.sort(key=lambda entry: (entry.event.at, entry.number))
        return tuple(entry.number for entry in over[:limit])

    def _place(self, number: int) -> int:
        return bisect_right(self._entries, number, key=lambda entry: entry.number)

    def _last_images(self, before: datetime) -> tuple[StoredEvent, ...]:
        """Return the events that carry each machine's last image before a time."""
        last = {
            (entry.event.fleet, entry.event.machine): entry
            for entry in self._entries
            if entry.image is not None and entry.event.at < before
        }
        return tuple(last.values())
