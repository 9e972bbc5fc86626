"""Taskscaler: the runner's half above the provisioner: capacity, jobs on it, idle removal.

After reference/fleeting.md 3.4: an instance that is told to run gets jobs with no further look.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

from hostler.frontends.fleeting.contract import ConnectInfo, Group, Refused

from .provisioner import CALL_LIMIT, Cause, Provisioner, Tracked
from .workload import Job, RunnerOptions, Served

Spawn = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]


class Network(Protocol):
    """What a job finds when it dials."""

    def dial(self, instance: str, info: ConnectInfo) -> bool:
        """Tell whether the instance answers there and lets us in."""
        ...


@dataclass(slots=True)
class Slots:
    """An instance that is ready for jobs; `uses` and `failures` count over its life."""

    idle_since: float
    uses: int = 0
    busy: int = 0
    failures: int = 0
    jobs: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


@dataclass(slots=True)
class Memory:
    """State storage: what outlives a runner, where it is on."""

    uses: dict[str, int] = field(default_factory=dict[str, int])


class Taskscaler:
    """Asks for instances as jobs need them, runs jobs on them, and lets idle ones go."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a runner is made of
        self,
        provisioner: Provisioner,
        group: Group,
        options: RunnerOptions,
        time: Callable[[], float],
        network: Network,
        spawn: Spawn,
        memory: Memory,
    ) -> None:
        self._provisioner, self._group, self._options = provisioner, group, options
        self._time, self._network, self._spawn = time, network, spawn
        self._memory = memory
        self.ready = dict[str, Slots]()
        self.waiting = deque[Job]()
        self.served = Served()
        provisioner.listener = self

    # ------------------------------------------------------------ what the provisioner tells

    async def running(self, tracked: Tracked) -> None:
        """Make an instance ready, once its connect info is there; a stranger goes, for safety."""
        restored = self._options.state_storage and tracked.id in self._memory.uses
        if tracked.removing:
            return
        if tracked.cause is Cause.PREEXISTED and not restored:
            self._provisioner.remove(tracked.id)
            return
        try:
            async with asyncio.timeout(CALL_LIMIT):
                await self._group.connect_info(tracked.id)
        except (Refused, TimeoutError):
            self._provisioner.remove(tracked.id)
            return
        uses = self._memory.uses.setdefault(tracked.id, 0)
        self.ready[tracked.id] = Slots(self._time(), uses=uses)

    def unusable(self, tracked: Tracked) -> None:
        """Take an instance out of use; its jobs break."""
        slots = self.ready.pop(tracked.id, None)
        if slots is not None:
            self.served.broken += slots.busy
            for job in tuple(slots.jobs):
                job.cancel()

    def left(self, tracked: Tracked, why: str) -> None:
        """Forget an instance."""
        del why
        self.unusable(tracked)
        self._memory.uses.pop(tracked.id, None)

    # ------------------------------------------------------------ what it decides

    @property
    def busy(self) -> int:
        """How many jobs run."""
        return sum(slots.busy for slots in self.ready.values())

    @property
    def needed(self) -> int:
        """How many instances the jobs and the idle count ask for, within `max_instances`."""
        options = self._options
        jobs = self.busy + len(self.waiting) + options.idle_count
        return min(options.max_instances, ceil(jobs / options.capacity_per_instance))

    def arrive(self, job: Job) -> None:
        """Take a job in."""
        self.waiting.append(job)
        self.scale()

    def retire(self, options: RunnerOptions) -> None:
        """Go on with other options, and with no job."""
        self._options = options
        self.waiting.clear()
        for name, slots in tuple(self.ready.items()):
            for job in tuple(slots.jobs):
                job.cancel()
            self._retire(name)
        self.scale()

    def scale(self) -> None:
        """Give up jobs that waited too long, begin others, ask for instances, let idle ones go."""
        now, options = self._time(), self._options
        while self.waiting and now - self.waiting[0].at > options.acquire_timeout:
            self.waiting.popleft()
            self.served.late += 1
        self._begin_jobs()
        have = len(self._provisioner.usable()) + self._provisioner.expecting
        self._provisioner.request(self.needed - have - self._provisioner.requests)
        self._provisioner.requests = min(self._provisioner.requests, max(0, self.needed - have))
        self._let_go(len(self._provisioner.usable()) - self.needed)

    def _let_go(self, surplus: int) -> None:
        now = self._time()
        idle = sorted(self.ready.items(), key=lambda entry: entry[1].idle_since)
        for name, slots in idle:
            if surplus <= 0:
                return
            if not slots.busy and now - slots.idle_since >= self._options.idle_time:
                self._retire(name)
                surplus -= 1

    def _retire(self, name: str) -> None:
        self.ready.pop(name, None)
        self._provisioner.remove(name)

    # ------------------------------------------------------------ jobs

    def _begin_jobs(self) -> None:
        for name, slots in self.ready.items():
            while self.waiting and self._has_room(slots):
                job = self.waiting.popleft()
                slots.busy += 1
                slots.uses += 1
                self._memory.uses[name] = slots.uses
                task = self._spawn(self._work(name, slots, job))
                slots.jobs.add(task)
                task.add_done_callback(slots.jobs.discard)

    def _has_room(self, slots: Slots) -> bool:
        most = self._options.max_use_count
        worn = most and slots.uses >= most
        return not worn and slots.busy < self._options.capacity_per_instance

    async def _work(self, name: str, slots: Slots, job: Job) -> None:
        good = await self._reaches(name)
        if good:
            await asyncio.sleep(job.length)
            good = await self._reaches(name)
        self.served.done += good
        self.served.broken += not good
        slots.failures = 0 if good else slots.failures + 1
        self._finish(name, slots)

    async def _reaches(self, name: str) -> bool:
        try:
            async with asyncio.timeout(CALL_LIMIT):
                if self._options.heartbeats:
                    await self._group.heartbeat(name)
                info = await self._group.connect_info(name)
        except (Refused, TimeoutError):
            return False
        return self._network.dial(name, info)

    def _finish(self, name: str, slots: Slots) -> None:
        slots.busy -= 1
        slots.idle_since = self._time()
        most = self._options.max_use_count
        worn = bool(most) and slots.uses >= most and not slots.busy
        unwell = self._options.heartbeats and slots.failures >= self._options.failure_threshold
        if name in self.ready and (worn or unwell):
            self._retire(name)
