"""The course of a run of Fleets: people write, faults cease, and all Fleets are deleted."""

import asyncio
from collections.abc import Mapping
from contextvars import Context
from pathlib import Path
from random import Random

from hostler.domain.model.fleet import Fleet
from hostler.lab.harness.process import Home, Process
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.operator import Operator

from .edits import FLEETS
from .environment import FleetsEnvironment
from .service import ObjectsService

REACHED = 3600.0
"""How long, in seconds without faults, it may take until all is as it was written, and no more."""
RESTS = 300.0
"""So long nothing may be written then."""
_SIZES: Mapping[str, int] = {FLEETS[0]: 1, FLEETS[1]: 0}


class FleetsCourse(EngineCourse):
    """One scenario of Fleets and Hosts. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: ClusterScenario, folder: Path) -> None:
        self._environment = FleetsEnvironment(scenario)
        super().__init__(self._environment, folder)
        self.scenario, self._folder = scenario, folder

    async def _go(self) -> None:
        scenario, objects = self.base, self._environment.objects
        async with asyncio.TaskGroup() as group:
            self._group = group
            home = self._found_home()
            process = self._process = self.session.add_process(home, "a", scenario.skews[0])
            await process.start(group)
            random = Random(f"hostler objects {scenario.seed}")
            folder = self._folder / "secrets"
            service = ObjectsService(process, objects, random, folder, self._take)
            disruptions, operator = Disruptions(self.session, group), Operator(self.session)
            serving = group.create_task(service.run())
            striking, writing = (
                group.create_task(disruptions.run()),
                group.create_task(self._write()),
            )
            await self._until(scenario.span)
            striking.cancel()
            writing.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self._environment.cease()
                await disruptions.cease()
                await self._reach(operator, disruptions, _SIZES)
            if self.checker.first is None:
                for name in _SIZES:
                    objects.delete_fleet(name, "end")
                await self._reach(operator, disruptions, {})
            for fault, times in objects.gateway.faults.counts.items():
                self.checker.struck(f"api_{fault.value}", times)
            serving.cancel()
            await process.end()

    def _found_home(self) -> Home:
        """Return the installation; it has no fleets before it has read of them."""
        home = self.session.found_home(replicas=1)
        home.fleets, home.shadow.fleets = (), {}
        return home

    async def _write(self) -> None:
        """Write what people write, at its time."""
        for edit in self.scenario.edits:
            await asyncio.sleep(max(0.0, edit.at - self.loop.time()))
            done = "" if self._environment.objects.write(edit) else ", and cannot"
            self.trace.note(f"somebody writes {edit.write} {edit.who} {edit.value}{done}")

    # ------------------------------------------------------------ what is in force

    def _take(self, fleets: tuple[Fleet, ...]) -> None:
        """Let the engine begin anew with other fleets, once whoever found them has gone."""
        self.loop.call_soon(self._replace, fleets, context=Context())

    def _replace(self, fleets: tuple[Fleet, ...]) -> None:
        process, home = self._process, self._process.home
        if fleets == home.fleets or process.retired:
            return
        names = ", ".join(f"{one.name}{' (removed)' if one.removed else ''}" for one in fleets)
        self.trace.note(f"in force are {names or 'no fleets'}")
        home.fleets = fleets
        home.shadow.fleets = {fleet.name: fleet for fleet in fleets}
        self.checker.fleets_changed(home.shadow)
        process.kill()
        self.loop.call_later(1.0, self._start, process, context=Context())

    def _start(self, process: Process) -> None:
        if not process.retired:
            self._group.create_task(process.start(self._group), context=Context())

    # ------------------------------------------------------------ what is reached

    async def _reach(
        self, operator: Operator, disruptions: Disruptions, sizes: Mapping[str, int]
    ) -> None:
        """Have people tidy up, and wait until all is as they wrote it, and quiet."""
        objects, judge = self._environment.objects, self._environment.fleets_checker
        begun = calm = helped = self.loop.time()
        written, problem = objects.written, ""
        while judge.first is None and self.loop.time() - calm < RESTS:
            if self.loop.time() - begun > REACHED:
                invariant, _, text = problem.partition(": ")
                judge.wrong(invariant if text else "fight", text or "it is written for ever")
                return
            objects.calm(sizes)
            await asyncio.sleep(self.cadence.tick)
            self._tick()
            if self.loop.time() >= helped:
                helped = self.loop.time() + 6 * self.cadence.tick
                await operator.help(disruptions)
            problem = await self._problem(sizes)
            if problem or objects.written != written:
                written, calm = objects.written, self.loop.time()

    async def _problem(self, sizes: Mapping[str, int]) -> str:
        """Return what is not as it should be in the end, after the name of an invariant."""
        judge = self._environment.fleets_checker
        for shadow in self._shadows():
            found = self._unrest(shadow) or await self._unanswered()
            if found:
                return f"{found[0].invariant}: {found[0].text}"
            if text := judge.untrue(shadow, sizes):
                return text
            if not sizes and (left := shadow.living()):
                return f"leaves: {len(left)} machines are left"
        return ""
