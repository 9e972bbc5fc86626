"""Scenes: what a person does to the cluster, and what must have happened after each, in time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.errors import HostlerError
from hostler.ports.clock import Clock

from .api import Api
from .engine import Hostler
from .manifests import (
    DEPLOYMENTS,
    FLEET,
    HOSTLER_MACHINES,
    LEAST,
    MACHINE_DEPLOYMENTS,
    MACHINES,
    PODS,
    REPLICAS,
    WORK,
    Cloud,
    Manifest,
    cluster,
    pool,
    workers,
    workload,
)
from .sampling import HostState, Row, Sample, Sampler

LIMIT = 240.0
"""Seconds that each thing may take; the slowest takes about forty."""
_STEP = timedelta(milliseconds=400)


class NotReached(HostlerError):
    """Something did not happen in time; the text says what, and how everything stood."""


@dataclass(slots=True, kw_only=True)
class Scenes:
    """The scenes in their order; `say` tells what a person does, `show` draws a sample."""

    api: Api
    hostler: Hostler
    sampler: Sampler
    clock: Clock
    say: Callable[[str], None]
    show: Callable[[Sample], None]
    rolled: int = 0
    roll_seconds: float = 0.0
    evicted: int = 0
    least_ready: int = PODS
    reclaimed: int = 0
    _ready: list[int] = field(default_factory=list[int])

    # ------------------------------------------------------------ what is done

    async def bring_up(self, cloud: Cloud) -> None:
        """Apply the pool, the cluster and its workers, and wait until all of them run."""
        await self._apply("pool.yaml", *pool(cloud))
        await self._apply("cluster.yaml", *cluster(cloud))
        await self._apply("workers.yaml", *workers(1))
        await self._until(lambda seen: len(seen.running) == REPLICAS, "all Machines run")

    async def roll(self) -> None:
        """Name another template, and wait until every Machine is another one."""
        first, begun = set(self.sampler.last.running), self.clock.boot()
        await self._apply("workers.yaml (another template)", *workers(2))

        def rolled(seen: Sample) -> bool:
            return len(seen.running) == len(seen.rows) == REPLICAS and not first & set(seen.running)

        await self._until(rolled, "every Machine is replaced")
        self.rolled = len(first - {row.name for row in self.sampler.last.rows})
        self.roll_seconds = self.clock.boot() - begun

    async def drain(self) -> None:
        """Let Pods run under a disruption budget, and delete the Machine with the most of them."""
        await self._apply("builds.yaml", *workload())
        await self._until(lambda seen: seen.ready == PODS, "all Pods are ready")
        chosen = max(self.sampler.last.running.values(), key=lambda row: len(row.pods))
        self.least_ready = self.sampler.last.ready
        await self._delete(chosen)

        def drained(seen: Sample) -> bool:
            self.least_ready = min(self.least_ready, seen.ready)
            absent = seen.row(chosen.name) is None
            return absent and seen.ready == PODS and len(seen.running) == REPLICAS

        await self._until(drained, f"{chosen.name} is drained and replaced")
        self.evicted = len(set(chosen.pods) - self.sampler.last.pods)
        self.say(
            f"{self.evicted} Pods were evicted; {self.least_ready} of {PODS} were ready at least, "
            f"and the budget keeps {LEAST}"
        )
        self.say(f"$ kubectl delete deployment {WORK}")
        await self.api.delete(DEPLOYMENTS, WORK)

    async def strand(self) -> None:
        """Remove an object by force while no hostler runs, and wait until its host is back."""
        await self._until(lambda seen: not seen.pods, "the Pods are gone")
        chosen = next(iter(self.sampler.last.running.values()))
        self.say("hostler is stopped, as for an upgrade")
        await self.hostler.stop()
        await self._delete(chosen)
        await self._until(
            lambda seen: chosen.name not in seen.objects or self._is_going(seen, chosen),
            f"core deletes the HostlerMachine {chosen.name}",
        )
        await self._force(chosen)
        self.say(f"hostler starts again; the object that had the host of {chosen.name} is gone")
        await self.hostler.start()
        await self._until(lambda _: bool(self.sampler.strays), "the stray is in the orphan report")
        await self._until(
            lambda seen: self._is_back(seen) and len(seen.running) == REPLICAS,
            "the stray's host is back in the pool, and all Machines run",
        )
        self.reclaimed = len(self.sampler.strays)

    async def end(self) -> None:
        """Delete the workers, and wait until every host is clean in the pool."""
        self.say(f"$ kubectl delete machinedeployment {FLEET}")
        await self.api.delete(MACHINE_DEPLOYMENTS, FLEET)
        await self._until(self.is_empty, "every host is clean in the pool again")

    def is_empty(self, seen: Sample) -> bool:
        """Tell whether nothing is left of the Machines, and every host is free."""
        free = all(state is HostState.FREE for state in seen.hosts.values())
        return not seen.rows and not seen.objects and not seen.orphans and free

    # ------------------------------------------------------------ how

    async def _apply(self, file: str, *manifests: Manifest) -> None:
        self.say(f"$ kubectl apply -f {file}")
        for one in manifests:
            await self.api.apply(one.sort, one.name, **one.content)

    async def _delete(self, row: Row) -> None:
        self.say(f"$ kubectl delete machine {row.name}")
        await self.api.delete(MACHINES, row.name)

    async def _force(self, row: Row) -> None:
        self.say(f"$ kubectl patch hostlermachine {row.name} (its finalizers are removed by force)")
        released = {"metadata": {"finalizers": None}}
        await self.api.merge(HOSTLER_MACHINES, row.name, released)
        await self._until(
            lambda seen: seen.row(row.name) is None and row.name not in seen.objects,
            f"{row.name} and its HostlerMachine are gone",
        )

    def _is_going(self, seen: Sample, row: Row) -> bool:
        found = seen.row(row.name)
        return found is not None and found.object_going

    def _is_back(self, seen: Sample) -> bool:
        """Tell whether no stray is left, and their hosts are the pool's or another Machine's."""
        hosts = {self.sampler.host_of(orphan) for orphan in self.sampler.strays.values()}
        states = {seen.hosts.get(host) for host in hosts}
        return bool(states) and states <= {HostState.FREE, HostState.IN_USE}

    async def _until(self, holds: Callable[[Sample], bool], what: str) -> None:
        """Look until something holds. Raises NotReached, or HostlerEnded."""
        end = self.clock.boot() + LIMIT
        while True:
            self.hostler.check()
            seen = await self.sampler.look()
            self.show(seen)
            if holds(seen):
                return
            if self.clock.boot() > end:
                raise NotReached(f"not within {LIMIT:g} s: {what}; {standing(seen)}")
            await self.clock.sleep(_STEP)


def standing(seen: Sample) -> str:
    """Return how everything stands, in a line. Pure."""
    rows = ", ".join(f"{row.name} {row.phase} ({row.reason or 'no reason'})" for row in seen.rows)
    hosts = ", ".join(str(state) for state in seen.hosts.values())
    return f"Machines: {rows or 'none'}; hosts: {hosts}; orphans: {len(seen.orphans)}"
