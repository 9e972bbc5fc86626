"""The course of a run of Cluster Autoscaler: pods and faults, then pods alone, then none."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from hostler.config.node_tables import NodeTable
from hostler.domain.ids import HostId
from hostler.domain.model.resource import Condition
from hostler.frontends.externalgrpc.calls import State
from hostler.lab.harness.process import Home
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.operator import Operator

from .asked import Asked
from .calls import Client
from .cluster import PROVIDER_ID, Cluster
from .core import Core
from .environment import AutoscalerEnvironment
from .faults import AutoscalerScenario
from .service import Service

REACHED = 3 * 3600.0
"""How long, in seconds without faults, it may take until the pods have their nodes, and no more."""
RESTS = 300.0
"""So long nothing may be asked for then."""


class AutoscalerCourse(EngineCourse):
    """One scenario of Cluster Autoscaler. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: AutoscalerScenario, folder: Path) -> None:
        self._environment = AutoscalerEnvironment(scenario)
        super().__init__(self._environment, folder)
        self.scenario = scenario
        truth, judge = self._environment.truth, self._environment.answers_checker
        self._cluster = Cluster(truth, scenario, judge.ready_since)
        self._core: Core

    async def _go(self) -> None:
        scenario = self.base
        async with asyncio.TaskGroup() as group:
            home = self._found_home()
            process = self.session.add_process(home, "a", scenario.skews[0])
            await process.start(group)
            node = NodeTable(minimum=self.scenario.minimum, provider_id=PROVIDER_ID)
            service = Service(process, node)
            client = Client(service)
            asked = Asked(client, self._environment.answers_checker)
            self._core = Core(client, asked, self._cluster, self.scenario)
            disruptions, operator = Disruptions(self.session, group), Operator(self.session)
            serving = group.create_task(service.run())
            asking = group.create_task(self._ask())
            faults = [group.create_task(disruptions.run()), group.create_task(operator.run())]
            await self._until(scenario.span)
            for task in faults:
                task.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self._environment.cease()
                await disruptions.cease()
                await self._reach(min(2, self.scenario.boxes))
            if self.checker.first is None:
                await self._reach(0)
            asking.cancel()
            serving.cancel()
            await process.end()

    def _found_home(self) -> Home:
        """Return the installation; a judge of it knows that all boxes may be asked for."""
        home = self.session.found_home(replicas=1)
        home.shadow.fleets = {
            fleet.name: replace(fleet, size=self.scenario.boxes) for fleet in home.fleets
        }
        return home

    async def _ask(self) -> None:
        """Let core go round, and begin anew where that is drawn."""
        restarted = self._environment.core_restarted
        while True:
            async with asyncio.TaskGroup() as group:
                running = group.create_task(self._core.run())
                await restarted.wait()
                running.cancel()
            restarted.clear()
            await self._core.restart()

    # ------------------------------------------------------------ what is reached

    async def _reach(self, nodes: int) -> None:
        """Let so many nodes be needed, and wait until there are as many, and all is quiet."""
        self.trace.note(f"{nodes} nodes are needed")
        self._cluster.final = nodes
        wanted = max(nodes, self.scenario.minimum)
        begun = calm = self.loop.time()
        while self.checker.first is None and self.loop.time() - calm < RESTS:
            if self.loop.time() - begun > REACHED:
                self._environment.answers_checker.wrong("L1", self._standing(wanted))
                return
            await asyncio.sleep(self.cadence.tick)
            self._tick()
            if not self._is_reached(wanted):
                calm = self.loop.time()

    def _is_reached(self, wanted: int) -> bool:
        """Tell whether there are as many nodes as are wanted, by all accounts."""
        view, judge = self._core.view, self._environment.answers_checker
        if view is None or self._core.acted > self.loop.time() - self.cadence.tick:
            return False
        states = [one.state for one in view.instances]
        up = [box for box in self._boxes() if self._environment.truth.condition(box) is not _OFF]
        by_records = len([m for shadow in judge.shadows for m in shadow.living()])
        counts = {view.target, len(view.ready), len(up), by_records}
        return counts == {wanted} and states == [State.RUNNING] * wanted

    def _standing(self, wanted: int) -> str:
        view, judge = self._core.view, self._environment.answers_checker
        records = [f"{m.id} {m.phase}" for shadow in judge.shadows for m in shadow.living()]
        boxes = [f"{box} {self._environment.truth.condition(box)}" for box in self._boxes()]
        seen = None if view is None else (view.target, len(view.ready), view.instances)
        return f"{wanted} are wanted; there are {seen}, {records}, {boxes}"

    def _boxes(self) -> list[HostId]:
        return [HostId(box.id) for box in self._environment.truth.rack.boxes()]


_OFF = Condition.OFF
