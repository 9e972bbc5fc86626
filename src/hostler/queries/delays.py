"""Delays: what keeps a machine for a while that is to be deleted, and until when."""

from datetime import datetime

from msgspec import Struct

from hostler.domain.model.fleet import Fleet, FleetRow, destructions_left, next_room
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.observation.blockers import recorded_protection

from .wording import clock_time, until

_STAYS = frozenset({Phase.READY, Phase.STANDBY, Phase.FAILED})
"""The phases in which a machine that is to be deleted may be kept."""


class Delay(Struct, frozen=True, order=True):
    """Until when a deletion waits, and for the end of what."""

    until: datetime
    what: str


def deletion_delay(machine: Machine, row: FleetRow | None, now: datetime) -> Delay | None:
    """Return what the deletion of a machine waits for; None where it does not wait.

    Of a protection and a pause it is what ends last. Without the fleet's `row` no pause is known.
    """
    if machine.deletion is None or machine.phase not in _STAYS:
        return None
    protection, pause = machine.protection, row.pause if row is not None else None
    found = list[Delay]()
    if protection is not None and machine.is_protected(now):
        found.append(Delay(protection.until, "the end of its protection"))
    if pause is not None and now < pause.until:
        found.append(Delay(pause.until, "the end of its fleet's pause"))
    return max(found, default=None)


def left_alone(machine: Machine, row: FleetRow | None, now: datetime) -> str:
    """Return by whom a machine is left as it is, until when, and what is then; empty: by nobody."""
    protection, delay = machine.protection, deletion_delay(machine, row, now)
    if delay is not None and (protection is None or delay.until > protection.until):
        return f"deleted after {delay.what}, {until(delay.until, now)}"
    if protection is None or not machine.is_protected(now):
        return ""
    then = "; deleted then" if machine.deletion is not None else ""
    return f"protected by {protection.actor} until {clock_time(protection.until, now)}{then}"


def failed_delay(machine: Machine, fleet: Fleet, row: FleetRow, now: datetime) -> str:
    """Return what keeps a machine that failed after its time as evidence; empty: nothing."""
    if machine.phase is not Phase.FAILED or machine.health.was_ready is None:
        return ""
    if machine.deletion is None and now < machine.since + fleet.timers.keep_failed:
        return ""
    if held := recorded_protection(machine, row, fleet, now):
        return f"not deleted: {held}"
    if machine.deletion is not None or destructions_left(fleet, row, now):
        return ""
    return f"deleted when the cap has room, {until(next_room(fleet, row, now), now)}"
