"""Observe: every host of a group is asked once, all at the same time."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping

from hostler.domain.ids import Zone
from hostler.domain.model.resource import Condition, Observation, ObservedScope, Resource, Scope
from hostler.ports.clock import Clock
from hostler.ports.shell import Lost, NotReached

from .claims import SERVER, claim_of
from .memory import Memory
from .reading import Reading, Senseless, claimed, resource_of, silent
from .scripts import answers, read
from .settings import Host
from .shell import HostShell

AT_ONCE = 50


class Observer:
    """Observes groups of hosts."""

    def __init__(
        self, hosts: Mapping[Zone, tuple[Host, ...]], shell: HostShell, clock: Clock, memory: Memory
    ) -> None:
        self._hosts, self._shell, self._clock, self._memory = hosts, shell, clock, memory

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Return what these scopes show; hosts of a group that several name are asked once."""
        readings = dict[Zone, tuple[Reading, ...]]()
        for zone in dict.fromkeys(scope.zone for scope in scopes):
            readings[zone] = await self._read_all(self._hosts.get(zone, ()))
        found, observed = dict[str, Resource](), list[ObservedScope]()
        for scope in scopes:
            seen = readings[scope.zone] if scope.kind == SERVER.kind else ()
            observed.append(self._observed(scope, seen))
            found |= {resource.id: resource for resource in self._resources(scope, seen)}
        strange = (f"{p.status} at {p.name}" for p in found.values() if _is_strange(p))
        return Observation(
            observed=tuple(observed), resources=tuple(found.values()), strange=tuple(strange)
        )

    async def _read_all(self, hosts: Iterable[Host]) -> tuple[Reading, ...]:
        gate = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._read(host, gate)) for host in hosts]
        readings = tuple(task.result() for task in tasks)
        for reading in readings:
            self._memory.note(reading)
        return readings

    async def _read(self, host: Host, gate: asyncio.Semaphore) -> Reading:
        async with gate:
            begun = self._clock.now()
            try:
                resource = resource_of(host, answers(await self._shell.run(host, read())))
            except (NotReached, Lost) as error:
                return Reading(host=host, begun=begun, error=str(error))
            except Senseless as error:
                return Reading(host=host, begun=begun, error=f"{host.name}: {error}")
            return Reading(host=host, begun=begun, resource=resource)

    def _observed(self, scope: Scope, readings: tuple[Reading, ...]) -> ObservedScope:
        """A silent host makes the scope incomplete, until it counts as off."""
        now = self._clock.now()
        out = self._memory.out(readings, now)
        missing = [r.error for r in readings if r.error and r.host.name not in out]
        begun = min((reading.begun for reading in readings), default=now)
        error = "; ".join(missing)
        return ObservedScope(scope=scope, begun=begun, complete=not missing, error=error)

    def _resources(self, scope: Scope, readings: tuple[Reading, ...]) -> Iterator[Resource]:
        out = self._memory.out(readings, self._clock.now())
        for reading in readings:
            for resource in self._at(reading, scope, off=reading.host.name in out):
                if scope.machine is None or _concerns(resource, scope):
                    yield resource

    def _at(self, reading: Reading, scope: Scope, *, off: bool) -> Iterator[Resource]:
        """Yield what is at a host; while it is silent, what was there last, or is known to be."""
        if not reading.error:
            yield from (reading.resource,) if reading.resource is not None else ()
            return
        name = reading.host.name
        last = self._memory.last.get(name)
        if last is not None:
            yield silent(last, off=off)
        for known in scope.known:
            claim = claim_of(known)
            if claim is not None and claim.host == name and (last is None or last.id != known):
                yield silent(claimed(reading.host, claim), off=off)


def _concerns(resource: Resource, scope: Scope) -> bool:
    return resource.id in scope.known or (
        resource.owner_tag is not None and resource.owner_tag.machine == scope.machine
    )


def _is_strange(resource: Resource) -> bool:
    return (
        resource.condition is Condition.UNKNOWN
        and resource.owner_tag is None
        and resource.status != "silent"
    )
