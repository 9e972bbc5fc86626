"""Where resources of one kind are kept: by id, by zone in order of creation, and just deleted."""

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from .record import Record

R = TypeVar("R", bound=Record)

REMEMBERED = 50  # deleted resources of a zone that a lagging list can still show


class Shelf(Generic[R]):
    """The resources of one kind."""

    def __init__(self) -> None:
        self._by_id: dict[str, R] = {}
        self._by_zone: dict[str, dict[str, R]] = {}
        self._deleted: dict[str, deque[R]] = {}

    def put(self, item: R) -> None:
        """Add an item, as the newest of its zone."""
        self._by_id[item.id] = item
        self._by_zone.setdefault(item.zone, {})[item.id] = item

    def drop(self, item: R, now: float) -> None:
        """Remove an item; it is remembered for a while as just deleted."""
        item.ended = now
        self._by_id.pop(item.id, None)
        self._by_zone[item.zone].pop(item.id, None)
        self._deleted.setdefault(item.zone, deque(maxlen=REMEMBERED)).append(item)

    def get(self, item_id: str) -> R | None:
        """Return the item of this id, of any zone."""
        return self._by_id.get(item_id)

    def within(self, zone: str) -> Iterable[R]:
        """Return the items of a zone, the oldest first."""
        return self._by_zone.get(zone, {}).values()

    def deleted_since(self, zone: str, moment: float) -> list[R]:
        """Return what was deleted in a zone after a moment."""
        return [item for item in self._deleted.get(zone, ()) if (item.ended or 0.0) > moment]

    def __iter__(self):
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)
