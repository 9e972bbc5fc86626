"""Present: which times of a record lie in the future, set before the clock jumped back?"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from hostler.domain.model.machine import Known, Machine


def present(machine: Machine, now: datetime) -> Machine:
    """Bring times that lie in the future back to now: the clock jumped back since they were set."""
    if not any(at is not None and at > now for at in _times(machine)):
        return machine
    doubt = machine.doubt
    return replace(
        machine,
        since=min(machine.since, now),
        blind=_no_later(machine.blind, now),
        doubt=replace(doubt, since=min(doubt.since, now)) if doubt else None,
        asked=tuple(
            replace(a, at=min(a.at, now), closed=_no_later(a.closed, now)) for a in machine.asked
        ),
        places=tuple(
            replace(place, known=tuple(_known_by(known, now) for known in place.known))
            for place in machine.places
        ),
    )


def _times(machine: Machine) -> Iterator[datetime | None]:
    yield machine.since
    yield machine.blind
    if machine.doubt is not None:
        yield machine.doubt.since
    for asked in machine.asked:
        yield asked.at
        yield asked.closed
    for place in machine.places:
        for known in place.known:
            yield known.since
            yield known.absent
            yield known.removed


def _known_by(known: Known, now: datetime) -> Known:
    return replace(
        known,
        since=min(known.since, now),
        absent=_no_later(known.absent, now),
        removed=_no_later(known.removed, now),
    )


def _no_later(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)
