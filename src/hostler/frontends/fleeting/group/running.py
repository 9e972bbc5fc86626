"""Running: the group's engine is kept running, whatever ends it but the loss of its records."""

from datetime import timedelta

import structlog

from hostler.domain.errors import StoreLost

from .known import Known

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_AGAIN = (timedelta(seconds=1), timedelta(seconds=5), timedelta(seconds=30))


async def keep_running(known: Known) -> None:
    """Run the engine, again and again: a runner does not start a plugin that has ended."""
    opened, tries = known.opened, 0
    while not known.lost:
        try:
            await opened.engine.run()
        except* StoreLost as lost:
            known.lost = f"the group's records are gone: {lost.exceptions[0]}"
            log.exception("engine stopped", group=opened.fleet.name, why=known.lost)
        except* Exception:
            log.exception("this is a bug in hostler; the engine starts again")
        await opened.ports.clock.sleep(_AGAIN[min(tries, len(_AGAIN) - 1)])
        tries += 1
