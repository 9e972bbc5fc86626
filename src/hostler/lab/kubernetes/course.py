"""The course of a run of Cluster API: Machines and faults, then Machines alone, then none."""

import asyncio
from pathlib import Path
from random import Random

from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, OrphanClass
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.harness.process import Home
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.operator import Operator

from .environment import ClusterEnvironment
from .faults import ClusterScenario
from .nodes.service import NodeService, of_one
from .service import Service
from .shared_store import SharedStore
from .site import provisioned
from .unheard import differences

REACHED = 3 * 3600.0
"""How long, in seconds without faults, it may take until the Machines have hosts, and no more."""
RESTS = 300.0
"""So long nothing may be written then."""
_STEP = 5.0


class ClusterCourse(EngineCourse):
    """One scenario of Cluster API. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: ClusterScenario, folder: Path) -> None:
        self._environment = ClusterEnvironment(scenario)
        super().__init__(self._environment, folder)
        self.scenario = scenario
        self._final: int | None = None
        self._asked = set[MachineId]()
        self._services = list[Service]()
        self._shared: SharedStore | None = None

    async def _go(self) -> None:
        scenario, site = self.base, self._environment.site
        async with asyncio.TaskGroup() as group:
            home = self._found_home()
            random = Random(f"hostler api {scenario.seed}")
            world = self._environment.nodes
            nodes = None if world is None else NodeService(site, world, of_one(world.scenario))
            for number in range(scenario.replicas):
                name = "ab"[number]
                process = self.session.add_process(home, name, scenario.skews[number])
                self._services.append(Service(process, site, random, nodes))
                await process.start(group)
            disruptions, operator = Disruptions(self.session, group), Operator(self.session)
            serving = [group.create_task(one.run()) for one in self._services]
            wanting = group.create_task(self._want())
            faults = [group.create_task(disruptions.run()), group.create_task(operator.run())]
            faults.append(group.create_task(self._end_by_hand(operator, home)))
            await self._until(scenario.span)
            for task in faults:
                task.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self._environment.cease()
                await disruptions.cease()
                await self._reach(min(2, self.scenario.boxes))
            if self.checker.first is None:
                if self._environment.nodes is not None:
                    self._environment.nodes.tidy_up()
                await self._reach(0)
            for fault, times in site.gateway.faults.counts.items():
                self.checker.struck(f"api_{fault.value}", times)
            wanting.cancel()
            for task in serving:
                task.cancel()
            for process in self.session.processes:
                await process.end()

    def _found_home(self) -> Home:
        """Return the installation; a judge of it knows that all boxes may be asked for."""
        scenario = self.base
        home = self.session.found_home(replicas=scenario.replicas)
        if scenario.cluster is not None:
            home.place = self._shared = self._environment.place(home.shadow.own)
            judge = self._environment.objects_checker
            judge.saves_late(home.shadow, self.scenario.lateness_of_saves)
        for drawn in (self.scenario.nodes, self.scenario.scripts):
            if drawn is not None and home.shadow.bounds is not None:
                home.shadow.bounds = drawn.bounds(home.shadow.bounds)
        home.shadow.fleets = {
            fleet.name: replace(fleet, size=self.scenario.boxes) for fleet in home.fleets
        }
        return home

    async def _want(self) -> None:
        """Let core go round: as many Machines as are wanted now."""
        while True:
            self._environment.site.step(self._wanted())
            if self._environment.nodes is not None:
                self._environment.nodes.step()
            await asyncio.sleep(_STEP)

    async def _end_by_hand(self, operator: Operator, home: Home) -> None:
        """Let a person ask for the end of machines that are ready, past Cluster API."""
        nodes = self.scenario.nodes
        for at in () if nodes is None else nodes.ends:
            await asyncio.sleep(max(0.0, at - self.loop.time()))
            living = home.shadow.living()
            ready = [one.id for one in living if one.phase is Phase.READY and not one.deletion]
            if ready:
                chosen = min(ready)
                await operator.request(home, RequestKind.DELETE, machine=chosen)

    def _wanted(self) -> int:
        if self._final is not None:
            return self._final
        now = self.loop.time()
        past = [one.machines for one in self.scenario.replicas if one.at <= now]
        return past[-1] if past else 0

    def _tick(self) -> None:
        super()._tick()
        judge = self._environment.objects_checker
        judge.objects()
        for lease in (
            "account/main",
            *(f"fleet/{one.name}" for one in self.session.homes[0].fleets),
        ):
            holders = [one.name for one in self.session.processes if one.holds(lease)]
            judge.alone(holders, f"hold {lease}")
        leading = [one.process.name for one in self._services if one.candidacy.is_leading]
        judge.alone(leading, "are elected")

    # ------------------------------------------------------------ what is reached

    async def _reach(self, machines: int) -> None:
        """Let so many Machines be wanted, and wait until they are there, and all is quiet."""
        self.trace.note(f"{machines} Machines are wanted")
        self._final = machines
        site, judge = self._environment.site, self._environment.objects_checker
        begun = calm = self.loop.time()
        written, reached = site.written, False
        while self.checker.first is None and self.loop.time() - calm < RESTS:
            if self.loop.time() - begun > REACHED:
                judge.wrong("fight" if reached else "L1", self._standing(machines))
                return
            await asyncio.sleep(self.cadence.tick)
            self._tick()
            await self._help()
            reached = self._is_reached(machines) and not self._lost() and not self._of_nodes()
            if not reached or site.written != written:
                written, calm = site.written, self.loop.time()

    async def _help(self) -> None:
        """Let a person end the machines that the program reports as abandoned, once for each.

        People know of them from that report alone: what it lacks stays, and nothing is reached.
        They let go of what was protected, too.
        """
        (home,) = self.session.homes
        for machine in home.shadow.living():
            if machine.protection is not None:
                operator = Operator(self.session)
                await operator.request(home, RequestKind.UNPROTECT, machine=machine.id)
        orphans = home.shadow.orphans.values()
        abandoned = {one.machine for one in orphans if one.cls is OrphanClass.ABANDONED}
        for machine in tuple(home.shadow.living()):
            asked = machine.deletion is not None or machine.id in self._asked
            if machine.id in abandoned and not asked:
                self._asked.add(machine.id)
                await Operator(self.session).request(home, RequestKind.DELETE, machine=machine.id)

    def _is_reached(self, wanted: int) -> bool:
        """Tell whether there are as many as are wanted, by all accounts."""
        site = self._environment.site
        items, judge = site.hostler_machines(), self._environment.objects_checker
        truth = self._environment.truth
        up = [box for box in self._boxes() if truth.condition(box) is not _OFF]
        by_records = len([m for shadow in judge.shadows for m in shadow.living()])
        counts = {len(items), len(site.machines()), len(provisioned(items)), by_records, len(up)}
        return counts == {wanted} and site.has_namespace

    def _lost(self) -> str:
        """Return what the store lacks of what was saved, where the engines share one."""
        (home,) = self.session.homes
        return "" if self._shared is None else differences(home.shadow, self._shared.tables())

    def _of_nodes(self) -> str:
        """Return what is not as it should be with Nodes, where machines are some."""
        nodes = self._environment.nodes
        return "" if nodes is None else "; ".join(nodes.standing())

    def _standing(self, wanted: int) -> str:
        site, judge = self._environment.site, self._environment.objects_checker
        records = [f"{m.id} {m.phase}" for shadow in judge.shadows for m in shadow.living()]
        boxes = [f"{box} {self._environment.truth.condition(box)}" for box in self._boxes()]
        objects = [(one["metadata"]["name"], one.get("status")) for one in site.hostler_machines()]
        lost, nodes = self._lost() or "all saved", self._of_nodes()
        return f"{wanted} are wanted; there are {objects}, {records}, {boxes}; {lost}; {nodes}"

    def _boxes(self) -> list[HostId]:
        return [HostId(box.id) for box in self._environment.truth.rack.boxes()]


_OFF = Condition.OFF
