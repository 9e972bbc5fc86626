"""Engine: one process that keeps leases, notices requests, and runs a loop for each account."""

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from hostler.domain.errors import RequestRefused, StoreError, StoreUnusable
from hostler.domain.ids import AccountName, FleetName
from hostler.domain.model.fleet import Fleet, renames
from hostler.ports.store import Notifies

from .account import AccountLoop
from .retention import Retention
from .runtime.leases import Leases, together
from .runtime.measurements import forget_orphans
from .runtime.settings import Account, Ports, Settings
from .runtime.waiting import until

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.engine")


class Engine:
    """Looks, decides, advances and records, for every account that it is given.

    Accounts and fleets may come, change and go while it runs: a change waits for the running cycle
    of its account, and takes effect in the next one.
    """

    def __init__(
        self, ports: Ports, accounts: Sequence[Account], holder: str, settings: Settings
    ) -> None:
        self._ports, self._settings, self._holder = ports, settings, holder
        self.leases = Leases(ports.store, ports.clock, holder, settings)
        self.loops = tuple(self._loop(account) for account in accounts)
        self._heard = asyncio.Event()
        self._retention = Retention(ports, self.leases, settings, self._account_leases)
        self._changing, self._keeping = asyncio.Lock(), asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None
        self._revision = -1

    async def run(self) -> None:
        """Run until cancelled; leases are given back on the way out, machines stay as they are.

        Raises StoreUnusable when the store's file goes away or is damaged: nothing may be done
        without records.
        """
        try:
            await self._keep_leases()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._leases_loop())
                group.create_task(self._requests_loop())
                if isinstance(self._ports.store, Notifies):
                    group.create_task(self._ports.store.follow(self.hear))
                group.create_task(self._retention.run())
                for loop in self.loops:
                    group.create_task(loop.run())
                self._group = group
        finally:
            self._group = None
            await self._give_back()

    async def add_account(self, account: Account) -> None:
        """Run this account too, with its fleets. Raises RequestRefused where a name is taken."""
        async with self._changing:
            if any(loop.state.account.name == account.name for loop in self.loops):
                raise RequestRefused(f"there is an account {account.name!r} already")
            for fleet in account.fleets:
                self._check_new(fleet.name)
            loop = self._loop(account)
            self.loops = (*self.loops, loop)
            await self._changed(loop)
            if self._group is not None:
                self._group.create_task(loop.run())

    async def add_fleet(self, fleet: Fleet) -> None:
        """Record a new fleet, take its lease, and decide it from the next cycle on.

        Raises RequestRefused where the name is taken, the account is unknown, or its provider was
        opened without the fleet's template, and StoreError where it could not be recorded: then
        nothing changed.
        """
        async with self._changing:
            self._check_new(fleet.name)
            loop = self._of_account(fleet.account)
            await loop.fleets.put(fleet)
            await self._changed(loop)

    async def replace_fleet(self, fleet: Fleet) -> None:
        """Decide this fleet in its new form from the next cycle on.

        Raises RequestRefused where there is none of this name in its account (machines cannot move
        from one account to another), and where its provider was opened with another template.
        """
        async with self._changing:
            loop = self._of_fleet(fleet.name)
            if loop.state.account.name != fleet.account:
                raise RequestRefused(
                    f"the fleet {fleet.name!r} lives in {loop.state.account.name!r}; remove it, "
                    f"and add it to {fleet.account!r}"
                )
            await loop.fleets.put(fleet)
            await self._changed(loop)

    async def remove_fleet(self, name: FleetName) -> None:
        """Decide this fleet no longer and give its lease back; its records stay.

        What is in flight ends first. Raises RequestRefused, and changes nothing, while machines of
        it live: nobody would look after them. Requests for it wait until it is added again.
        """
        async with self._changing:
            await self._of_fleet(name).fleets.remove(name)
            async with self._keeping:
                await self.leases.give_back(f"fleet/{name}")

    def nudge(self) -> None:
        """Observe now, everywhere."""
        for loop in self.loops:
            loop.nudge()

    def hear(self) -> None:
        """Read requests now: a frontend in this process wrote one."""
        self._heard.set()

    def _loop(self, account: Account) -> AccountLoop:
        return AccountLoop(account, self._ports, self.leases, self._settings, self._holder)

    def _account_leases(self) -> tuple[str, ...]:
        return tuple(loop.lease for loop in self.loops)

    def _check_new(self, name: FleetName) -> None:
        if any(name in loop.fleets.names for loop in self.loops):
            raise RequestRefused(f"there is a fleet {name!r} already")

    def _of_account(self, name: AccountName) -> AccountLoop:
        found = next((loop for loop in self.loops if loop.state.account.name == name), None)
        if found is None:
            raise RequestRefused(f"there is no account {name!r}")
        return found

    def _of_fleet(self, name: FleetName) -> AccountLoop:
        found = next((loop for loop in self.loops if name in loop.fleets.names), None)
        if found is None:
            raise RequestRefused(f"there is no fleet {name!r}")
        return found

    async def _changed(self, loop: AccountLoop) -> None:
        """Take the leases of new fleets, and read the requests that were written before them."""
        async with self._keeping:
            await self._keep_leases_of(loop)
        self._revision = -1
        self.hear()
        loop.nudge()

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
        """Keep those of all accounts side by side: hundreds may take longer than they last."""
        async with self._keeping:
            await together([partial(self._keep_leases_of, loop) for loop in self.loops])
        if self.loops and all(self.leases.tenure(loop.lease) is None for loop in self.loops):
            forget_orphans(self._ports.metrics)

    async def _keep_leases_of(self, loop: AccountLoop) -> None:
        """Renew and take; what cannot be renewed runs out, and with it every right to act.

        So does what another process is to have: nothing is given back in the middle of calls.
        """
        try:
            if self._ports.yields():
                await loop.look_on()
            else:
                await loop.keep_leases()
        except StoreUnusable:
            raise
        except StoreError as error:
            log.warning("leases not renewed", lease=loop.lease, error=str(error))

    async def _requests_loop(self) -> None:
        """Notice what frontends wrote, and look at once."""
        while True:
            try:
                revision = await self._ports.store.revision()
                if revision != self._revision:
                    await self._read_requests()
                    self._revision = revision
            except StoreUnusable:
                raise
            except StoreError as error:
                log.warning("requests not read", error=str(error))
            await self._pause()

    async def _pause(self) -> None:
        """Wait until requests are due to be noticed, or a frontend of this process says so."""
        await until(self._heard, self._settings.poll)
        self._heard.clear()

    async def _read_requests(self) -> None:
        requests = await self._ports.store.requests()
        known = {name for loop in self.loops for name in loop.fleets.names}
        strange = any(request.fleet not in known for request in requests)
        rows = {row.name: row for row in await self._ports.store.fleets()} if strange else {}
        for loop in self.loops:
            renamed = renames(loop.state.account.fleets, rows)
            fleets, taken = loop.fleets.names | renamed.keys(), loop.state.taken
            mine = tuple(w for w in requests if w.fleet in fleets and w.number not in taken)
            loop.state.taken = taken & {request.number for request in requests}
            if mine != loop.state.requests:
                loop.state.requests = mine
                if mine:
                    loop.nudge()
