"""Past: the events of the store in memory, numbered, with their images; and which may go."""

from bisect import bisect_right
from datetime import datetime

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Kept


class Past:
    """Events in the order of their numbers, which grow and are never given twice."""

    def __init__(self) -> None:
        self._kept = list[Kept]()
        self._last = 0

    @property
    def next(self) -> int:
        """The number of the next event."""
        return self._last + 1

    def add(self, kept: list[Kept]) -> None:
        """Add events, numbered from `next` on."""
        self._kept += kept
        self._last += len(kept)

    def events(
        self,
        fleet: FleetName | None,
        machine: MachineId | None,
        after: int,
        limit: int,
        host: HostId | None = None,
    ) -> tuple[Kept, ...]:
        """Return events after a number, of a fleet, a machine or a host where one is named."""
        first = bisect_right(self._kept, after, key=lambda kept: kept.number)
        found = (
            kept
            for kept in self._kept[first:]
            if fleet in {None, kept.event.fleet}
            and machine in {None, kept.event.machine}
            and host in {None, kept.event.host}
        )
        return tuple(kept for kept, _ in zip(found, range(limit), strict=False))

    def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        """Return each machine's last image before a time, deleted ones left out, by serial."""
        last = (kept.image for kept in self._last_images(at) if kept.event.fleet == fleet)
        there = (image for image in last if image and image.phase is not Phase.DELETED)
        return tuple(sorted(there, key=lambda machine: (machine.serial, machine.id)))

    def named_since(self, at: datetime) -> set[MachineId | None]:
        """Return whom the events from a time on are about."""
        return {kept.event.machine for kept in self._kept if kept.event.at >= at}

    def forget_machine(self, machine: MachineId, limit: int) -> int:
        """Remove a machine's first events, at most so many; return how many went."""
        mine = [kept for kept in self._kept if kept.event.machine == machine]
        return self._remove(mine[:limit])

    def forget_events(self, before: datetime, limit: int) -> int:
        """Remove the oldest events before a time, save each machine's last image among them."""
        needed = {kept.number for kept in self._last_images(before)}
        over = [k for k in self._kept if k.event.at < before and k.number not in needed]
        return self._remove(sorted(over, key=lambda kept: (kept.event.at, kept.number))[:limit])

    def _last_images(self, before: datetime) -> tuple[Kept, ...]:
        """Return the events that carry each machine's last image before a time."""
        last = {
            (kept.event.fleet, kept.event.machine): kept
            for kept in self._kept
            if kept.image is not None and kept.event.at < before
        }
        return tuple(last.values())

    def _remove(self, some: list[Kept]) -> int:
        numbers = {kept.number for kept in some}
        if numbers:
            self._kept = [kept for kept in self._kept if kept.number not in numbers]
        return len(numbers)
