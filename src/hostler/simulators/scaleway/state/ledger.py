"""Every resource that ever was: whose it is, when it lived, and what it has cost so far."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import Struct

from .record import Record

BILLABLE = frozenset({"server", "address", "volume", "mac"})


@dataclass(slots=True, eq=False)
class Entry:
    """One resource in the ledger. `rate` is in EUR a second since `since`, but `least` in all."""

    kind: str
    record: Record
    rate: float
    since: float
    spent: float = 0.0
    least: float = 0.0

    def cost(self, now: float) -> float:
        """Return what it has cost up to a moment, in EUR."""
        end = now if self.record.ended is None else min(now, self.record.ended)
        return max(self.least, self.spent + self.rate * max(0.0, end - self.since))

    def meter(self, rate: float, now: float) -> None:
        """Go on at another rate."""
        self.spent, self.rate, self.since = self.cost(now), rate, now


class Leak(Struct, frozen=True, kw_only=True):
    """One billable resource that still exists. Age in seconds, money in EUR."""

    id: str
    kind: str
    zone: str
    name: str
    tags: tuple[str, ...]
    created: float
    age: float
    cost_per_hour: float
    cost: float


class Line(Struct, frozen=True):
    """One request in the journal. `status` is 0 where nothing was answered."""

    time: float
    method: str
    path: str
    status: int
    fate: str
    fault: str
    key: str
    source: str


class Ledger:
    """All entries, in the order in which the resources were made, and the journal of requests."""

    def __init__(self, journal: int) -> None:
        self._entries: dict[str, Entry] = {}
        self.journal: deque[Line] = deque(maxlen=journal)
        self.calls: dict[str, int] = {}

    def open(self, kind: str, record: Record, rate: float, now: float) -> None:
        """Enter a new resource."""
        self._entries[record.id] = Entry(kind, record, rate, now)

    def meter(self, record_id: str, rate: float, now: float) -> None:
        """Note that a resource costs something else from now on."""
        entry = self._entries[record_id]
        if entry.rate != rate:
            entry.meter(rate, now)

    def commit(self, record_id: str, rate: float, now: float, end: float) -> None:
        """Note that a resource costs so much until a moment, whatever becomes of it."""
        entry = self._entries[record_id]
        entry.least = entry.spent + entry.rate * (now - entry.since) + rate * (end - now)

    def note(self, line: Line) -> None:
        """Write a line in the journal."""
        self.journal.append(line)
        self.calls[line.key] = self.calls.get(line.key, 0) + 1

    def cost(self, now: float) -> float:
        """Return the cost of everything that ever was, in EUR."""
        return sum(entry.cost(now) for entry in self._entries.values())

    def entries(self) -> Iterator[Entry]:
        """Return every entry, dead ones included, the oldest first."""
        return iter(self._entries.values())

    def leaks(self, now: float) -> tuple[Leak, ...]:
        """Return every billable resource that still exists, the oldest first."""
        return tuple(
            leak(entry, now)
            for entry in self._entries.values()
            if entry.record.ended is None and entry.kind in BILLABLE
        )


def leak(entry: Entry, now: float) -> Leak:
    """Return what a report says about an entry."""
    record = entry.record
    return Leak(
        id=record.id,
        kind=entry.kind,
        zone=record.zone,
        name=record.name,
        tags=tuple(record.tags),
        created=record.created,
        age=now - record.created,
        cost_per_hour=entry.rate * 3600,
        cost=entry.cost(now),
    )
