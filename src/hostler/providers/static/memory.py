"""Memory: what each host said last, and since when it is silent. Losing it costs observations."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.model.resource import Resource

from .reading import Reading


@dataclass(slots=True)
class Memory:
    """One process's memory of its hosts, by their names."""

    patience: timedelta
    last: dict[str, Resource | None] = field(default_factory=dict[str, Resource | None])
    silent: dict[str, datetime] = field(default_factory=dict[str, datetime])

    def note(self, reading: Reading) -> None:
        """Remember one reading."""
        if reading.error:
            self.silent.setdefault(reading.host.name, reading.begun)
        else:
            self.silent.pop(reading.host.name, None)
            self.last[reading.host.name] = reading.resource

    def out(self, readings: tuple[Reading, ...], now: datetime) -> frozenset[str]:
        """Return which silent hosts of a group count as off.

        They were silent for longer than patience, and at least half of the group answers: else it
        may be our own network that is down.
        """
        mute = [reading.host.name for reading in readings if reading.error]
        if 2 * len(mute) > len(readings):
            return frozenset()
        return frozenset(n for n in mute if now - self.silent.get(n, now) >= self.patience)

    def eagerness(self, name: str) -> tuple[bool, bool]:
        """Return a key that sorts hosts by how likely a claim of them will do."""
        return (name in self.silent, self.last.get(name) is not None)
