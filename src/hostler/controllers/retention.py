"""Retention: what was over long ago is forgotten, a little at a time; it decides nothing."""

from collections.abc import Callable
from datetime import timedelta

import structlog

from hostler.domain.errors import StoreError, StoreUnusable

from .runtime.leases import Leases, Tenure
from .runtime.settings import Ports, Settings
from .runtime.state import Steadiness

EVERY = timedelta(hours=1)
"""How often the store is asked to forget."""

BATCH = 500
"""How many rows go at once: so many keep no other save waiting for long."""

_PAUSE = timedelta(seconds=1)

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.retention")


class Retention:
    """Lets the store forget what is older than `remember`, under a lease of ours."""

    def __init__(
        self, ports: Ports, leases: Leases, settings: Settings, names: Callable[[], tuple[str, ...]]
    ) -> None:
        """Forget under any of the leases so named, at that time, that we hold."""
        self._ports, self._leases, self._names = ports, leases, names
        self._remember = settings.remember
        self._steadiness = Steadiness(ports.clock, settings.jump)

    async def run(self) -> None:
        """Forget once an hour until cancelled; an hour in which the clock jumped is left out.

        A clock that is wrong by years would have everything forgotten: it gets time to be set
        right. Raises StoreUnusable.
        """
        while True:
            await self._ports.clock.sleep(EVERY)
            if self._steadiness.check():
                continue
            try:
                await self._forget()
            except StoreUnusable:
                raise
            except StoreError as error:
                log.warning("not everything old was forgotten", error=str(error))

    async def _forget(self) -> None:
        before, total = self._ports.clock.now() - self._remember, 0
        while (tenure := self._tenure()) is not None:
            went = await self._ports.store.forget(before, BATCH, tenure.fence)
            total += went
            if went < BATCH:
                break
            await self._ports.clock.sleep(_PAUSE)
        if total:
            log.info("forgotten", rows=total, before=before.isoformat())

    def _tenure(self) -> Tenure | None:
        held = (self._leases.tenure(name) for name in self._names())
        return next((tenure for tenure in held if tenure is not None), None)
