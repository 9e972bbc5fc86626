"""Observe: every host of a group is asked once, all at the same time."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from hostler.domain.ids import InstallationId, MachineId, Zone
from hostler.domain.model.host import host_of
from hostler.domain.model.resource import Observation, ObservedScope, Resource, Scope
from hostler.ports.clock import Clock
from hostler.ports.shell import Lost, NotReached, Stranger

from .memory import Memory
from .reading import (
    SILENT,
    STRANGER,
    UNREADABLE,
    Reading,
    Senseless,
    reading_of,
    resources_of,
    unheard,
)
from .scripts import answers, read
from .settings import Host
from .shell import HostShell

AT_ONCE = 50


class Observer:
    """Observes groups of hosts: what is said of hosts and of allocations comes together."""

    def __init__(
        self,
        hosts: Mapping[Zone, tuple[Host, ...]],
        shell: HostShell,
        clock: Clock,
        memory: Memory,
        installation: InstallationId,
    ) -> None:
        self._hosts, self._shell, self._clock = hosts, shell, clock
        self._memory, self._installation = memory, installation

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Return what these scopes show; hosts of a group that several name are asked once."""
        groups = dict[Zone, _Group]()
        for zone in dict.fromkeys(scope.zone for scope in scopes):
            groups[zone] = await self._ask_all(self._hosts.get(zone, ()))
        found, observed = dict[str, Resource](), list[ObservedScope]()
        for scope in scopes:
            group = groups[scope.zone]
            observed.append(group.observed(scope))
            found |= {one.id: one for one in self._resources(scope, group.readings)}
        strange = (f"{p.status} at {p.name}" for p in found.values() if p.status == UNREADABLE)
        return Observation(
            observed=tuple(observed), resources=tuple(found.values()), strange=tuple(strange)
        )

    async def _ask_all(self, hosts: tuple[Host, ...]) -> "_Group":
        gate, begun, booted = asyncio.Semaphore(AT_ONCE), self._clock.now(), self._clock.boot()
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(self._ask(host, gate)) for host in hosts]
        group = tuple(task.result() for task in asked)
        for reading in group:
            self._memory.note(reading, booted)
        off = self._memory.off(group, self._clock.boot())
        known = (self._memory.known(one, off=one.host.name in off) for one in group)
        return _Group(begun, tuple(known))

    async def _ask(self, host: Host, gate: asyncio.Semaphore) -> Reading:
        async with gate:
            try:
                printed = await self._shell.run(host, read())
                return reading_of(host, printed.host_key, answers(printed.text))
            except Stranger as error:
                return Reading(host=host, status=STRANGER, key=error.key, error=str(error))
            except (NotReached, Lost) as error:
                return Reading(host=host, status=SILENT, error=str(error))
            except Senseless as error:
                return Reading(host=host, status=SILENT, error=f"{host.name}: {error}")

    def _resources(self, scope: Scope, readings: tuple[Reading, ...]) -> Iterator[Resource]:
        """Yield hosts and what machines have of them; of a silent one also what is known to be."""
        for reading in readings:
            found = {one.id: one for one in resources_of(reading, self._installation)}
            for known in scope.known if reading.error else ():
                machine = MachineId(known.partition("#")[2])
                if machine and host_of(known) == reading.host.name and known not in found:
                    found[known] = unheard(reading, machine)
            for resource in found.values():
                if scope.machine is None or _concerns(resource, scope):
                    yield resource


class _Group(Struct, frozen=True):
    """What the hosts of a zone said when they were asked together."""

    begun: datetime
    readings: tuple[Reading, ...]

    def observed(self, scope: Scope) -> ObservedScope:
        """Return how it went: a silent host makes it incomplete, until it counts as off."""
        error = "; ".join(one.error for one in self.readings if one.error and not one.off)
        return ObservedScope(scope=scope, begun=self.begun, complete=not error, error=error)


def _concerns(resource: Resource, scope: Scope) -> bool:
    hosts = {host_of(known) for known in scope.known}
    named = resource.host.holder == scope.machine
    return named or resource.id in scope.known or resource.id in hosts
