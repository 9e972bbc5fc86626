"""Fleets of an account that come, change and go while cycles run, and what is in flight of each.

An account is a frozen value: a change puts another one in its place, between two cycles.
"""

import asyncio
from dataclasses import dataclass, field

from msgspec.structs import replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.ports.provider import HasTemplates

from .measurements import forget_fleet
from .settings import Ports
from .state import AccountState


@dataclass(slots=True)
class InFlight:
    """The tasks that work on each fleet's machines."""

    tasks: dict[FleetName, set[asyncio.Task[None]]] = field(
        default_factory=dict[FleetName, set[asyncio.Task[None]]]
    )

    def add(self, fleet: FleetName, task: asyncio.Task[None]) -> None:
        """Remember a task until it is done."""
        tasks = self.tasks.setdefault(fleet, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def ended(self, fleet: FleetName) -> None:
        """Wait until nothing is in flight of this fleet."""
        while tasks := self.tasks.get(fleet):
            await asyncio.wait(tasks)


@dataclass(slots=True)
class FleetChanges:
    """Changes one account's fleets. `cycle` is held while a cycle runs, and by each change.

    A suspended fleet is observed as ever and not decided: it is about to be removed.
    """

    ports: Ports
    state: AccountState
    cycle: asyncio.Lock = field(default_factory=asyncio.Lock)
    in_flight: InFlight = field(default_factory=InFlight)
    suspended: frozenset[FleetName] = frozenset()

    @property
    def names(self) -> frozenset[FleetName]:
        """The names of the account's fleets, as they are now."""
        return frozenset(fleet.name for fleet in self.state.account.fleets)

    def decided(self) -> tuple[Fleet, ...]:
        """Return the fleets that a cycle decides; not those whose machines another takes over."""
        fleets, idle = self.state.account.fleets, self.suspended | self.state.adopted()
        return tuple(fleet for fleet in fleets if fleet.name not in idle)

    async def put(self, fleet: Fleet) -> None:
        """Decide this fleet from the next cycle on: a new one, or the new form of one of its name.

        Raises RequestRefused where the open provider has not the fleet's template, and StoreError
        where the row of a new one could not be added.
        """
        self._check_template(fleet)
        row = FleetRow(name=fleet.name, created=self.ports.clock.now())
        await self.ports.store.add_fleet(row)
        async with self.cycle:
            self._put(fleet)

    async def remove(self, name: FleetName) -> None:
        """Decide this fleet no longer, once nothing of it is in flight; its records stay.

        Raises RequestRefused while any machine of it lives: undecided, that would cost money and
        be looked after by nobody.
        """
        async with self.cycle:
            await self._check_empty(name)
            self.suspended |= {name}
        try:
            await self.in_flight.ended(name)
            async with self.cycle:
                await self._check_empty(name)
                self.forget(name)
        finally:
            self.suspended -= {name}

    def _check_template(self, fleet: Fleet) -> None:
        account = self.state.account
        before = next((known for known in account.fleets if known.name == fleet.name), None)
        if not isinstance(account.provider, HasTemplates):
            return
        changed = before is not None and before.template != fleet.template
        if changed or not account.provider.has_template(fleet.name):
            raise RequestRefused(
                f"the account {account.name!r} was opened without this template of the fleet "
                f"{fleet.name!r}: restart hostler with it"
            )

    async def _check_empty(self, name: FleetName) -> None:
        if living := await self.ports.store.machines(name):
            raise RequestRefused(
                f"the fleet {name!r} has {len(living)} living machines, which nobody would look "
                "after: scale it to 0, and remove it when they are gone"
            )

    def _put(self, fleet: Fleet) -> None:
        account = self.state.account
        if fleet.name in self.names:
            fleets = tuple(fleet if f.name == fleet.name else f for f in account.fleets)
        else:
            fleets = (*account.fleets, fleet)
            self.state.stale.add(fleet.name)
        self.state.cache.pop(fleet.name, None)
        self.state.account = replace(account, fleets=fleets)

    def forget(self, name: FleetName) -> None:
        """Forget the fleet. Its row stays in memory too: hosts may come that it ordered."""
        state = self.state
        fleets = tuple(fleet for fleet in state.account.fleets if fleet.name != name)
        state.account = replace(state.account, fleets=fleets)
        state.machines.pop(name, None)
        state.ordered.pop(name, None)
        state.cache.pop(name, None)
        state.world.pop(name, None)
        state.wave.pop(name, None)
        state.missing.pop(name, None)
        forget_fleet(self.ports.metrics, name)
