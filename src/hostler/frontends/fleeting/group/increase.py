"""Increase: new machines are requested under fresh ids, as many as there is room for."""

import structlog

from hostler.domain.errors import StoreError
from hostler.frontends.fleeting.contract import Refused

from .records import GroupRecords

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")


async def increase(records: GroupRecords, count: int) -> int:
    """Request new machines in one durable request; the engine makes them."""
    if count <= 0:
        return 0
    records.require()
    admission = records.admit(count)
    if admission.count < count:
        log.warning("not all accepted", asked=count, accepted=admission.count, why=admission.why)
    if admission.count == 0:
        raise Refused(f"none of {count} can be made now: {admission.why}")
    try:
        ids = await records.grow(admission.count)
    except StoreError as error:
        raise Refused(f"nothing was recorded, so nothing is made: {error}") from error
    records.context.engine.hear()
    return len(ids)
