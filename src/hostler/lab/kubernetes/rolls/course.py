"""The course of a roll: Machines are there, each is replaced, faults cease, and all are deleted."""

import asyncio
from datetime import timedelta
from pathlib import Path
from random import Random

from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.lab.harness.process import Home
from hostler.lab.kubernetes.faults import ClusterScenario
from hostler.lab.kubernetes.service import Service
from hostler.lab.kubernetes.site import is_ready, provisioned
from hostler.lab.macs.names import parse_name
from hostler.lab.scenario.course import EngineCourse
from hostler.lab.scenario.disruptions import Disruptions
from hostler.lab.scenario.faults import HOUR
from hostler.simulators.scaleway.state.mac_records import Mac, MacStatus
from hostler.testing.time.clock import SimClock

from .environment import RollEnvironment
from .scenario import RollScenario

REACHED = 8 * HOUR
"""How long, in seconds without faults, it may take until a roll is over: less than any floor."""
QUARANTINE = 24 * HOUR
"""So long hosts whose wipes failed are left alone: a roll that needs them waits for them."""
RESTS = 600.0
"""So long nothing may be written then."""
_STEP, _LOOK = 10.0, timedelta(seconds=10)


class RollCourse(EngineCourse):
    """One roll. Implements `hostler.lab.scenario.run.Course`."""

    def __init__(self, scenario: ClusterScenario, roll: RollScenario, folder: Path) -> None:
        self.environment = RollEnvironment(scenario, roll)
        super().__init__(self.environment, folder)
        self._roll, self._wanted = roll, roll.machines
        self._old = set[str]()

    async def _go(self) -> None:
        scenario, site = self.base, self.environment.site
        async with asyncio.TaskGroup() as group:
            home = self._found_home()
            process = self.session.add_process(home, "a", scenario.skews[0])
            service = Service(process, site, Random(f"hostler api {scenario.seed}"))
            await process.start(group)
            disruptions = Disruptions(self.session, group)
            serving, wanting, rolling = (
                group.create_task(service.run()),
                group.create_task(self._want()),
                group.create_task(self._replace_all()),
            )
            striking = group.create_task(disruptions.run())
            await self._until(scenario.span)
            striking.cancel()
            if self.checker.first is None:
                self.trace.note("no more faults")
                self.environment.cease()
                await disruptions.cease()
                await self._reach(self._most())
            if self.checker.first is None:
                await self._reach(0)
            for fault, times in site.gateway.faults.counts.items():
                self.checker.struck(f"api_{fault.value}", times)
            for task in (serving, wanting, rolling):
                task.cancel()
            await process.end()

    def _found_home(self) -> Home:
        """Return the installation; a judge of it knows that all hosts may be asked for."""
        home = self.session.found_home(replicas=1)
        size = self.base.machines
        home.shadow.fleets = {one.name: replace(one, size=size) for one in home.fleets}
        return home

    async def _want(self) -> None:
        """Let core go round: as many Machines as are wanted now."""
        while True:
            self.environment.site.step(self._wanted)
            await asyncio.sleep(_STEP)

    async def _replace_all(self) -> None:
        """Delete each Machine that is there, one after the other, as a roll does."""
        await asyncio.sleep(self._roll.at)
        site = self.environment.site
        self._old = {str(one["metadata"]["name"]) for one in site.machines()}
        for name in sorted(self._old):
            await self._all_ready()
            self.trace.note(f"the roll replaces {name}")
            site.delete_machine(name)
            await asyncio.sleep(2 * _STEP)  # core has seen it by then

    async def _all_ready(self) -> None:
        """Wait until as many are ready as are wanted."""
        clock = SimClock(self.loop)
        while self._ready() < self._wanted:
            await clock.sleep(_LOOK)

    def _ready(self) -> int:
        return sum(map(is_ready, provisioned(self.environment.site.hostler_machines())))

    def _tick(self) -> None:
        super()._tick()
        self.environment.roll_checker.objects(self.environment.site.hostler_machines())

    def _most(self) -> int:
        """Return how many Machines can be wanted in the end: people bought no Mac anew."""
        return min(self._roll.machines, len(self._whole()))

    def _whole(self) -> list[Mac]:
        """Return the Macs that are not broken, and that nobody took out of the pool.

        One that is in error in the pool is its owner's to mend, and is reported; so is one that a
        person took out of the pool, or gave the name again of the machine that had it last.
        """
        macs = self.environment.world.cloud.macs
        return [m for m in macs if self._is_ours(m) and not self._is_taken(m)]

    def _is_ours(self, mac: Mac) -> bool:
        return mac.status is not MacStatus.ERROR or parse_name(mac.name) is not None

    def _is_taken(self, mac: Mac) -> bool:
        """Tell whether only people can say whose a Mac is, by the name that a person gave it.

        The name of a machine that never had it is over with that machine.
        """
        fact = self.environment.roll_checker.truth.hosts.get(HostId(mac.id))
        pooled = mac.name.startswith(self._roll.macs.pools)
        if fact is None or not fact.by_person or pooled:
            return False
        records = [shadow.hosts.get(HostId(mac.id)) for shadow in self._shadows()]
        had = {record.machine for record in records if record is not None}
        return fact.owner is None or fact.owner[1].machine in had

    async def _reach(self, machines: int) -> None:
        """Let so many Machines be wanted, and wait until the roll is over, and all is quiet."""
        self.trace.note(f"{machines} Machines are wanted")
        self._wanted = machines
        site, judge = self.environment.site, self.environment.roll_checker
        begun = enough = calm = self.loop.time()
        written, reached = site.written, False
        while judge.first is None and self.loop.time() - calm < RESTS:
            if self._lacks_hosts(machines):
                enough = min(self.loop.time(), begun + QUARANTINE)
            if self.loop.time() - enough > REACHED:
                objects = [one["metadata"]["name"] for one in site.hostler_machines()]
                text = f"{machines} are wanted; there are {objects}, of old {sorted(self._old)}"
                judge.wrong("fight" if reached else "L1", text)
                return
            await asyncio.sleep(_STEP)
            self._tick()
            reached = self._is_reached(machines)
            if not reached or site.written != written:
                written, calm = site.written, self.loop.time()

    def _lacks_hosts(self, wanted: int) -> bool:
        """Tell whether fewer hosts are left than are wanted: others are apart, or broken."""
        hosts = [host for shadow in self._shadows() for host in shadow.hosts.values()]
        apart = {host.id for host in hosts if host.health.quarantined_until is not None}
        return sum(mac.id not in apart for mac in self._whole()) < wanted

    def _is_reached(self, wanted: int) -> bool:
        """Tell whether as many as are wanted are ready, and none of old."""
        site = self.environment.site
        items = site.hostler_machines()
        names = {str(one["metadata"]["name"]) for one in items}
        living = [one for shadow in self._shadows() for one in shadow.living()]
        counts = {len(items), len(site.machines()), self._ready(), len(living)}
        return counts == {wanted} and not names & self._old
