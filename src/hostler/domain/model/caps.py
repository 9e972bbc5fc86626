"""Caps: how much may be destroyed or made in a time, counted durably on the fleet's row."""

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
    in_window = _frees(row.destructions, now, caps.share_window, _share(fleet, row))
    return max(in_window, _frees(row.destructions, now, _HOUR, caps.per_hour))


def _frees(times: tuple[datetime, ...], now: datetime, window: timedelta, most: int) -> datetime:
    """Return from when on fewer than so many of these times lie in the window."""
    late = sorted(recent(times, now, window))
    return now if len(late) < most else late[len(late) - most] + window


def creations_left(fleet: Fleet, row: FleetRow, now: datetime) -> int:
    """Return how many machines may still be made in this hour, never below zero."""
    most = fleet.creates_per_hour(row.wished(fleet))
    return max(0, most - len(recent(row.creations, now, _HOUR)))


def next_creation(fleet: Fleet, row: FleetRow, now: datetime) -> datetime:
    """Return from when on a creation may be tried once more, seen from now.

    Half of the bound may be used up at once; the other half is spread over the hour, so that an
    outage that comes early in an hour does not keep the fleet from trying for the rest of it.
    """
    most = fleet.creates_per_hour(row.wished(fleet))
    times = sorted(min(at, now) for at in recent(row.creations, now, _HOUR))
    at_once = most // 2
    if len(times) < at_once:
        return now
    spread = times[-1] + _HOUR / (most - at_once) if times else now
    return max(now, spread, _frees(row.creations, now, _HOUR, most))


def in_wave(fleet: Fleet, row: FleetRow, doubted: int, now: datetime) -> bool:
    """Tell whether so many are lost at once that none is believed without its own proof."""
    lost = doubted + len(recent(row.losses, now, fleet.timers.wave_window))
    return lost > max(2, row.wished(fleet) * 0.2)
