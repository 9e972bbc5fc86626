"""Disruptions: what happens to processes and their hosts, at the times drawn."""

import asyncio
import contextvars
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from hostler.domain.model.fleet import Fleet
from hostler.lab.harness.gates import Trap
from hostler.lab.harness.process import Home, Process

from .faults import Disruption
from .file_faults import FILE_FAULTS, edited
from .session import Session
from .store_disruptions import StoreDisruptions


class Disruptions:
    """Lets faults of ours happen to the processes of a ground."""

    def __init__(self, session: Session, group: asyncio.TaskGroup) -> None:
        self._session, self._group = session, group
        self._second: Home | None = None
        self._stores = StoreDisruptions(session, self._later, self._start)
        self._ways: dict[str, Callable[[Process, Disruption], None]] = {
            "crash": self._crash,
            "paused": self._pause,
            "suspended": self._suspend,
            "clock_jump": self._jump,
            "store_busy": self._busy,
            "disk_full": self._busy,
            "network_down": self._cut,
            "lease_lost": self._lose_lease,
        }

    async def run(self) -> None:
        """Strike as drawn."""
        session = self._session
        if session.scenario.second is not None:
            self._plan(session.scenario.second, self._arrive)
        for disruption in session.scenario.disruptions:
            await asyncio.sleep(max(0.0, disruption.at - session.loop.time()))
            self._rewrite(disruption)
            if disruption.fault in FILE_FAULTS:
                session.checker.happened(disruption.fault, done=True)
                continue
            done = session.environment.strike(session.standing().shadow.own, disruption)
            if done is not None:
                session.checker.happened(disruption.fault, done=done)
                continue
            if await self._stores.strike(disruption):
                continue
            if disruption.fault == "store_lost":
                await self._lose_store()
                continue
            processes = [p for p in session.processes if p.incarnation is not None]
            if processes:
                self._strike(processes[disruption.who % len(processes)], disruption)

    def _rewrite(self, disruption: Disruption) -> None:
        """Write fleet files anew where a disruption does that; whoever reads them begins again."""
        session = self._session
        for home in session.homes:
            fleets = self._rewritten(home, disruption)
            if fleets == home.fleets or home.shadow.lost:
                continue
            home.fleets = fleets
            home.shadow.fleets = {fleet.name: fleet for fleet in fleets}
            session.checker.fleets_changed(home.shadow)
            for process in session.processes:
                if process.home is home and not process.retired:
                    process.kill()
                    self._later(1.0, partial(self._start, process))

    def _rewritten(self, home: Home, disruption: Disruption) -> tuple[Fleet, ...]:
        """Return the fleets of an installation after a disruption; who removes one removes ours."""
        session = self._session
        if disruption.fault in FILE_FAULTS:
            ours = home is session.standing()
            return edited(home.fleets, disruption) if ours else home.fleets
        return tuple(session.environment.rewritten(fleet, disruption) for fleet in home.fleets)

    def _strike(self, process: Process, disruption: Disruption) -> None:
        self._ways[disruption.fault](process, disruption)

    def _note(self, fault: str, process: Process) -> None:
        self._session.trace.note(f"{process.name}: {fault}")
        self._session.checker.struck(fault)

    def _plan(self, at: float, work: Callable[[], None]) -> None:
        self._session.loop.call_at(at, work)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        """Plan something of nobody's: what strikes in the midst of a process is not its own."""
        self._session.loop.call_later(seconds, work, context=contextvars.Context())

    def _now_or_at_a_call(
        self, process: Process, disruption: Disruption, work: Callable[[], None]
    ) -> None:
        run = process.incarnation
        if disruption.skip < 0 or run is None:
            work()
        else:
            run.gate.trap(
                Trap(
                    strike=work,
                    skip=disruption.skip,
                    before=disruption.before,
                    port=disruption.port,
                )
            )

    def _crash(self, process: Process, disruption: Disruption) -> None:
        def strike() -> None:
            self._note("crash", process)
            process.kill()
            self._later(disruption.length, lambda: self._start(process))

        self._now_or_at_a_call(process, disruption, strike)

    def _start(self, process: Process) -> None:
        if not process.retired:
            self._group.create_task(process.start(self._group), context=contextvars.Context())

    def _pause(self, process: Process, disruption: Disruption) -> None:
        self._stop(process, disruption, "paused", slept=0.0)

    def _suspend(self, process: Process, disruption: Disruption) -> None:
        self._stop(process, disruption, "suspended", slept=disruption.length)

    def _stop(self, process: Process, disruption: Disruption, name: str, *, slept: float) -> None:
        """Let a process stand still for a while; one that does is not stopped once more."""

        def strike() -> None:
            if not process.alive:
                return
            run = process.incarnation
            self._note(name, process)
            process.stop()
            self._later(disruption.length, lambda: process.go_on(slept, run))

        self._now_or_at_a_call(process, disruption, strike)

    def _jump(self, process: Process, disruption: Disruption) -> None:
        self._note("clock_jump", process)
        process.jump(timedelta(seconds=disruption.length))

    def _busy(self, process: Process, disruption: Disruption) -> None:
        run = process.incarnation
        if run is not None:
            run.gate.refuse_writes(self._session.loop.time() + disruption.length, disruption.fault)

    def _cut(self, process: Process, disruption: Disruption) -> None:
        process.set_network(down=True)
        self._later(disruption.length, lambda: process.set_network(down=False))

    def _lose_lease(self, process: Process, disruption: Disruption) -> None:
        run = process.incarnation
        if run is not None:
            run.gate.refuse_renewals(self._session.loop.time() + disruption.length)

    async def _lose_store(self) -> None:
        """Take the records of the first installation away: its processes begin with new ones."""
        session = self._session
        old = session.homes[0]
        session.trace.note("the store is lost")
        session.checker.struck("store_lost")
        mine = [p for p in session.processes if p.home is old]
        for process in mine:
            await process.end()
        old.shadow.lost = True
        new = session.found_home(replicas=old.replicas)
        for process in mine:
            successor = session.add_process(new, f"{process.name}'", 0.0)
            await successor.start(self._group)

    def _arrive(self) -> None:
        """Let a second installation, with the same fleet's name, come into the project."""
        session = self._session
        session.trace.note("a second installation arrives")
        self._second = session.found_home(replicas=1, other=True)
        session.checker.struck("second_installation")
        process = session.add_process(self._second, "z", 0.0)
        self._group.create_task(process.start(self._group))

    @property
    def second(self) -> Home | None:
        """The second installation, if it came."""
        return self._second

    async def cease(self) -> None:
        """Let all go on, and every process run."""
        session = self._session
        for process in session.processes:
            process.set_network(down=False)
            run = process.incarnation
            if run is not None:
                run.gate.calm()
                if run.gate.life.stopped:
                    process.go_on()
            elif not process.retired:
                await process.start(self._group)
