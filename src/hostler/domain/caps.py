"""Caps: how much of what nobody asked for may be destroyed, counted durably on the fleet's row."""

from datetime import datetime, timedelta

from .fleet import Fleet, FleetRow, recent

_HOUR = timedelta(hours=1)
KEPT = timedelta(hours=1)
"""How long the row remembers times: the longest window of any cap."""


def destructions_left(fleet: Fleet, row: FleetRow, now: datetime) -> int:
    """Return how many machines or suspects may be destroyed now, never below zero."""
    caps, share = fleet.caps, _share(fleet, row)
    in_window = len(recent(row.destructions, now, caps.share_window))
    in_hour = len(recent(row.destructions, now, _HOUR))
    return max(0, min(share - in_window, caps.per_hour - in_hour, caps.per_sweep))


def _share(fleet: Fleet, row: FleetRow) -> int:
    """Return how many are the share: of the size; where that falls with what is lost, of the most.

    A group of nine in which seven failed would else have a size of two.
    """
    size = row.wished(fleet)
    return max(1, int((size if fleet.renews else fleet.most(size)) * fleet.caps.share))


def next_room(fleet: Fleet, row: FleetRow, now: datetime) -> datetime:
    """Return when the next destruction may be allowed, seen from now."""
    caps = fleet.caps
    in_window = _frees(row, now, caps.share_window, _share(fleet, row))
    return max(in_window, _frees(row, now, _HOUR, caps.per_hour))


def _frees(row: FleetRow, now: datetime, window: timedelta, most: int) -> datetime:
    """Return from when on fewer than so many destructions lie in the window."""
    times = sorted(recent(row.destructions, now, window))
    return now if len(times) < most else times[len(times) - most] + window


def creations_left(fleet: Fleet, row: FleetRow, now: datetime) -> int:
    """Return how many machines may still be made in this hour, never below zero."""
    most = fleet.creates_per_hour(row.wished(fleet))
    return max(0, most - len(recent(row.creations, now, _HOUR)))


def in_wave(fleet: Fleet, row: FleetRow, doubted: int, now: datetime) -> bool:
    """Tell whether so many are lost at once that none is believed without its own proof."""
    lost = doubted + len(recent(row.losses, now, fleet.timers.wave_window))
    return lost > max(2, row.wished(fleet) * 0.2)
