"""The course of a run of Fleets: people write, faults cease, and all Fleets are deleted."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account
from hostler.domain.model.fleet import Fleet
from hostler.frontends.kubernetes.nodes.fleets import ManagedFleet
from hostler.lab.harness.process import Home, Watch
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.nodes.service import NodeService
from hostler.lab.kubernetes.nodes.world import NodesWorld
from hostler.lab.kubernetes.shared_store import SharedStore
from hostler.lab.kubernetes.unheard import differences
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.operator import Operator
from hostler.queries.live import EngineRecords

from .edits import Edit
from .environment import FleetsEnvironment, in_force
from .people import Aim, People
from .replica import Replica, united
from .service import ObjectsService
from .stages import stages

REACHED = 3600.0
"""How long, in seconds without faults, it may take until all is as it was written, and no more."""
RESTS = 300.0
"""So long nothing may be written then."""
_STEP = 5.0


class FleetsCourse(EngineCourse):
    """One scenario of Fleets and Hosts. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: ClusterScenario, folder: Path) -> None:
        self._environment = FleetsEnvironment(scenario)
        super().__init__(self._environment, folder)
        self.scenario, self._folder = scenario, folder
        objects = self._environment.objects
        self._people = [People(objects, space) for space in objects.spaces]
        self._replicas = list[Replica]()
        self._services = list[ObjectsService]()
        self._shared: SharedStore | None = None

    async def _go(self) -> None:
        scenario, objects = self.base, self._environment.objects
        async with asyncio.TaskGroup() as group:
            home = self._found_home()
            random = Random(f"hostler objects {scenario.seed}")
            for number in range(scenario.replicas):
                await self._add_replica(home, number, random, group)
            disruptions, operator = Disruptions(self.session, group), Operator(self.session)
            serving = [group.create_task(service.run()) for service in self._services]
            edits = (self.scenario.edits, self.scenario.lifecycle)
            doing = [group.create_task(self._write(one)) for one in edits]
            doing.append(group.create_task(disruptions.run()))
            serving += [group.create_task(_go_on(one)) for one in self._environment.clusters]
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
            for task in serving:
                task.cancel()
            for process in self.session.processes:
                await process.end()

    def _found_home(self) -> Home:
        """Return the installation; it has no fleets before it has read of them."""
        scenario = self.base
        home = self.session.found_home(replicas=scenario.replicas)
        if scenario.replicas > 1:
            home.place = self._shared = self._environment.place(home.shadow.own)
            judge = self._environment.fleets_checker
            judge.saves_late(home.shadow, self.scenario.lateness_of_saves)
        if self.scenario.nodes is not None and home.shadow.bounds is not None:
            home.shadow.bounds = self.scenario.nodes.bounds(home.shadow.bounds)
        home.fleets, home.shadow.fleets = (), {}
        return home

    async def _add_replica(
        self, home: Home, number: int, random: Random, group: asyncio.TaskGroup
    ) -> None:
        name = "ab"[number]
        process = self.session.add_process(home, name, self.base.skews[number])
        replica = Replica(
            process=process, group=group, lasts=not self.scenario.lifecycle, taken=self._taken
        )
        process.accounts = partial(self._accounts, replica)
        self._replicas.append(replica)
        folder = self._folder / f"secrets-{name}"
        objects = self._environment.objects
        world = self._environment.nodes
        managed = partial(_managed, replica)
        nodes = None if world is None else NodeService(objects, world, managed)
        service = ObjectsService(replica, objects, random, folder, nodes)
        self._services.append(service)
        await process.start(group)

    async def _write(self, edits: Sequence[Edit]) -> None:
        """Write what people write, at its time."""
        for edit in edits:
            await asyncio.sleep(max(0.0, edit.at - self.loop.time()))
            people = self._people[edit.space % len(self._people)]
            done = "" if people.write(edit) else ", and cannot"
            self._environment.fleets_checker.look_at_sizes()
            where = f" in {people.space.name}" if len(self._people) > 1 else ""
            self.trace.note(f"somebody writes {edit.write} {edit.who} {edit.value}{where}{done}")

    def _could_act(self) -> bool:
        """Tell whether an engine could act: one that has not read what is wanted cannot."""
        read = (one.config is not None for one in self._replicas if one.process.alive)
        return super()._could_act() and any(read)

    def _tick(self) -> None:
        super()._tick()
        judge = self._environment.fleets_checker
        judge.look()
        for fleet in self.session.homes[0].fleets:
            lease = f"fleet/{fleet.name}"
            holders = [one.name for one in self.session.processes if one.holds(lease)]
            judge.alone(holders, f"hold {lease}")
        leading = [one.replica.process.name for one in self._services if one.candidacy.is_leading]
        judge.alone(leading, "are elected")

    # ------------------------------------------------------------ what is in force

    def _taken(self, replica: Replica) -> None:
        """Note that an engine is about to begin anew with other tables."""
        config = replica.coming
        if config is None:
            return
        names = ", ".join(
            f"{one.name}{' (removed)' if one.removed else ''}" for one in config.fleets
        )
        boxes = "; ".join(f"{name} {boxes}" for name, boxes in in_force(config).items())
        who = f"{replica.process.name}: " if len(self._replicas) > 1 else ""
        self.trace.note(f"{who}in force are {names or 'no fleets'}; {boxes or 'no boxes'}")
        self._tell_judge(config.fleets if len(self._replicas) == 1 else self._united())

    def _united(self) -> tuple[Fleet, ...]:
        return tuple(united(self._replicas).values())

    def _tell_judge(self, fleets: tuple[Fleet, ...]) -> None:
        """Let the judge know which fleets are run, and those with machines that none can run."""
        (home,) = self.session.homes
        shadow, names = home.shadow, {one.name for one in fleets}
        left = {
            name: one
            for name, one in shadow.fleets.items()
            if name not in names and shadow.living(name)
        }
        home.fleets = fleets
        shadow.fleets = {**left, **{one.name: one for one in fleets}}
        self.checker.fleets_changed(shadow)

    def _accounts(self, replica: Replica, run: ProcessRun, watch: Watch) -> tuple[Account, ...]:
        """Return the accounts that a run has: those in force, where a fleet lives in them."""
        replica.begins(run)
        if len(self._replicas) > 1:
            self._tell_judge(self._united())
        judge, config = self._environment.fleets_checker, replica.config
        if config is None:
            judge.takes(replica.process.name, {}, None, ())
            return ()
        asked = {str(one.name): one for one in config.fleets if not one.removed}
        judge.takes(replica.process.name, in_force(config), asked, replica.read())
        rows = run.shadow.rows
        fleets = [one for one in config.fleets if not one.removed or one.name in rows]
        return tuple(
            Account(
                name=account.name,
                provider=watch(self._environment.account(run, account)),
                fleets=tuple(one for one in fleets if one.account == account.name),
            )
            for account in config.accounts
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
            judge.look_at_sizes()
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
            if self._shared is not None and (lost := differences(shadow, self._shared.tables())):
                return f"alone: {lost}"
            if not any(aim.sizes for aim in aims) and (left := shadow.living()):
                return f"leaves: {len(left)} machines are left"
        nodes = self._environment.nodes
        return "" if nodes is None else next(nodes.standing(), "")


def _managed(replica: Replica, engine: Engine) -> tuple[ManagedFleet, ...]:
    """Return the fleets of an engine whose Nodes are worked at, by what it has in force."""
    config = replica.config
    return tuple(
        ManagedFleet(
            fleet=fleet,
            table=table,
            records=EngineRecords(loop, fleet.name),
            hosts=replica.said_of,
        )
        for loop in engine.loops
        for fleet in loop.state.account.fleets
        if config is not None
        and (table := config.nodes.get(fleet.name)) is not None
        and table.managed is not None
    )


async def _go_on(nodes: NodesWorld) -> None:
    """Let the cluster's own parts work for ever."""
    while True:
        nodes.step()
        await asyncio.sleep(_STEP)
