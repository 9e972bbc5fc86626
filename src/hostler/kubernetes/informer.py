"""Informer: a cache that follows a kind for ever, whatever becomes of lists and watches.

A list, or the initial events of a stream, gives a version; a watch goes on from there. What was
deleted unseen is noticed by comparing with the next list.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from datetime import timedelta
from typing import Generic, Protocol

import structlog
from msgspec import Struct, field

from hostler.ports.clock import Clock

from .backoff import Backoff, Draw
from .cache import Cache, Change, Index
from .errors import ApiError, Expired, Invalid, Timeout, Unavailable
from .objects import Key, Listing, M, key_of
from .requests import EVERYTHING, Selection, Watching
from .resources import Resource
from .watch import Bookmark, Event, EventKind

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.kubernetes")

Handler = Callable[[Change[M]], None]
"""Learns of a change, in the order of its key; it does not wait, and does not raise."""


class Reader(Protocol):
    """What an informer needs of a client."""

    async def list_all(self, resource: Resource[M], selection: Selection) -> Listing[M]:
        """Return all objects and their version."""
        ...

    def watch(
        self, resource: Resource[M], watching: Watching
    ) -> AsyncGenerator[Event[M] | Bookmark]:
        """Return changes as they come."""
        ...


class Surroundings(Struct, frozen=True, kw_only=True):
    """What an informer is given of the outside: time, chance, and how it waits after failures."""

    clock: Clock
    draw: Draw
    backoff: Backoff = field(default=Backoff())
    timeout: timedelta = timedelta(minutes=5)
    idle: timedelta = timedelta(minutes=2)


class Informer(Generic[M]):
    """Knows all objects of a selection; `run` it in a task of its own.

    `synced` is set when the first whole list is in the cache. The cache is never emptied by a
    failure: it shows what was last seen.
    """

    def __init__(
        self,
        reader: Reader,
        resource: Resource[M],
        surroundings: Surroundings,
        selection: Selection = EVERYTHING,
        indexes: Mapping[str, Index[M]] | None = None,
    ) -> None:
        self.cache = Cache[M](indexes)
        self.handlers: list[Handler[M]] = []
        self.synced = asyncio.Event()
        self._reader, self._resource = reader, resource
        self._around, self._selection = surroundings, selection
        self._version = ""
        self._streams = True
        self._failures = 0
        self._attempt: asyncio.Task[None] | None = None
        self._listed = asyncio.Event()

    def on_change(self, handler: Handler[M]) -> None:
        """Call a handler with every change from now on, and with what is known already."""
        self.handlers.append(handler)
        for item in self.cache:
            handler(Change(key_of(item), None, item))

    def join(self, other: "Informer[M]") -> None:
        """Know what another one knows, of a selection beside its own; nobody has asked this yet."""
        self.cache, self.handlers = other.cache, other.handlers

    async def run(self) -> None:
        """Follow for ever; ends by being cancelled, or by a handler's own error."""
        while True:
            self._attempt = asyncio.get_running_loop().create_task(self._try())
            try:
                await self._attempt
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise

    async def list_anew(self) -> None:
        """Break off what is watched, and return when a list that begins now is in the cache.

        Who was only looking on may be behind without knowing it: a watch whose connection is dead
        is silent for minutes, as one is where nothing happens.
        """
        self._listed.clear()
        self._version = ""
        if self._attempt is not None:
            self._attempt.cancel()
        await self._listed.wait()

    async def _try(self) -> None:
        """Go one round, and wait as long as its end asks for."""
        self._failures += 1  # until a line of a watch shows that it goes on
        least = timedelta(0)
        try:
            await self._round()
        except ApiError as error:
            if isinstance(error, Expired):
                self._version = ""
            least = error.retry_after or least
            self._failed(error)
        around = self._around
        pause = around.backoff.jittered(self._failures, around.draw)
        await around.clock.sleep(max(pause, least))

    async def _round(self) -> None:
        """Start where nothing is known, else go on watching; returns when the watch has ended."""
        if self._version:
            await self._follow(initial=False)
        elif self._streams:
            await self._stream()
        else:
            await self._list()
            await self._follow(initial=False)

    async def _stream(self) -> None:
        """Start by a streaming list, and never again where the server does not have them."""
        try:
            await self._follow(initial=True)
        except (Invalid, Timeout, Unavailable) as error:
            if self._version or (isinstance(error, Unavailable) and error.code != 500):
                raise
            self._streams = False
            log.info("kubernetes.no_streaming_list", kind=self._resource.kind, error=str(error))
            return
        if not self._version:  # it ended without saying that it was whole
            self._streams = False

    async def _list(self) -> None:
        listing = await self._reader.list_all(self._resource, self._selection)
        self._complete(listing.items, listing.version)

    async def _follow(self, *, initial: bool) -> None:
        """Watch; events before the end of a streaming list are collected, and count together."""
        collected: dict[Key, M] | None = {} if initial else None
        events = self._reader.watch(self._resource, self._watching(initial=initial))
        began = self._around.clock.boot()
        async with aclosing(events):
            async for event in events:
                if collected is None:
                    self._take(event)
                    self._failures = 0
                elif self._collect(collected, event):
                    collected = None
        lasted = self._around.clock.boot() - began
        if lasted >= self._around.backoff.longest.total_seconds():
            self._failures = 0

    def _collect(self, collected: dict[Key, M], event: Event[M] | Bookmark) -> bool:
        """Add an initial event; tell whether it was the last, and all is in the cache."""
        if isinstance(event, Bookmark):
            if event.complete:
                self._complete(tuple(collected.values()), event.version)
            return event.complete
        key = key_of(event.item)
        if event.kind is EventKind.DELETED:
            collected.pop(key, None)
        else:
            collected[key] = event.item
        return False

    def _complete(self, items: tuple[M, ...], version: str) -> None:
        for change in self.cache.replace(items, self._selection.namespace):
            self._notify(change)
        self._version = version
        self.synced.set()
        self._listed.set()

    def _take(self, event: Event[M] | Bookmark) -> None:
        if isinstance(event, Bookmark):
            self._version = event.version or self._version
            return
        deleted = event.kind is EventKind.DELETED
        change = self.cache.remove(key_of(event.item)) if deleted else self.cache.put(event.item)
        for each in change:
            self._notify(each)
        self._version = event.item.metadata.resource_version or self._version

    def _notify(self, change: Change[M]) -> None:
        for handler in self.handlers:
            handler(change)

    def _watching(self, *, initial: bool) -> Watching:
        """Return what to watch; informers that began together do not end together."""
        around = self._around
        return Watching(
            selection=self._selection,
            version="" if initial else self._version,
            initial=initial,
            timeout=around.timeout * (1 + around.draw()),
            idle=around.idle,
        )

    def _failed(self, error: ApiError) -> None:
        self._failures = max(1, self._failures)
        log.info(
            "kubernetes.watch_failed",
            kind=self._resource.kind,
            error=str(error),
            failures=self._failures,
        )


class Informers(Generic[M]):
    """Knows all objects of a kind in several selections, of which no two have one in common.

    It is as one informer to those who ask; each selection has lists and a watch of its own.
    """

    def __init__(
        self,
        reader: Reader,
        resource: Resource[M],
        surroundings: Surroundings,
        selections: Iterable[Selection],
        indexes: Mapping[str, Index[M]] | None = None,
    ) -> None:
        self._each = tuple(
            Informer(reader, resource, surroundings, selection, indexes) for selection in selections
        )
        first = self._each[0] if self._each else Informer(reader, resource, surroundings)
        for informer in self._each:
            informer.join(first)
        self.cache, self.on_change = first.cache, first.on_change

    async def synced(self) -> None:
        """Return once the first whole list of each selection is in the cache."""
        for informer in self._each:
            await informer.synced.wait()

    async def list_anew(self) -> None:
        """Return when a new list of each selection is in the cache."""
        async with asyncio.TaskGroup() as group:
            for informer in self._each:
                group.create_task(informer.list_anew())

    async def run(self) -> None:
        """Follow all of them for ever; ends as one informer does."""
        async with asyncio.TaskGroup() as group:
            for informer in self._each:
                group.create_task(informer.run())
