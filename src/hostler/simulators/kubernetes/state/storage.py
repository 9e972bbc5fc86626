"""Storage: all objects under one revision, and the changes that watches go on from."""

from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct

from .body import Body, metadata_of, with_metadata

FIRST = 100
"""The revision of a new server: what a fresh cluster writes for itself came before."""

Place = tuple[str, str]
"""A namespace, empty for kinds of the whole cluster, and a name."""


class Change(Struct, frozen=True):
    """One change of one object: as it was, if it was, and as it is; or, deleted, as it ended."""

    revision: int
    store: str
    before: Body | None
    item: Body
    deleted: bool = False


def place_of(item: Body) -> Place:
    """Return where an object is."""
    metadata = metadata_of(item)
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


class Storage:
    """Objects by store and place; each change is remembered until `compact` forgets it."""

    def __init__(self, window: int) -> None:
        self.revision = FIRST
        self.compacted = FIRST
        self.listeners: list[Callable[[Change], None]] = []
        self._objects: dict[str, dict[Place, Body]] = {}
        self._changes: deque[Change] = deque()
        self._window = window

    def find(self, store: str, place: Place) -> Body | None:
        """Return an object, or None."""
        return self._objects.get(store, {}).get(place)

    def everything(self, store: str, namespace: str = "") -> list[Body]:
        """Return the objects of a store, of one namespace or of all, in order of their places."""
        found = self._objects.get(store, {})
        chosen = (place for place in found if not namespace or place[0] == namespace)
        return [found[place] for place in sorted(chosen)]

    def stores(self) -> Iterator[str]:
        """Return the names of all stores that ever held something."""
        return iter(tuple(self._objects))

    def put(self, store: str, item: Body) -> Body:
        """Write an object under the next revision; return it with its version."""
        before = self._objects.setdefault(store, {}).get(place_of(item))
        written = self._stamped(item)
        self._objects[store][place_of(written)] = written
        self._record(Change(self.revision, store, before, written))
        return written

    def remove(self, store: str, item: Body) -> Body:
        """Remove an object under the next revision; return how it ended."""
        before = self._objects[store].pop(place_of(item))
        ended = self._stamped(item)
        self._record(Change(self.revision, store, before, ended, deleted=True))
        return ended

    def drop(self, store: str) -> None:
        """Forget a store, once its kind is served no longer."""
        self._objects.pop(store, None)

    def since(self, store: str, revision: int) -> list[Change]:
        """Return the changes of a store after a revision, which must not be compacted."""
        return [
            change
            for change in self._changes
            if change.store == store and change.revision > revision
        ]

    def compact(self, revision: int | None = None) -> None:
        """Forget changes up to a revision, by default all of them."""
        self.compacted = max(self.compacted, self.revision if revision is None else revision)
        while self._changes and self._changes[0].revision <= self.compacted:
            self._changes.popleft()

    def _stamped(self, item: Body) -> Body:
        self.revision += 1
        return with_metadata(item, resourceVersion=str(self.revision))

    def _record(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > self._window:
            self.compact(self._changes[0].revision)
        for listener in tuple(self.listeners):
            listener(change)
