"""Fleets of an account that come, change and go while cycles run, and what is in flight of each.

An account is a frozen value: a change puts another one in its place, between two cycles.
"""

import asyncio
from dataclasses import dataclass, field, replace

from hostler.domain.errors import RequestRefused
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet, FleetRow

from .settings import Ports
from .state import AccountState


@dataclass(slots=True)
class FleetChanges:
    """Changes one account's fleets; `put`, `suspend` and `remove` only between two cycles.

    A suspended fleet is observed as ever and not decided: it is about to be removed.
    """

    ports: Ports
    state: AccountState
    suspended: frozenset[FleetName] = frozenset()

    def decided(self) -> tuple[Fleet, ...]:
        """Return the fleets that a cycle decides."""
        fleets = self.state.account.fleets
        return tuple(fleet for fleet in fleets if fleet.name not in self.suspended)

    async def add_row(self, fleet: Fleet) -> None:
        """Add the fleet's row to the store, unless it has one; raises StoreError."""
        await self.ports.store.add_fleet(FleetRow(name=fleet.name, created=self.ports.clock.now()))

    def put(self, fleet: Fleet) -> None:
        """Add a fleet, or put it in the place of the one of its name."""
        account, names = self.state.account, self._names()
        if fleet.name in names:
            fleets = tuple(fleet if f.name == fleet.name else f for f in account.fleets)
        else:
            fleets = (*account.fleets, fleet)
            self.state.stale.add(fleet.name)
        self.state.cache.pop(fleet.name, None)
        self.state.account = replace(account, fleets=fleets)

    async def check_removable(self, name: FleetName) -> None:
        """Raise RequestRefused for a fleet that is not here, or of which machines live."""
        if name not in self._names():
            raise RequestRefused(f"there is no fleet {name!r} to be removed")
        if living := await self.ports.store.machines(name):
            raise RequestRefused(
                f"the fleet {name!r} has {len(living)} living machines, which nobody would look "
                "after: scale it to 0, and remove it when they are gone"
            )

    def suspend(self, name: FleetName) -> None:
        """Decide this fleet no longer, for the time being."""
        self.suspended |= {name}

    def resume(self, name: FleetName) -> None:
        """Decide it again, if it is still here."""
        self.suspended -= {name}

    def remove(self, name: FleetName) -> None:
        """Forget the fleet. Its row stays in memory too: hosts may come that it ordered."""
        state = self.state
        state.account = replace(
            state.account, fleets=tuple(f for f in state.account.fleets if f.name != name)
        )
        state.machines.pop(name, None)
        state.ordered.pop(name, None)
        state.cache.pop(name, None)
        state.world.pop(name, None)
        state.wave.pop(name, None)
        state.missing.pop(name, None)
        self.ports.metrics.machines(name, ())

    def _names(self) -> frozenset[FleetName]:
        return frozenset(fleet.name for fleet in self.state.account.fleets)


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
