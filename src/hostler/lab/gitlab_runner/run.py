"""Season: one seed of a runner over a group: bad weather and jobs, good weather, then no jobs."""

import asyncio
import contextvars
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, InstallationId, Zone
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.machine import Offer
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.gates import Trap
from hostler.lab.scenario.faults import Disruption
from hostler.lab.scenario.run import Result
from hostler.ports.http import HttpRequest
from hostler.ports.store import Store
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.simulators.scaleway.api.replies import Reply
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_engine
from hostler.stores.sqlite.worker import Inline
from hostler.testing.fakes.metrics import CountingMetrics
from hostler.testing.time.clock import BEGINNING, SimClock
from hostler.testing.time.loop import SimLoop

from .checker import Checker
from .faults import RunnerScenario
from .process import Plugin, Site
from .runner import Runner, Setting
from .workload import Job

FLEET = FleetName("ci")
TICK = 10.0
REACHED = 2700.0
"""How long, in seconds of good weather, it may take until the wanted capacity is there."""
EMPTY = 2700.0
"""How long, in seconds, it may take until nothing is left that nobody asks for."""
_LONG = 1e9
_AGAIN = 60.0
"""So long after writes are let pass again, all that waited for them is under way."""


class ToldWorld(World):
    """A world that tells the watch of each request that it handled."""

    checker: Checker | None = None

    def handle(self, request: HttpRequest, source: str = "") -> Reply:
        """Process one request."""
        reply = super().handle(request, source)
        if self.checker is not None:
            self.checker.answered(request, source, self.journal[-1])
        return reply


