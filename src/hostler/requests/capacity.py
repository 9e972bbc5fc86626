"""Capacity: how many more machines may a fleet be asked for now, and what is in the way of more?"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from hostler.domain.fleets.requested import room
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.observation.blockers import paused


class Occupancy(Struct, frozen=True, kw_only=True):
    """What a fleet holds at the moment: its records, and how many more were requested by id.

    `blocker` says why nothing may be created here at all, if so.
    """

    fleet: Fleet
    row: FleetRow
    machines: Sequence[Machine]
    requested: int
    blocker: str
    now: datetime


class Admission(Struct, frozen=True):
    """How many are accepted; `why` says what is in the way of the others, where there are any."""

    count: int
    why: str = ""


def admit(asked: int, occupancy: Occupancy, *, whole: bool = False) -> Admission:
    """Return how many of the machines asked for are accepted; those are begun as soon as possible.

    An offer that failed is tried by one machine alone, and one that waits for stock by none: so
    whoever asks again and again does not pile up machines that cannot begin. Whoever asks for the
    `whole` or nothing gets it as soon as one of them may try: it would be refused for ever else,
    and the others wait for that one.
    """
    fleet, row, now = occupancy.fleet, occupancy.row, occupancy.now
    if why := paused(row, now) or occupancy.blocker:
        return Admission(0, why)
    left = room(fleet, row, occupancy.machines) - occupancy.requested
    if left < asked:
        why = f"the fleet has at most {fleet.most(row.desired(fleet))} machines"
    waiting = sum(m.phase is Phase.PENDING for m in occupancy.machines) + occupancy.requested
    creations = creations_left(fleet, row, now) - waiting
    if creations < min(left, asked):
        left, why = creations, "the limit on creations in an hour is reached"
    offers, failures = _open_offers(occupancy)
    tries = None if offers is None else offers - waiting
    if tries is not None and tries < min(left, asked) and not (whole and tries > 0):
        left, why = tries, failures
    return Admission(max(0, min(asked, left)), why)


def _open_offers(occupancy: Occupancy) -> tuple[int | None, str]:
    """Return how many may begin by what is remembered of the offers; None: any number."""
    fleet, row, now = occupancy.fleet, occupancy.row, occupancy.now
    setbacks = [row.setback(offer) for offer in fleet.offers]
    if any(setback is None for setback in setbacks):
        return None, ""
    failures = "; ".join(f"{s.offer}: {s.why} until {s.until:%H:%M:%S} UTC" for s in setbacks if s)
    begun = {m.offer for m in occupancy.machines if m.phase is Phase.STARTING}
    open_ = [s for s in setbacks if s and now >= s.until and s.offer not in begun]
    return min(1, len(open_)), f"every offer failed lately ({failures})"
