"""The course of a run of engines: faults, then none, until nothing happens any more."""

import asyncio
from pathlib import Path

from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.harness.decisions import watching_decisions
from hostler.testing.invariants import Violation, quiet, unanswered

from .disruptions import Disruptions
from .environment import Environment
from .operator import Operator
from .session import Session


class EngineCourse:
    """One scenario in a session of its own. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, environment: Environment, folder: Path) -> None:
        self.base, self.cadence = environment.base, environment.cadence
        self.session = Session(environment, folder)
        self.loop, self.checker = self.session.loop, self.session.checker
        self.trace = self.session.trace
        self._led = 0.0

    # ------------------------------------------------------------ how it goes

    async def go(self) -> None:
        """Let faults strike and cease, and wait until all come to rest."""
        with watching_decisions(self.base.seed):
            await self._go()

    async def _go(self) -> None:
        scenario = self.base
        async with asyncio.TaskGroup() as group:
            home = self.session.found_home(replicas=scenario.replicas)
            for number in range(scenario.replicas):
                name = "ab"[number]
                await self.session.add_process(home, name, scenario.skews[number]).start(group)
            disruptions = Disruptions(self.session, group)
            operator = Operator(self.session)
            tasks = [group.create_task(disruptions.run()), group.create_task(operator.run())]
            await self._until(scenario.span)
            for task in tasks:
                task.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self.session.environment.cease()
                await disruptions.cease()
                await self._come_to_rest(operator, disruptions)
            for process in self.session.processes:
                await process.end()

    async def _until(self, end: float) -> None:
        while self.loop.time() < end and self.checker.first is None:
            await asyncio.sleep(min(self.cadence.tick, end - self.loop.time()))
            self._tick()

    def _tick(self) -> None:
        self.checker.tick(awake=self._could_act())

    def _could_act(self) -> bool:
        """Tell whether an engine could act: one leads, or somebody should have led for long.

        Who died holds its lease to its end, and whoever takes it waits as long once more.
        """
        alive = [process for process in self.session.processes if process.alive]
        now = self.loop.time()
        if any(process.holds_lease() for process in alive):
            self._led = now
        patience = 2 * self.session.environment.settings.lease_ttl.total_seconds()
        return bool(alive) and (self._led == now or now - self._led > patience)

    async def _come_to_rest(self, operator: Operator, disruptions: Disruptions) -> None:
        """Wait until nothing happens any more; what keeps happening is the violation.

        Whatever is to last until a time lasts as much longer as a clock is behind the true date.
        """
        begun = calm = self.loop.time()
        behind = -min(process.clock.ahead for process in self.session.processes)
        limit = self.cadence.limit + max(0.0, behind)
        cadence, self.checker.resting = self.cadence, True
        problem = tuple[Violation, ...]()
        helped = begun
        while self.checker.first is None and self.loop.time() - calm < cadence.rest:
            if self.loop.time() - begun > limit:
                self.checker.found(problem or (Violation(invariant="L1", text="no rest"),))
                return
            await asyncio.sleep(cadence.tick)
            self._tick()
            if self.loop.time() >= helped:
                helped = self.loop.time() + 6 * cadence.tick
                await operator.help(disruptions)
            checker = self.checker
            problem = tuple(p for shadow in self._shadows() for p in self._unrest(shadow))
            problem = problem or await self._unanswered()
            problem = problem or quiet(checker.commands, checker.calls_at_rest)
            if problem:
                calm = self.loop.time()
            checker.commands = 0
            checker.calls_at_rest.clear()

    async def _unanswered(self) -> tuple[Violation, ...]:
        """Return what was asked of an installation and has no answer yet."""
        found = tuple[Violation, ...]()
        for home in self.session.homes:
            if not home.shadow.lost:
                found = found or unanswered(await self.session.requests_of(home))
        return found

    def _shadows(self) -> list[ShadowStore]:
        return [shadow for shadow in self.checker.shadows if not shadow.lost]

    def _unrest(self, shadow: ShadowStore) -> tuple[Violation, ...]:
        return tuple(p for f in shadow.fleets.values() for p in self.checker.rested(shadow, f))

    def subject(self, violation: Violation) -> str:
        """Return the machine whose story a violation is."""
        return violation.machine or ""
