"""Batches: what is asked at the same time is done by one write of the journal, or by one read.

Whoever asks and finds nobody at work does the work of all who wait. No task of its own is needed,
and one who is cancelled in the middle leaves the batch to the next one, who finds out what became
of it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

import structlog
from msgspec import Struct

from hostler.domain.errors import StoreError, StoreLost, StoreMissing
from hostler.kubernetes.backoff import Backoff, Draw
from hostler.kubernetes.errors import ApiError
from hostler.ports.clock import Clock
from hostler.stores.records.changes import CommitPut
from hostler.stores.records.rules import Rules

from .faults import as_store_error, is_passing
from .kinds import Journal
from .objects import Objects
from .replica import Replica
from .writes import Draft, checkpoint, checkpoint_due, is_dead, next_save, unnamed

T = TypeVar("T")

PATIENCE = timedelta(seconds=10)
"""How long a save or a read is tried while the API server does not answer."""

GATHER = timedelta(milliseconds=80)
"""How long a save waits for others, where some came together last: each costs the API a write."""

EVENTS = 20_000
"""How many events there are before the oldest are forgotten, however long ago they were."""

TRIM = 2_000
"""How many of them go at once."""

WRITERS = 32
"""Of how many writers the journal knows the newest save: as many as may be in doubt at once."""

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.store")


class Writing(Struct, frozen=True, kw_only=True):
    """Who writes: a name that belongs to this start of this process, and its time and chance.

    `installation` is that of the journal if it is made; None where it must be there. Who is only
    `reading` makes none: without one there are no records.
    """

    writer: str
    installation: str | None
    clock: Clock
    draw: Draw
    reading: bool = False
    patience: timedelta = PATIENCE


@dataclass(slots=True, eq=False)
class _Ask(Generic[T]):
    """What somebody asked, and its answer."""

    work: Callable[[Rules], T]
    writes: bool
    values: list[T] = field(default_factory=list[T])
    error: StoreError | None = None
    settled: bool = False
    left: bool = False
    """Whether nobody waits for the answer any more."""

    def run(self, rules: Rules) -> None:
        """Find the answer; it is given once the batch is settled."""
        self.values, self.error = [], None
        try:
            self.values.append(self.work(rules))
        except StoreError as error:
            self.error = error

    def answer(self) -> T:
        """Return the answer, or raise it."""
        if self.error is not None:
            raise self.error
        return self.values[0]


@dataclass(slots=True)
class _Batch:
    """Asks that are done together. `draft` is what is being written; `sent` if it ever was."""

    asks: tuple[_Ask[object], ...]
    draft: Draft | None = None
    number: int = 0
    sent: bool = False

    @property
    def writes(self) -> bool:
        """Whether anybody in it may change something."""
        return any(ask.writes for ask in self.asks)


class Batches:
    """Does what is asked of the records, each against the newest version of the journal."""

    def __init__(self, objects: Objects, writing: Writing) -> None:
        self._objects, self._writing = objects, writing
        self._replica = Replica(objects, writing.installation or "")
        self._backoff = Backoff(first=timedelta(milliseconds=50), longest=timedelta(seconds=2))
        self._waiting = list[_Ask[object]]()
        self._batch: _Batch | None = None
        self._lock = asyncio.Lock()
        self._number = 0
        self._alone = 0
        self._crowded = False
        self._due: float | None = None
        self._swept = False
        self._full = EVENTS + TRIM

    @property
    def foreign(self) -> int:
        """How often saves of others were found."""
        return self._replica.foreign

    @property
    def version(self) -> str:
        """The version of the journal that the records are of; empty before the first."""
        head = self._replica.head
        return head.metadata.resource_version if head is not None else ""

    async def read(self, work: Callable[[Rules], T]) -> T:
        """Return what the records have, as of some time between call and answer."""
        return await self._ask(_Ask(work, writes=False))

    async def write(self, work: Callable[[Rules], T]) -> T:
        """Change the records by their rules; it is durable when this returns."""
        return await self._ask(_Ask(work, writes=True))

    async def _ask(self, ask: _Ask[T]) -> T:
        self._waiting.append(ask)  # type: ignore[arg-type] - the answer is read by the asker alone
        try:
            if ask.writes and self._crowded:
                await self._gather()
            async with self._lock:
                while not ask.settled:
                    await self._serve(saves=ask.writes)
        finally:
            ask.left = not ask.settled
        return ask.answer()

    async def _gather(self) -> None:
        """Wait as long as the first of those who save together; who only reads passes by."""
        clock = self._writing.clock
        if self._due is None:
            self._due = clock.boot() + GATHER.total_seconds()
        await clock.sleep(timedelta(seconds=max(0.0, self._due - clock.boot())))

    async def _serve(self, *, saves: bool) -> None:
        """Do what the last one left, else a batch of those who wait."""
        if self._batch is None:
            self._batch = _Batch(tuple(ask for ask in self._taken(saves=saves) if not ask.left))
        await self._complete(self._batch)
        self._batch = None
        await self._tidy()

    def _taken(self, *, saves: bool) -> list[_Ask[object]]:
        """Take those who wait: who only reads leaves saves that wait for more of them."""
        waiting = self._waiting
        if self._alone:
            self._alone -= 1
            self._waiting = waiting[1:]
            return waiting[:1]
        if not saves and self._due is not None and self._due > self._writing.clock.boot():
            self._waiting = [ask for ask in waiting if ask.writes]
            return [ask for ask in waiting if not ask.writes]
        self._waiting, self._due = [], None
        if writes := sum(ask.writes for ask in waiting):
            self._crowded = writes > 1
        return waiting

    async def _complete(self, batch: _Batch) -> None:
        """Try until everybody in the batch has an answer."""
        clock, failures = self._writing.clock, 0
        until = clock.boot() + self._writing.patience.total_seconds()
        while True:
            try:
                await self._attempt(batch)
            except StoreError as error:
                self._abandon(batch, error)
            except ApiError as error:
                if not is_passing(error) or clock.boot() >= until:
                    self._abandon(batch, as_store_error(str(self._objects), error))
                    return
                failures += 1
                await clock.sleep(self._backoff.jittered(failures, self._writing.draw))
                continue
            return

    async def _attempt(self, batch: _Batch) -> None:
        """Go on with a batch until it is settled, or an error comes."""
        while True:
            if batch.draft is None and await self._prepared(batch):
                return
            if batch.draft is None:
                continue
            batch.sent = True
            written = await self._written(batch.draft)
            if written is not None:
                self._replica.rules.settle()
                self._replica.head = written
                _settle(batch)
                return
            self._replica.rules.undo()
            batch.draft = None

    async def _prepared(self, batch: _Batch) -> bool:
        """Find the answers; True where they stand without a write, else there may be a draft."""
        replica = self._replica
        if batch.sent or replica.head is None or not batch.writes:
            await self._refresh()
        if batch.sent and replica.tables.commits.get(self._writing.writer, 0) >= batch.number:
            _settle(batch)  # it was written, only nobody heard of it
            return True
        batch.sent = False
        head = replica.head
        changed = self._run(batch)
        if changed:
            return False
        if batch.writes:
            await self._refresh()
        if replica.head is not head:
            return False  # refused, perhaps, by what is not so any more
        _settle(batch)
        return True

    def _run(self, batch: _Batch) -> bool:
        """Ask everybody's question of the records; tell whether they changed, and draft that."""
        rules, writing = self._replica.rules, self._writing
        for ask in batch.asks:
            if not ask.left:
                ask.run(rules)
        head = self._replica.head
        if not rules.made() or head is None:
            return False
        self._number += 1
        batch.number = self._number
        rules.change(CommitPut(writing.writer, batch.number))
        if len(rules.tables.commits) > WRITERS:
            rules.change(CommitPut(next(iter(rules.tables.commits)), None))
        try:
            batch.draft = next_save(head, rules.tables, rules.made())
        except StoreError:
            rules.undo()
            if len(batch.asks) == 1:
                raise
            self._separate(batch)
            return self._run(batch)
        return True

    def _separate(self, batch: _Batch) -> None:
        """Let each of a batch be alone: one of them is too large, and the others can be saved."""
        self._waiting[:0] = batch.asks[1:]
        self._alone += len(batch.asks) - 1
        batch.asks = batch.asks[:1]

    def _abandon(self, batch: _Batch, error: StoreError) -> None:
        """Answer everybody with an error; what was sent may be found written later, whole."""
        self._replica.rules.undo()
        for ask in batch.asks:
            ask.error = error
        _settle(batch)

    async def _written(self, draft: Draft) -> Journal | None:
        for entry, spec in draft.parts:
            await self._objects.add(draft.base, entry, spec)
        return await self._objects.replace(draft.base, draft.spec)

    async def _refresh(self) -> None:
        """Follow the newest version of the journal, which is made where there is none."""
        while True:
            head = await self._objects.journal()
            if head is None and self._writing.reading and self._replica.head is None:
                return
            head = head or await self._made()
            if head is not None and await self._replica.follow(head):
                return

    async def _made(self) -> Journal | None:
        if self._replica.head is not None:
            raise StoreLost(
                f"{self._objects} was deleted while hostler had it open; nothing more is written. "
                "Put it back, with its parts, from a backup of the cluster, and start hostler again"
            )
        if self._writing.installation is None:
            raise StoreMissing(f"there is no {self._objects} yet: an engine makes it")
        return await self._objects.make(self._writing.installation)

    # ------------------------------------------------------------ checkpoints

    async def _tidy(self) -> None:
        """Trim the past and write a checkpoint where that is due; else it is for the next save."""
        if len(self._replica.tables.past) >= self._full:
            trim = _Ask[object](lambda rules: rules.trim(EVENTS, TRIM), writes=True)
            self._batch = _Batch((trim,))
            await self._complete(self._batch)
            self._batch = None
            self._full = max(len(self._replica.tables.past), EVENTS) + TRIM
        head = self._replica.head
        if head is None or not checkpoint_due(head.spec):
            return
        try:
            await self._checkpoint(head)
        except (ApiError, StoreError) as error:
            log.info("store.checkpoint_failed", journal=str(self._objects), error=str(error))

    async def _checkpoint(self, head: Journal) -> None:
        draft = checkpoint(head, self._replica.tables)
        written = await self._written(draft)
        if written is None:
            return
        self._replica.head = written
        for name in unnamed(head.spec, written.spec):
            await self._objects.remove(name)
        if not self._swept:
            await self._sweep(written)
            self._swept = True

    async def _sweep(self, head: Journal) -> None:
        """Delete parts that were written for versions that never came about."""
        for name in await self._objects.part_names():
            if is_dead(name, head.spec):
                await self._objects.remove(name)


def _settle(batch: _Batch) -> None:
    for ask in batch.asks:
        ask.settled = True
