"""Engine: one process that keeps leases, notices requests, and runs a loop for each account."""

import asyncio
from collections.abc import Sequence

import structlog

from hostler.domain.errors import StoreError, StoreLost

from .account import AccountLoop
from .retention import Retention
from .runtime.leases import Leases
from .runtime.settings import Account, Ports, Settings

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.engine")


class Engine:
    """Observes, decides, advances and records, for every account that it is given."""

    def __init__(
        self, ports: Ports, accounts: Sequence[Account], holder: str, settings: Settings
    ) -> None:
        self._ports, self._settings = ports, settings
        self.leases = Leases(ports.store, ports.clock, holder, settings)
        self.loops = tuple(
            AccountLoop(account, ports, self.leases, settings, holder) for account in accounts
        )
        names = tuple(loop.lease for loop in self.loops)
        self._heard = asyncio.Event()
        self._retention = Retention(ports, self.leases, settings, names)

    async def run(self) -> None:
        """Run until cancelled; leases are given back on the way out, machines stay as they are.

        Raises StoreLost when the store's file goes away: nothing may be done without records.
        """
        try:
            await self._keep_leases()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._leases_loop())
                group.create_task(self._requests_loop())
                group.create_task(self._retention.run())
                for loop in self.loops:
                    group.create_task(loop.run())
        finally:
            await self._give_back()

    def nudge(self) -> None:
        """Observe now, everywhere."""
        for loop in self.loops:
            loop.nudge()

    def hear(self) -> None:
        """Read requests now: a frontend in this process wrote one."""
        self._heard.set()

    async def _give_back(self) -> None:
        try:
            await self.leases.drop()
        except StoreError as error:
            log.warning("leases not given back", error=str(error))

    async def _leases_loop(self) -> None:
        while True:
            await self._ports.clock.sleep(self._settings.lease_beat)
            await self._keep_leases()

    async def _keep_leases(self) -> None:
        """Renew and take; what cannot be renewed runs out, and with it every right to act."""
        for loop in self.loops:
            try:
                await loop.keep_leases()
            except StoreLost:
                raise
            except StoreError as error:
                log.warning("leases not renewed", lease=loop.lease, error=str(error))

    async def _requests_loop(self) -> None:
        """Notice what frontends wrote, and observe at once."""
        last = -1
        while True:
            try:
                revision = await self._ports.store.revision()
                if revision != last:
                    last = revision
                    await self._read_requests()
            except StoreLost:
                raise
            except StoreError as error:
                log.warning("requests not read", error=str(error))
            await self._pause()

    async def _pause(self) -> None:
        """Wait until requests are due to be noticed, or a frontend of this process says so."""
        try:
            async with asyncio.timeout(self._settings.poll.total_seconds()):
                await self._heard.wait()
        except TimeoutError:
            pass
        self._heard.clear()

    async def _read_requests(self) -> None:
        requests = await self._ports.store.requests()
        for loop in self.loops:
            fleets = {fleet.name for fleet in loop.state.account.fleets}
            taken = loop.state.taken
            mine = tuple(w for w in requests if w.fleet in fleets and w.number not in taken)
            loop.state.taken = taken & {request.number for request in requests}
            if mine != loop.state.requests:
                loop.state.requests = mine
                if mine:
                    loop.nudge()
