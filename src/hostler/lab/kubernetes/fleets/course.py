"""The course of a run of Fleets: people write, faults cease, and all Fleets are deleted."""

import asyncio
from collections.abc import Sequence
from contextvars import Context
from pathlib import Path
from random import Random

from hostler.config.digests import differing, digests
from hostler.config.values import Config
from hostler.controllers.runtime.settings import Account
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet
from hostler.lab.harness.process import Home, Process, Watch
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.operator import Operator

from .edits import Edit
from .environment import FleetsEnvironment, in_force
from .people import Aim, People
from .service import ObjectsService
from .stages import stages

REACHED = 3600.0
"""How long, in seconds without faults, it may take until all is as it was written, and no more."""
RESTS = 300.0
"""So long nothing may be written then."""


class FleetsCourse(EngineCourse):
    """One scenario of Fleets and Hosts. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: ClusterScenario, folder: Path) -> None:
        self._environment = FleetsEnvironment(scenario)
        super().__init__(self._environment, folder)
        self.scenario, self._folder = scenario, folder
        objects = self._environment.objects
        self._people = [People(objects, space) for space in objects.spaces]
        self._config: Config | None = None
        self._next: Config | None = None
        self._goes_on = False

    async def _go(self) -> None:
        scenario, objects = self.base, self._environment.objects
        async with asyncio.TaskGroup() as group:
            self._group = group
            home = self._found_home()
            process = self._process = self.session.add_process(home, "a", scenario.skews[0])
            process.accounts = self._accounts
            await process.start(group)
            random = Random(f"hostler objects {scenario.seed}")
            folder = self._folder / "secrets"
            service = ObjectsService(
                process, objects, random, folder, self._take, lambda: self._goes_on
            )
            disruptions, operator = Disruptions(self.session, group), Operator(self.session)
            serving = group.create_task(service.run())
            edits = (self.scenario.edits, self.scenario.lifecycle)
            doing = [group.create_task(self._write(one)) for one in edits]
            doing.append(group.create_task(disruptions.run()))
            await self._until(scenario.span)
            for task in doing:
                task.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self._environment.cease()
                await disruptions.cease()
            for aims in stages(self.scenario, objects):
                if self.checker.first is None:
                    await self._reach(operator, disruptions, aims)
            for fault, times in objects.gateway.faults.counts.items():
                self.checker.struck(f"api_{fault.value}", times)
            serving.cancel()
            await process.end()

    def _found_home(self) -> Home:
        """Return the installation; it has no fleets before it has read of them."""
        home = self.session.found_home(replicas=1)
        home.fleets, home.shadow.fleets = (), {}
        return home

    async def _write(self, edits: Sequence[Edit]) -> None:
        """Write what people write, at its time."""
        for edit in edits:
            await asyncio.sleep(max(0.0, edit.at - self.loop.time()))
            people = self._people[edit.space % len(self._people)]
            done = "" if people.write(edit) else ", and cannot"
            where = f" in {people.space.name}" if len(self._people) > 1 else ""
            self.trace.note(f"somebody writes {edit.write} {edit.who} {edit.value}{where}{done}")

    def _could_act(self) -> bool:
        """Tell whether an engine could act: one that has not read what is wanted cannot."""
        return super()._could_act() and self._config is not None

    def _tick(self) -> None:
        super()._tick()
        self._environment.fleets_checker.look()

    # ------------------------------------------------------------ what is in force

    def _take(self, config: Config) -> None:
        """Let the engine begin anew with other tables, once whoever found them has gone."""
        self.loop.call_soon(self._replace, config, context=Context())

    def _replace(self, config: Config) -> None:
        process, home = self._process, self._process.home
        stood = self._next or self._config
        same = stood is not None and not differing(digests(stood), digests(config))
        if same or process.retired:
            return
        names = ", ".join(
            f"{one.name}{' (removed)' if one.removed else ''}" for one in config.fleets
        )
        boxes = "; ".join(f"{name} {boxes}" for name, boxes in in_force(config).items())
        self.trace.note(f"in force are {names or 'no fleets'}; {boxes or 'no boxes'}")
        self._next, home.fleets = config, config.fleets
        home.shadow.fleets = {**self._left_out(config), **{one.name: one for one in config.fleets}}
        self.checker.fleets_changed(home.shadow)
        process.kill()
        self.loop.call_later(1.0, self._start, process, context=Context())

    def _left_out(self, config: Config) -> dict[FleetName, Fleet]:
        """Return the fleets of before that have machines, and that no engine can be told of."""
        shadow, names = self._process.home.shadow, {one.name for one in config.fleets}
        return {
            name: one
            for name, one in shadow.fleets.items()
            if name not in names and shadow.living(name)
        }

    def _start(self, process: Process) -> None:
        if not process.retired:
            self._group.create_task(process.start(self._group), context=Context())

    def _accounts(self, run: ProcessRun, watch: Watch) -> tuple[Account, ...]:
        """Return the accounts that a run has: those in force, where a fleet lives in them.

        Where objects come and go, one that was not begun for them has none before it has read them.
        """
        lasts = not self.scenario.lifecycle
        self._goes_on = self._next is not None and not lasts
        self._config, self._next = self._next or (self._config if lasts else None), None
        judge = self._environment.fleets_checker
        if self._config is None:
            judge.in_force = {}
            return ()
        asked = {str(one.name) for one in self._config.fleets if not one.removed}
        judge.takes(in_force(self._config), asked)
        rows = run.shadow.rows
        fleets = [one for one in self._config.fleets if not one.removed or one.name in rows]
        return tuple(
            Account(
                name=account.name,
                provider=watch(self._environment.account(run, account)),
                fleets=tuple(one for one in fleets if one.account == account.name),
            )
            for account in self._config.accounts
            if any(one.account == account.name for one in fleets)
        )

    # ------------------------------------------------------------ what is reached

    async def _reach(
        self, operator: Operator, disruptions: Disruptions, aims: Sequence[Aim]
    ) -> None:
        """Have people tidy up, and wait until all is as they wrote it, and quiet."""
        objects, judge = self._environment.objects, self._environment.fleets_checker
        begun = calm = helped = self.loop.time()
        written, problem = objects.written, ""
        self.trace.note(f"people want {'; '.join(map(str, aims))}")
        while judge.first is None and self.loop.time() - calm < RESTS:
            if self.loop.time() - begun > REACHED:
                invariant, _, text = problem.partition(": ")
                judge.wrong(invariant if text else "fight", text or "it is written for ever")
                return
            for people, aim in zip(self._people, aims, strict=True):
                people.calm(aim)
            await asyncio.sleep(self.cadence.tick)
            self._tick()
            if self.loop.time() >= helped:
                helped = self.loop.time() + 6 * self.cadence.tick
                await operator.help(disruptions)
            problem = await self._problem(aims)
            if problem or objects.written != written:
                written, calm = objects.written, self.loop.time()

    async def _problem(self, aims: Sequence[Aim]) -> str:
        """Return what is not as it should be in the end, after the name of an invariant."""
        judge = self._environment.fleets_checker
        for shadow in self._shadows():
            found = self._unrest(shadow) or await self._unanswered()
            if found:
                return f"{found[0].invariant}: {found[0].text}"
            for people, aim in zip(self._people, aims, strict=True):
                if text := judge.untrue(shadow, people.space, aim):
                    return text
            if not any(aim.sizes for aim in aims) and (left := shadow.living()):
                return f"leaves: {len(left)} machines are left"
        return ""
