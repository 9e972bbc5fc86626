"""Targets: what a method of a box switches or asks, and which boxes lead to the same."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from hostler.ports.addresses import canonical

from .registry import BUILT_IN, METHODS
from .settings import BoxTable

_PARTS = ("system", "outlet", "unit", "guest", "uri")
"""The keys by which methods tell apart what is behind one endpoint."""
_OPEN = frozenset({"command", "webhook"})
"""Methods of which nobody knows what else they lead to."""
Parts = tuple[object, ...]


def shared(boxes: Iterable[BoxTable]) -> Iterator[str]:
    """Yield which box has a method, or an address, that leads where one of an earlier box does.

    Boxes that are left alone do not count: one that was replaced may still be in the file.
    """
    used = tuple(box for box in boxes if not box.excluded)
    yield from _methods_of_two(used)
    yield from _addresses_of_two(used)


def _methods_of_two(boxes: Iterable[BoxTable]) -> Iterator[str]:
    owners = defaultdict[str, dict[Parts, str]](dict)
    for box in boxes:
        for name, table in box.methods().items():
            if (target := _target(name, table)) is None:
                continue
            endpoint, parts = target
            known = owners[endpoint]
            first = next((known[one] for one in known if _is_same(one, parts)), box.name)
            known.setdefault(parts, box.name)
            if first != box.name:
                yield (
                    f"boxes: {name} of {box.name} leads where that of {first} does: what one of "
                    "them is told, the other does"
                )


def _is_same(one: Parts, other: Parts) -> bool:
    """Tell whether two lead to the same; who names no part means the only one there is."""
    return all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def _addresses_of_two(boxes: tuple[BoxTable, ...]) -> Iterator[str]:
    owners = dict[str, str]()
    for box in boxes:
        first = owners.setdefault(canonical(box.address), box.name) if box.address else box.name
        if first != box.name:
            yield (
                f"boxes: {box.name} has the address of {first}: what answers there is taken for "
                "either of them"
            )
    for box in boxes:
        itself = {"ssh": box.ssh, "reachability": box.reachability}
        for name, table in ((name, table) for name, table in itself.items() if table is not None):
            other = owners.get(canonical(table.address), box.name)
            mine = canonical(box.address) == canonical(table.address)
            if other != box.name and not mine:
                yield f"boxes: {name} of {box.name} leads to the address of {other}"


def _target(name: str, table: object) -> tuple[str, Parts] | None:
    """Return what a method leads to; None where nobody knows, or its table has a fault."""
    if name not in BUILT_IN or name in _OPEN:
        return None
    method = METHODS[name]()
    if method.check(table):
        return None
    return method.endpoint(table), tuple(getattr(table, part, None) for part in _PARTS)
