"""An API server in memory: what a client and its informers see, in simulated time.

It has what these tests need: versions, conflicts, merge patches, finalizers, deletion, watches. Its
answers come after an await, so that a crash can come there: `crash_at` counts down to it.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from hostler.kubernetes.errors import ApiError, Conflict, NotFound
from hostler.kubernetes.objects import Key, Listing, M
from hostler.kubernetes.requests import Patch, Selection, Watching
from hostler.kubernetes.resources import Resource
from hostler.kubernetes.watch import Bookmark, Event, EventKind
from hostler.ports.clock import Clock

Raw = dict[str, Any]


class Crashed(BaseException):
    """The process died here."""


class FakeApi:
    """Objects by kind and key, as raw documents.

    `refusals` are what readings of a kind end with, `unread` what lists of a namespace do.
    `empty_lists` are the lists of a kind that lack everything: those of which the number, counted
    from 0, is in it. `namespace` is where others act.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock, self.version = clock, 0
        self.objects = dict[str, dict[Key, Raw]]()
        self.watchers = dict[str, list[asyncio.Queue[tuple[EventKind, Raw]]]]()
        self.writes = list[tuple[str, Key, object]]()
        self.crash_at: int | None = None
        self.refusals = dict[str, ApiError]()
        self.unread = dict[str, ApiError]()
        self.empty_lists = dict[str, Callable[[int], bool]]()
        self.listed = Counter[str]()
        self.on_get: Callable[[str, Key], None] | None = None
        self.namespace = "fleet"

    # ------------------------------------------------------------ what a client does

    async def get(self, resource: Resource[M], key: Key) -> M:
        await self._answer()
        self._refuse(resource.kind)
        found = self._typed(resource, self._find(resource.kind, key))
        if self.on_get is not None:
            self.on_get(resource.kind, key)
        return found

    async def patch(
        self, resource: Resource[M], key: Key, patch: Patch, subresource: str = ""
    ) -> M:
        await self._answer()
        raw = self._find(resource.kind, key)
        body: Raw = msgspec.json.decode(msgspec.json.encode(patch.body))
        expected = body.get("metadata", {}).pop("resourceVersion", None)
        if expected is not None and expected != raw["metadata"]["resourceVersion"]:
            raise Conflict(f"{key}: somebody wrote first")
        allowed = {"status"} if subresource else {"metadata", "spec"}
        merged = _merge(raw, {name: part for name, part in body.items() if name in allowed})
        self.writes.append((resource.kind, key, body))
        changed = self._store(resource.kind, key, merged)
        await self._answer()  # the answer may be lost after the effect
        return self._typed(resource, changed)

    async def list_all(self, resource: Resource[M], selection: Selection) -> Listing[M]:
        await asyncio.sleep(0)
        self._refuse(resource.kind)
        if selection.namespace in self.unread:
            raise self.unread[selection.namespace]
        number = self.listed[resource.kind]
        self.listed[resource.kind] += 1
        if self.empty_lists.get(resource.kind, lambda _: False)(number):
            return Listing((), str(self.version))
        found = self.objects.get(resource.kind, {}).values()
        items = tuple(self._typed(resource, raw) for raw in found if _is_in(selection, raw))
        return Listing(items, str(self.version))

    async def watch(
        self, resource: Resource[M], watching: Watching
    ) -> AsyncGenerator[Event[M] | Bookmark]:
        events = asyncio.Queue[tuple[EventKind, Raw]]()
        for raw in self.objects.get(resource.kind, {}).values():
            events.put_nowait((EventKind.ADDED, raw))
        self.watchers.setdefault(resource.kind, []).append(events)
        count = events.qsize()
        for _ in range(count):
            kind, raw = events.get_nowait()
            if _is_in(watching.selection, raw):
                yield Event(kind, self._typed(resource, raw))
        yield Bookmark(str(self.version), complete=True)
        while True:
            kind, raw = await events.get()
            await asyncio.sleep(0.01)
            if _is_in(watching.selection, raw):
                yield Event(kind, self._typed(resource, raw))

    # ------------------------------------------------------------ what others do

    def put(self, kind: str, raw: Mapping[str, Any]) -> Raw:
        """Create an object, as anybody does."""
        name, namespace = raw["metadata"]["name"], raw["metadata"].get("namespace", self.namespace)
        key = Key(namespace, name)
        if key in self.objects.get(kind, {}):
            raise ValueError(f"{kind} {key} is there already")
        metadata = {
            "uid": f"uid-{kind}-{name}-{self.version}",
            "creationTimestamp": self._now(),
            "namespace": namespace,
            **raw["metadata"],
        }
        return self._store(kind, key, {**raw, "metadata": metadata})

    def change(self, kind: str, name: str, **parts: object) -> Raw:
        """Merge into an object, as anybody does."""
        key = Key(self.namespace, name)
        return self._store(kind, key, _merge(self._find(kind, key), parts))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object; finalizers put it off."""
        key = Key(self.namespace, name)
        raw = self._find(kind, key)
        deletion = raw["metadata"].get("deletionTimestamp") or self._now()
        self._store(kind, key, _merge(raw, {"metadata": {"deletionTimestamp": deletion}}))

    def vanish(self, kind: str, name: str) -> Raw:
        """Remove an object whatever finalizers it has; return what it was."""
        raw = self.objects[kind].pop(Key(self.namespace, name))
        self.version += 1
        self._notify(kind, EventKind.DELETED, raw)
        return raw

    def raw(self, kind: str, name: str) -> Raw | None:
        """Return an object as it is, or None."""
        return self.objects.get(kind, {}).get(Key(self.namespace, name))

    def names(self, kind: str) -> list[str]:
        """Return the names of all objects of a kind."""
        return sorted(key.name for key in self.objects.get(kind, {}))

    # ------------------------------------------------------------ within

    async def _answer(self) -> None:
        await asyncio.sleep(0.005)
        if self.crash_at is not None:
            self.crash_at -= 1
            if self.crash_at == 0:
                raise Crashed

    def _refuse(self, kind: str) -> None:
        if kind in self.refusals:
            raise self.refusals[kind]

    def _now(self) -> str:
        now: datetime = self.clock.now()
        return f"{now:%Y-%m-%dT%H:%M:%SZ}"

    def _find(self, kind: str, key: Key) -> Raw:
        try:
            return self.objects[kind][key]
        except KeyError:
            raise NotFound(f"{kind} {key}", code=404) from None

    def _store(self, kind: str, key: Key, raw: Raw) -> Raw:
        of_kind = self.objects.setdefault(kind, {})
        before = of_kind.get(key)
        if before is not None and before == raw:
            return raw
        self.version += 1
        raw = _merge(raw, {"metadata": {"resourceVersion": str(self.version)}})
        metadata = raw["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            of_kind.pop(key, None)
            self._notify(kind, EventKind.DELETED, raw)
            return raw
        of_kind[key] = raw
        self._notify(kind, EventKind.ADDED if before is None else EventKind.MODIFIED, raw)
        return raw

    def _notify(self, kind: str, event: EventKind, raw: Raw) -> None:
        for watcher in self.watchers.get(kind, ()):
            watcher.put_nowait((event, raw))

    def _typed(self, resource: Resource[M], raw: Raw) -> M:
        return msgspec.json.decode(msgspec.json.encode(raw), type=resource.model)


def _is_in(selection: Selection, raw: Raw) -> bool:
    return selection.namespace in {"", raw["metadata"].get("namespace", "")}


def _merge(old: Raw, changes: Mapping[str, Any]) -> Raw:
    merged = dict(old)
    for name, change in changes.items():
        if change is None:
            merged.pop(name, None)
        elif isinstance(change, dict):
            merged[name] = _merge(merged.get(name, {}), cast("Raw", change))
        else:
            merged[name] = change
    return merged
