"""Growing: may there be more instances, and what are they called?"""

from dataclasses import replace

import structlog

from hostler.domain.errors import StoreError
from hostler.domain.ids import MachineId
from hostler.domain.model.snapshot import WishKind
from hostler.frontends.fleeting.contract import Refused

from .admission import Standing, admit
from .known import Known

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
    wish = replace(known.wish(WishKind.GROW), machines=names)
    try:
        kept = await known.opened.ports.store.wish(wish)
    except StoreError as error:
        for name in names:
            known.named.pop(name, None)
        raise Refused(f"nothing was recorded, so nothing is made: {error}") from error
    known.named |= {name: kept.number for name in names if name in known.named}
    known.opened.engine.hear()
