"""The course of a run of a runner: jobs and faults, jobs alone, then nothing."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

from msgspec.structs import replace

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import FleetName, InstallationId
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.decisions import watching_decisions
from hostler.lab.scaleway.bystanders import remove_volume
from hostler.lab.scenario.stores import store_place
from hostler.lab.servers.environment import ServerEnvironment
from hostler.ports.store import Store
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.invariants import Violation
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .checker import Checker
from .disruptions import Disruptions
from .faults import RunnerScenario
from .process import Site
from .runner import Runner, Setting
from .workload import Job

FLEET = FleetName("ci")
TICK = 10.0
REACHED = 2700.0
"""How long, in seconds without faults, it may take until the wanted capacity is there."""
EMPTY = 2700.0
"""How long, in seconds, it may take until nothing is left that nobody asks for."""
_LONG = 1e9


class RunnerCourse:
    """One scenario of a runner; records are in memory, or in `folder`. Implements `Course`."""

    def __init__(self, scenario: RunnerScenario, folder: Path | None = None) -> None:
        self.scenario, self.base, self._folder = scenario, scenario.base, folder
        self._environment = ServerEnvironment(scenario.base)
        self.loop = SimLoop()
        rng = Random(f"hostler runner season {scenario.seed}")
        self._environment.open(self.loop, rng)
        self.world = self._environment.world
        self.trace = Trace(self.loop.time)
        most = self._fleet().most(0)
        self.checker = Checker(self.world, self.trace, most)
        self.checker.offered = scenario.states
        self._environment.hears = self.checker.guest_answered
        self.metrics = CountingMetrics()
        self.site = self._make_site(rng)
        self.runner: Runner

    def _make_site(self, rng: Random) -> Site:
        return Site(
            loop=self.loop,
            environment=self._environment,
            fleet=self._fleet(),
            witness=self.checker,
            metrics=self.metrics,
            dice=Random(rng.getrandbits(64)),
            clock=SimClock(self.loop, boot=rng.uniform(10, 1e6), wall=self.base.skews[0]),
            settings=Settings(),
            open_store=self._opener(),
        )

    def _opener(self) -> Callable[[], Store]:
        filed = self._folder is not None and self.base.sqlite
        path = self._folder / "group.db" if self._folder is not None and filed else None
        own = InstallationId(f"i1{self.scenario.seed}")
        return store_place(own, path, exclusive=True).open

    def _fleet(self) -> Fleet:
        return replace(
            self._environment.fleets(other=False)[0],
            name=FLEET,
            size=0,
            maximum=self.scenario.options.max_instances,
            renews=False,
            probe=Probe(kind=ProbeKind.TCP),
            timers=Timers(),
        )

    # ------------------------------------------------------------ how it goes

    async def go(self) -> None:
        """Let jobs come and faults strike and cease; ask for much, and then for nothing."""
        with watching_decisions(self.scenario.seed):
            await self._go()

    async def _go(self) -> None:
        scenario, checker = self.scenario, self.checker
        async with asyncio.TaskGroup() as tasks:
            setting = Setting(options=scenario.options, states=scenario.states)
            runner = self.runner = Runner(self.site, checker, setting, tasks)
            checker.jobs = runner.jobs_on
            runner.launch()
            disruptions = Disruptions(self.site, checker, runner, scenario.disruptions)
            work = [tasks.create_task(disruptions.run()), tasks.create_task(self._feed(runner))]
            await self._until(scenario.span, lambda: False)
            for task in work:
                task.cancel()
            self._clear(disruptions)
            if checker.first is None:
                await self._fill(runner)
            if checker.first is None:
                await self._empty(runner)
            if checker.first is None:
                await runner.stop()
                self._nothing_left()
            await runner.bury()

    async def _until(self, end: float, done: Callable[[], bool]) -> bool:
        """Let time pass until something holds; tell whether it did before `end`."""
        while self.loop.time() < end and self.checker.first is None:
            if done():
                return True
            await asyncio.sleep(min(TICK, end - self.loop.time()))
            self._tick()
        return done()

    def _tick(self) -> None:
        self.checker.tick()
        wrong = (self.metrics.faults(), self.loop.failures[:1])
        if any(wrong):
            self.checker.broken("bug", f"illegal moves, bugs, failures: {wrong}")

    def _clear(self, disruptions: Disruptions) -> None:
        """Let all faults cease, and people remove what only they can know of."""
        self.trace.note("no more faults")
        self.world.clear_fault_rates()
        disruptions.cease()
        for server in self.checker.truth.taken(self.checker.recorded):
            volumes = self.checker.truth.taken_volumes(server, self.checker.recorded)
            self.world.act("server_deleted_by_hand", server.id)
            for volume in volumes:
                remove_volume(self.world, volume, server.zone)

    async def _fill(self, runner: Runner) -> None:
        """L: with more jobs than fit, every place is filled by an instance that is ready."""
        options = self.scenario.options
        many = options.max_instances * options.capacity_per_instance

        def full() -> bool:
            scaler = runner.scaler
            if scaler is None:
                return False
            while scaler.busy + len(scaler.waiting) < many:
                scaler.arrive(Job(self.loop.time(), _LONG))
            return len(scaler.ready) == options.max_instances and not self._wanting(runner)

        if not await self._until(self.loop.time() + REACHED, full):
            ready = len(runner.scaler.ready) if runner.scaler else 0
            text = f"{ready} of {options.max_instances} are ready: {self._standing(runner)}"
            self.checker.broken("L", text)

    def _wanting(self, runner: Runner) -> bool:
        return runner.provisioner is None or any(
            tracked.removing for tracked in runner.provisioner.tracked.values()
        )

    async def _empty(self, runner: Runner) -> None:
        """L: once nothing is asked for, nothing is left, in the records and on the bill."""
        self.trace.note("no more jobs")
        runner.retire()

        def bare() -> bool:
            return not self.world.leaks() and not self._tracked(runner)

        if not await self._until(self.loop.time() + EMPTY, bare):
            left = [f"{leak.kind} {leak.id}" for leak in self.world.leaks()]
            self.checker.broken("L", f"left behind: {left}; {self._standing(runner)}")

    def _nothing_left(self) -> None:
        if leaks := self.world.leaks():
            self.checker.broken("L", f"left behind: {leaks[0].kind} {leaks[0].id}")

    def _tracked(self, runner: Runner) -> int:
        return len(runner.provisioner.tracked) if runner.provisioner else 0

    def _standing(self, runner: Runner) -> str:
        tracked = runner.provisioner.tracked.values() if runner.provisioner else ()
        return ", ".join(f"{t.id} {t.state}{' removing' if t.removing else ''}" for t in tracked)

    async def _feed(self, runner: Runner) -> None:
        for job in self.scenario.jobs:
            await asyncio.sleep(max(0.0, job.at - self.loop.time()))
            if runner.scaler is not None:
                runner.scaler.arrive(job)

    def subject(self, violation: Violation) -> str:
        """Return the instance whose story a violation is."""
        return next((name for name in self.checker.reported if name in violation.text), "")
