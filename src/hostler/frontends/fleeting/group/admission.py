"""Admission: how many of the instances that a runner asks for are accepted now, and why no more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hostler.domain.fleets.requested import room
from hostler.domain.fleets.requests import paused
from hostler.domain.model.caps import creations_left
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a group at the moment: its records, what is named and not on record yet.

    `world` says why nothing may be created here at all, if so.
    """

    fleet: Fleet
    row: FleetRow
    machines: Sequence[Machine]
    named: int
    world: str
    now: datetime


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many are accepted; `why` says what keeps the others out, where there are any."""

    count: int
    why: str = ""


def admit(asked: int, standing: Standing) -> Admitted:
    """Return how many of those asked for are accepted: what is accepted is begun as soon as may be.

    An offer that failed is tried by one machine alone, and one that waits for stock by none: so a
    runner that asks again and again gets no pile of instances that cannot begin.
    """
    fleet, row, now = standing.fleet, standing.row, standing.now
    if why := paused(row, now) or standing.world:
        return Admitted(0, why)
    left = room(fleet, row, standing.machines) - standing.named
    if left < asked:
        why = f"the group has at most {fleet.most(row.wished(fleet))} instances (max_size)"
    waiting = sum(m.phase is Phase.WANTED for m in standing.machines) + standing.named
    creations = creations_left(fleet, row, now) - waiting
    if creations < min(left, asked):
        left, why = creations, "the bound on creations in an hour is reached"
    offers, said = _open_offers(standing)
    if offers is not None and offers - waiting < min(left, asked):
        left, why = offers - waiting, said
    return Admitted(max(0, min(asked, left)), why)


def _open_offers(standing: Standing) -> tuple[int | None, str]:
    """Return how many may begin by what is remembered of the offers; None: no matter how many."""
    fleet, row, now = standing.fleet, standing.row, standing.now
    setbacks = [row.setback(offer) for offer in fleet.offers]
    if any(setback is None for setback in setbacks):
        return None, ""
    told = "; ".join(f"{s.offer}: {s.why} until {s.until:%H:%M:%S} UTC" for s in setbacks if s)
    begun = {m.offer for m in standing.machines if m.phase is Phase.STARTING}
    open_ = [s for s in setbacks if s and now >= s.until and s.offer not in begun]
    return min(1, len(open_)), f"every server type failed lately ({told})"
