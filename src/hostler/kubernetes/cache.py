"""Cache: the objects that an informer knows, with indexes, and what changes as they do. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic

from msgspec import Struct

from .objects import Key, M, M_co, key_of

Index = Callable[[M], Iterable[str]]
"""Gives the values under which an object is found."""


class Change(Struct, Generic[M_co], frozen=True):
    """What became of one key: `old` is None where it is new, `new` where it is deleted."""

    key: Key
    old: M_co | None
    new: M_co | None


class Cache(Generic[M]):
    """Objects by key; versions are compared for equality alone."""

    def __init__(self, indexes: Mapping[str, Index[M]] | None = None) -> None:
        self._items: dict[Key, M] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[str, dict[Key, None]]] = {name: {} for name in self._indexes}

    def get(self, key: Key) -> M | None:
        """Return an object as it was last seen."""
        return self._items.get(key)

    def find(self, index: str, value: str) -> tuple[M, ...]:
        """Return the objects with this value in an index; KeyError where there is no such index."""
        return tuple(self._items[key] for key in self._found[index].get(value, ()))

    def __iter__(self) -> Iterator[M]:
        """Return all objects, as they are now."""
        return iter(tuple(self._items.values()))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._items)

    def put(self, item: M) -> Iterator[Change[M]]:
        """Know an object; nothing changes where it is known in this version.

        Another uid under the same name is another object: the old one was deleted, unseen.
        """
        key = key_of(item)
        old = self._items.get(key)
        if old is not None and old.metadata.uid != item.metadata.uid:
            yield from self.remove(key)
            old = None
        elif old is not None and _same_version(old, item):
            return
        self._forget(key)
        self._items[key] = item
        for name, values in self._values(item):
            for value in values:
                self._found[name].setdefault(value, {})[key] = None
        yield Change(key, old, item)

    def remove(self, key: Key) -> Iterator[Change[M]]:
        """Forget an object; nothing changes where there is none."""
        old = self._forget(key)
        if old is not None:
            yield Change(key, old, None)

    def replace(self, items: Iterable[M], namespace: str = "") -> Iterator[Change[M]]:
        """Know these and no others, in a namespace or everywhere: deletions are what is missing."""
        present = {key_of(item): item for item in items}
        concerned = (key for key in self._items if namespace in {"", key.namespace})
        for key in [key for key in concerned if key not in present]:
            yield from self.remove(key)
        for item in present.values():
            yield from self.put(item)

    def _forget(self, key: Key) -> M | None:
        old = self._items.pop(key, None)
        if old is not None:
            for name, values in self._values(old):
                for value in values:
                    keys = self._found[name].get(value, {})
                    keys.pop(key, None)
                    if not keys:
                        self._found[name].pop(value, None)
        return old

    def _values(self, item: M) -> Iterator[tuple[str, frozenset[str]]]:
        for name, index in self._indexes.items():
            yield name, frozenset(index(item))


def _same_version(old: M, new: M) -> bool:
    version = new.metadata.resource_version
    return bool(version) and old.metadata.resource_version == version
