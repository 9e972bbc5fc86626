"""Targets: what a method of a box switches or asks, and which boxes lead to the same."""

from collections.abc import Iterable, Iterator

from .registry import BUILT_IN, METHODS
from .settings import BoxTable

_PARTS = ("system", "outlet", "unit", "guest", "uri")
"""The keys by which methods tell apart what is behind one endpoint."""
_OPEN = frozenset({"command", "webhook"})
"""Methods of which nobody knows what else they lead to."""


def shared(boxes: Iterable[BoxTable]) -> Iterator[str]:
    """Yield which box has a method that leads where one of an earlier box does.

    Boxes that are left alone do not count: one that was replaced may still be in the file.
    """
    owners = dict[tuple[object, ...], str]()
    for box in boxes:
        for name, table in () if box.excluded else box.methods().items():
            if (target := _target(name, table)) is None:
                continue
            first = owners.setdefault(target, box.name)
            if first != box.name:
                yield (
                    f"boxes: {name} of {box.name} leads where that of {first} does: what one of "
                    "them is told, the other does"
                )


def _target(name: str, table: object) -> tuple[object, ...] | None:
    """Return what a method leads to; None where nobody knows, or its table has a fault."""
    if name not in BUILT_IN or name in _OPEN:
        return None
    method = METHODS[name]()
    if method.check(table):
        return None
    return method.endpoint(table), *(getattr(table, part, None) for part in _PARTS)
