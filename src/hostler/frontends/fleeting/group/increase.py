"""Growing: may there be more instances, and what are they called?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from hostler.domain.errors import StoreError
from hostler.domain.fleets.requested import room
from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Fleet, FleetRow, creations_left
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.domain.observation.blockers import paused
from hostler.frontends.fleeting.contract import Refused

from .known import Known


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
        why = f"the group has at most {fleet.most(row.desired(fleet))} instances (max_size)"
    waiting = sum(m.phase is Phase.PENDING for m in standing.machines) + standing.named
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


log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_UNANSWERED = 1 << 62
"""The number of a wish while it is being written: none that was granted is as high."""


async def increase(known: Known, count: int) -> int:
    """Name new machines in one durable wish; the engine makes them."""
    if count <= 0:
        return 0
    known.demand_records()
    admitted = admit(count, _standing(known))
    if admitted.count < count:
        log.warning("not all accepted", asked=count, accepted=admitted.count, why=admitted.why)
    if admitted.count == 0:
        raise Refused(f"none of {count} can be made now: {admitted.why}")
    names = tuple(known.opened.ports.fresh() for _ in range(admitted.count))
    await _grow(known, names)
    return len(names)


def _standing(known: Known) -> Standing:
    opened, machines = known.opened, known.machines()
    known.forget_named(machines)
    return Standing(
        fleet=opened.fleet,
        row=known.newest_row(),
        machines=machines,
        named=len(known.named),
        world=known.loop.state.world.get(opened.fleet.name, ""),
        now=opened.ports.clock.now(),
    )


async def _grow(known: Known, names: tuple[MachineId, ...]) -> None:
    """Write the wish; until an answer to that is known, the names count as wished."""
    known.named |= dict.fromkeys(names, _UNANSWERED)
    request = replace(known.request(RequestKind.GROW), machines=names)
    try:
        kept = await known.opened.ports.store.request(request)
    except StoreError as error:
        for name in names:
            known.named.pop(name, None)
        raise Refused(f"nothing was recorded, so nothing is made: {error}") from error
    known.named |= {name: kept.number for name in names if name in known.named}
    known.opened.engine.hear()
