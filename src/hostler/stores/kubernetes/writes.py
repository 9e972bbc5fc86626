"""Writes: the journal's next version, with one more save, or with a checkpoint for its log."""

import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from hostler.ports.store import StoredEvent
from hostler.stores.records.changes import Change, EventPut
from hostler.stores.records.past import Past
from hostler.stores.records.tables import Tables

from .kinds import Content, Entry, Journal, JournalSpec, PartEntry, PartSpec
from .packing import pack

TAIL = 49_152
"""Bytes of packed saves in the journal itself; it is written with every save."""

PART = 900_000
"""Bytes of packed text in a part at most: an object has room for 1.5 MB."""

LOG = 262_144
"""Bytes of log after which a checkpoint is due, where the checkpoint itself is not larger."""

LOGS = 64
"""Parts of log after which a checkpoint is due."""

Name = Callable[[], str]
"""Gives a few random letters."""


def random_letters() -> str:
    """Return letters that nobody else draws."""
    return secrets.token_hex(4)


class Draft(Struct, frozen=True):
    """A next version of a journal, and the parts that must be there before it."""

    base: Journal
    spec: JournalSpec
    parts: tuple[tuple[PartEntry, PartSpec], ...] = ()


@dataclass(slots=True)
class _Parts:
    """Parts in the making, named by the journal's next number."""

    base: Journal
    letters: Name
    made: list[tuple[PartEntry, PartSpec]] = field(default_factory=list[tuple[PartEntry, PartSpec]])

    def add(self, entry: PartEntry, entries: tuple[Entry, ...]) -> None:
        metadata, sequence = self.base.metadata, self.base.spec.sequence + 1
        name = f"{metadata.name}-{sequence:012d}-{self.letters()}"
        size = sum(len(one.data) for one in entries)
        spec = PartSpec(content=entry.content, entries=entries)
        self.made.append((replace(entry, name=name, size=size), spec))


def next_save(
    base: Journal, tables: Tables, changes: Iterable[Change], letters: Name = random_letters
) -> Draft:
    """Return the version with these changes as its next save.

    A save that the journal itself has no room for goes into parts, with the tail before it.
    Raises StoreError for a record that is too large.
    """
    spec = base.spec
    sequence = spec.sequence + 1
    entries = tuple(Entry(sequence=sequence, data=data) for data, _ in pack(changes))
    tail = (*spec.tail, *entries)
    following = _with_counts(replace(spec, sequence=sequence), tables)
    if sum(len(entry.data) for entry in tail) <= TAIL:
        return Draft(base, replace(following, tail=tail))
    parts = _Parts(base, letters)
    for group in _fitting(tail):
        entry = PartEntry(
            name="", content=Content.LOG, first=group[0].sequence, last=group[-1].sequence
        )
        parts.add(entry, group)
    named = (*spec.parts, *(entry for entry, _ in parts.made))
    return Draft(base, replace(following, parts=named, tail=()), tuple(parts.made))


def checkpoint_due(spec: JournalSpec) -> bool:
    """Tell whether what is read at a start is mostly log by now."""
    logs = [part.size for part in spec.parts if part.content is Content.LOG]
    state = sum(part.size for part in spec.parts if part.content is Content.STATE)
    return len(logs) >= LOGS or sum(logs) > max(LOG, state)


def checkpoint(base: Journal, tables: Tables, letters: Name = random_letters) -> Draft:
    """Return the version that has all records in new parts, and no log.

    Parts of the past are written anew only where some of their events were forgotten.
    """
    spec, parts = base.spec, _Parts(base, letters)
    whole = _past(spec, tables.past, parts)
    for data, _ in pack(tables.all_but_past()):
        parts.add(PartEntry(name="", content=Content.STATE), (Entry(data=data),))
    named = (*whole, *(entry for entry, _ in parts.made))
    named = tuple(sorted(named, key=lambda part: (part.content is not Content.PAST, part.first)))
    following = replace(
        spec, sequence=spec.sequence + 1, checkpoint=spec.sequence, parts=named, tail=()
    )
    return Draft(base, _with_counts(following, tables), tuple(parts.made))


def unnamed(before: JournalSpec, after: JournalSpec) -> tuple[str, ...]:
    """Return the parts that the newer version does not name any more."""
    names = {part.name for part in after.parts}
    return tuple(part.name for part in before.parts if part.name not in names)


def is_dead(name: str, spec: JournalSpec) -> bool:
    """Tell whether a part was never named and cannot be any more: its number was another save's."""
    number = name.rsplit("-", 2)[-2]
    named = any(part.name == name for part in spec.parts)
    return not named and number.isdecimal() and int(number) <= spec.sequence


def _past(spec: JournalSpec, past: Past, parts: _Parts) -> tuple[PartEntry, ...]:
    """Return the parts of the past that stay as they are; make parts of all other events."""
    numbers = [entry.number for entry in past]
    whole, begin, entries = list[PartEntry](), 0, list(past)
    for part in spec.parts:
        if part.content is not Content.PAST:
            continue
        first = bisect_left(numbers, part.first)
        after = bisect_right(numbers, part.last)
        if after - first == part.count:
            whole.append(part)
            _add_events(entries[begin:first], parts)
            begin = after
    _add_events(entries[begin:], parts)
    return tuple(whole)


def _add_events(entries: Sequence[StoredEvent], parts: _Parts) -> None:
    """Make parts of a run of events."""
    events = (EventPut(entry.number, entry.event, entry.image) for entry in entries)
    begin = 0
    for data, count in pack(events):
        first, last = entries[begin], entries[begin + count - 1]
        entry = PartEntry(
            name="", content=Content.PAST, first=first.number, last=last.number, count=count
        )
        parts.add(entry, (Entry(data=data),))
        begin += count


def _fitting(entries: tuple[Entry, ...]) -> Iterator[tuple[Entry, ...]]:
    """Return entries in groups of which each fits a part."""
    group, size = list[Entry](), 0
    for entry in entries:
        if group and size + len(entry.data) > PART:
            yield tuple(group)
            group, size = [], 0
        group.append(entry)
        size += len(entry.data)
    if group:
        yield tuple(group)


def _with_counts(spec: JournalSpec, tables: Tables) -> JournalSpec:
    """Return the version with what `kubectl get` shows of it."""
    machines = sum(len(fleet) for fleet in tables.living.values())
    engines = {lease.holder for lease in tables.leases.values() if lease.holder}
    return replace(spec, machines=machines, engines=tuple(sorted(engines)))
