"""Losses: what a person is told of machines that observations lack, or show down, before proof."""

from collections import Counter
from collections.abc import Iterable

from hostler.domain.model.fleet import FleetRow, in_wave, recent
from hostler.domain.model.machine import Doubt, Machine
from hostler.domain.model.phases import Reason
from hostler.domain.model.snapshot import Snapshot

_MISSING = frozenset({str(Reason.VANISHED), str(Reason.RESOURCE_VANISHED)})


def condition(machines: Iterable[Machine], row: FleetRow, snapshot: Snapshot) -> str:
    """Return what holds of a fleet that seems to lose many at once; empty where it does not.

    Those whose loss is proved already count too, as long as others are in doubt.
    """
    doubts = doubts_of(machines)
    if not doubts or not in_wave(snapshot.fleet, row, len(doubts), snapshot.now):
        return ""
    lost = len(recent(row.losses, snapshot.now, snapshot.fleet.timers.wave_window))
    return f"{in_words(doubts, lost)}: each is lost once it was asked for by itself"


def doubts_of(machines: Iterable[Machine]) -> tuple[Doubt, ...]:
    """Return the losses that are not believed yet."""
    return tuple([one.health.doubt for one in machines if one.health.doubt is not None])


def in_words(doubts: tuple[Doubt, ...], lost: int = 0) -> str:
    """Return how many are not seen, or not seen well, and since when; `lost` are counted in."""
    counts = Counter("not seen" if doubt.what in _MISSING else "not up" for doubt in doubts)
    counts[max(counts, key=counts.__getitem__)] += lost
    since = min(doubt.since for doubt in doubts)
    words = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    return f"{words} since {since:%H:%M:%S} UTC"
