"""Increase: new machines are requested under fresh ids, as many as there is room for."""

import structlog

from hostler.domain.errors import StoreError
from hostler.domain.ids import MachineId
from hostler.frontends.fleeting.contract import Refused
from hostler.requests.capacity import Occupancy, admit
from hostler.requests.fleets import grow

from .records import GroupRecords

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_UNANSWERED = 1 << 62
"""The number of a request while it is being recorded: none that was granted is as high."""


async def increase(records: GroupRecords, count: int) -> int:
    """Request new machines in one durable request; the engine makes them."""
    if count <= 0:
        return 0
    records.require()
    admission = admit(count, _occupancy(records))
    if admission.count < count:
        log.warning("not all accepted", asked=count, accepted=admission.count, why=admission.why)
    if admission.count == 0:
        raise Refused(f"none of {count} can be made now: {admission.why}")
    ids = tuple(records.context.fresh() for _ in range(admission.count))
    await _grow(records, ids)
    return len(ids)


def _occupancy(records: GroupRecords) -> Occupancy:
    context, machines = records.context, records.machines()
    records.forget_granted(machines)
    return Occupancy(
        fleet=context.fleet,
        row=records.row(),
        machines=machines,
        requested=len(records.requested),
        blocker=context.live.creation_blocker(),
        now=context.clock.now(),
    )


async def _grow(records: GroupRecords, ids: tuple[MachineId, ...]) -> None:
    """Record the request; until the answer to that is known, the ids count as requested."""
    context, requested = records.context, records.requested
    requested |= dict.fromkeys(ids, _UNANSWERED)
    try:
        request = await records.record(grow(records.author(), context.fleet, ids))
    except StoreError as error:
        for machine in ids:
            requested.pop(machine, None)
        raise Refused(f"nothing was recorded, so nothing is made: {error}") from error
    requested |= {machine: request.number for machine in ids if machine in requested}
    context.engine.hear()