class RunnerRun:
    """Plays one climate; records are in memory, or in `folder`."""

    def __init__(self, scenario: RunnerScenario, folder: Path | None = None) -> None:
        self.scenario, self._folder = scenario, folder
        self.loop = SimLoop()
        rng = Random(f"hostler runner season {scenario.seed}")
        self.world = self._make_world(rng)
        self.trace = Trace(self.loop.time)
        most = self._fleet().most(0)
        self.checker = self.world.checker = Checker(self.world, self.trace, most)
        self.checker.offered = scenario.states
        self.metrics = CountingMetrics()
        self.site = self._make_site(rng)
        self.runner: Runner

    def _make_world(self, rng: Random) -> ToldWorld:
        base = self.scenario.base
        options = Options(
            epoch=BEGINNING,
            list_lag=base.list_lag,
            pace=base.pace,
            generation=rng.choice(("2026", "2025", "mixed")),
        )
        world = ToldWorld(self.loop.time, Random(rng.getrandbits(64)), options)
        world.set_fault_rates(base.world)
        for rule in base.scripts:
            world.script(rule)
        return world

    def _make_site(self, rng: Random) -> Site:
        base = self.scenario.base
        disk = Disk(size=10, type="l_ssd") if base.local_disk else Disk(size=10)
        return Site(
            loop=self.loop,
            world=self.world,
            fleet=self._fleet(),
            template=Template(
                root=disk,
                disks=(Disk(size=5),) * base.disks,
                cloud_init="#cloud-config\n",
                ipv6=base.ipv6,
                protected=base.protected,
            ),
            witness=self.checker,
            metrics=self.metrics,
            dice=Random(rng.getrandbits(64)),
            clock=SimClock(self.loop, boot=rng.uniform(10, 1e6), wall=base.skews[0]),
            settings=Settings(),
            open_store=self._opener(),
        )

    def _opener(self) -> Callable[[], Store]:
        own = InstallationId(f"i1{self.scenario.seed}")
        if self._folder is not None and self.scenario.base.sqlite:
            path = self._folder / "group.db"
            return lambda: open_engine(path, own, runner=Inline)
        memory = MemoryStore(own)
        return lambda: memory

    def _fleet(self) -> Fleet:
        base = self.scenario.base
        zones = ("fr-par-1", "nl-ams-1") if base.two_zones else ("fr-par-1",)
        types = ("DEV1-S",) if base.local_disk else ("PLAY2-PICO", "PLAY2-NANO")
        return Fleet(
            name=FLEET,
            account=AccountName("main"),
            size=0,
            maximum=self.scenario.options.max_instances,
            renews=False,
            offers=tuple(Offer(t, Zone(z), "ubuntu_noble") for t in types for z in zones),
            template="t1",
            reclaim=base.reclaim,
            probe=Probe(kind=ProbeKind.TCP),
            timers=Timers(),
        )

    # ------------------------------------------------------------ how it goes

    def play(self) -> Result:
        """Run the seed, and return what came of it."""
        try:
            self.loop.run_until_complete(self._play())
        finally:
            self.loop.close()
        if self.loop.failures:
            self.checker.found("bug", self.loop.failures[0])
        return self._result()

    async def _play(self) -> None:
        scenario, checker = self.scenario, self.checker
        async with asyncio.TaskGroup() as tasks:
            setting = Setting(options=scenario.options, states=scenario.states)
            runner = self.runner = Runner(self.site, checker, setting, tasks)
            runner.launch()
            work = [tasks.create_task(self._strike(runner)), tasks.create_task(self._feed(runner))]
            await self._until(scenario.span, lambda: False)
            for task in work:
                task.cancel()
            self._clear(runner)
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
        wrong = (self.metrics.illegal_moves, dict(self.metrics.bugs), self.loop.failures[:1])
        if any(wrong):
            self.checker.found("bug", f"illegal moves, bugs, failures: {wrong}")

    def _clear(self, runner: Runner) -> None:
        """Let all faults cease; who is dead is started."""
        self.trace.note("good weather")
        self.world.clear_fault_rates()
        self._set_network(runner, down=False)
        if runner.plugin is not None:
            runner.plugin.gate.calm()
        if not runner.serving:
            runner.kill()
            runner.launch()

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
            self.checker.found("L", text)

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
            self.checker.found("L", f"left behind: {left}; {self._standing(runner)}")

    def _nothing_left(self) -> None:
        if leaks := self.world.leaks():
            self.checker.found("L", f"left behind: {leaks[0].kind} {leaks[0].id}")

    def _tracked(self, runner: Runner) -> int:
        return len(runner.provisioner.tracked) if runner.provisioner else 0

    def _standing(self, runner: Runner) -> str:
        tracked = runner.provisioner.tracked.values() if runner.provisioner else ()
        return ", ".join(f"{t.id} {t.state}{' removing' if t.removing else ''}" for t in tracked)

    # ------------------------------------------------------------ what befalls it

    async def _feed(self, runner: Runner) -> None:
        for job in self.scenario.jobs:
            await asyncio.sleep(max(0.0, job.at - self.loop.time()))
            if runner.scaler is not None:
                runner.scaler.arrive(job)

    async def _strike(self, runner: Runner) -> None:
        for disruption in self.scenario.disruptions:
            await asyncio.sleep(max(0.0, disruption.at - self.loop.time()))
            await self._befall(runner, disruption)

    async def _befall(self, runner: Runner, disruption: Disruption) -> None:
        plugin = runner.plugin
        match disruption.fault:
            case "network_down":
                self._set_network(runner, down=True)
                self._later(disruption.length, lambda: self._set_network(runner, down=False))
            case "clock_jump":
                self._note(disruption.fault)
                self._jump(timedelta(seconds=disruption.length))
            case "store_busy" | "disk_full" if plugin is not None:
                end = self.loop.time() + disruption.length
                self.checker.able_from = end + _AGAIN
                plugin.gate.refuse_writes(end, disruption.fault)
            case "plugin_killed" | "runner_killed" if plugin is not None:
                self._kill_soon(runner, plugin, disruption)
            case "runner_restarted" if runner.serving:
                self._note(disruption.fault)
                await runner.stop()
                runner.launch()
            case _:
                pass

    def _kill_soon(self, runner: Runner, plugin: Plugin, disruption: Disruption) -> None:
        def strike() -> None:
            self._note(disruption.fault)
            plugin.kill()
            if disruption.fault == "runner_killed":
                self._later(0.0, runner.kill)
            self._later(disruption.length, lambda: self._relaunch(runner))

        if disruption.skip < 0:
            strike()
        else:
            trap = Trap(
                strike=strike, skip=disruption.skip, before=disruption.before, port=disruption.port
            )
            plugin.gate.trap(trap)

    def _relaunch(self, runner: Runner) -> None:
        """Somebody sees that a runner is dead, or its plugin, and starts it anew."""
        if not runner.serving:
            runner.kill()
            runner.launch()

    def _set_network(self, runner: Runner, *, down: bool) -> None:
        self.site.down = down
        self.checker.awake = not down
        if runner.plugin is not None:
            runner.plugin.wire.set_network(down=down)

    def _note(self, fault: str) -> None:
        self.trace.note(fault)
        self.checker.struck(fault)

    def _jump(self, by: timedelta) -> None:
        """Let the clock jump; put back, it comes to every pause of before once more."""
        self.checker.jumped = self.loop.time() + max(0.0, -by.total_seconds())
        self.site.clock.jump(by)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        self.loop.call_later(seconds, work, context=contextvars.Context())

    def _result(self) -> Result:
        checker = self.checker
        text = checker.first.text if checker.first else ""
        about = next((name for name in checker.told if name in text), "")
        return Result(
            seed=self.scenario.seed,
            violation=checker.first,
            story=self.trace.story(about, 80) if checker.first else (),
            digest=self.trace.sum,
            simulated=self.loop.time(),
            machine_seconds=checker.machine_seconds,
            faults=dict(sorted(checker.faults.items())),
            pairs=tuple(sorted(checker.pairs)),
            calm=self.scenario.base.mood == "calm",
        )
