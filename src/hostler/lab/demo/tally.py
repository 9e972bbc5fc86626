"""Tally: what came of a demo, counted from the store's events and from the world itself. Pure."""

from collections.abc import Iterable

from msgspec import Struct, field

from hostler.domain.model.commands import Event
from hostler.domain.model.phases import Phase


class Tally(Struct, frozen=True, kw_only=True):
    """What happened. `healed` are losses made good: by another machine, or by its recovery."""

    wanted: int
    ready: int
    made: int
    healed: int
    faults: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    leaks: int = 0
    cost: float = 0.0

    def as_json(self) -> dict[str, object]:
        """Return it as one object."""
        return {
            "wanted": self.wanted,
            "ready": self.ready,
            "made": self.made,
            "healed": self.healed,
            "faults": dict(sorted(self.faults.items())),
            "calls": self.calls,
            "leaks": self.leaks,
            "cost": round(self.cost, 6),
        }


def count_made(events: Iterable[Event]) -> int:
    """Return how many machines were recorded."""
    return sum(event.kind == "made" for event in events)


def count_healed(events: Iterable[Event], wanted: int, ready: int) -> int:
    """Return how many failed machines were made good, when `ready` of `wanted` stand at the end."""
    failed = {event.machine for event in events if _failed(event)}
    return max(0, len(failed) - max(0, wanted - ready))


def _failed(event: Event) -> bool:
    way = event.detail.partition(":")[0]
    return event.kind == "moved" and way.endswith(f">{Phase.FAILED}")
