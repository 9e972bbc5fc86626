"""Strokes: what befalls processes and their hosts, at the times that the climate drew."""

import asyncio
import contextvars
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from hostler.lab.harness.gates import Trap
from hostler.lab.harness.process import Home, Process

from .faults import Stroke
from .session import Ground


class Strokes:
    """Lets faults of ours happen to the processes of a ground."""

    def __init__(self, ground: Ground, group: asyncio.TaskGroup) -> None:
        self._ground, self._group = ground, group
        self._second: Home | None = None
        self._ways: dict[str, Callable[[Process, Stroke], None]] = {
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
        ground = self._ground
        if ground.climate.second is not None:
            self._plan(ground.climate.second, self._arrive)
        for stroke in ground.climate.strokes:
            await asyncio.sleep(max(0.0, stroke.at - ground.loop.time()))
            self._rewrite(stroke)
            own = next(home for home in ground.homes if not home.book.lost).book.own
            done = ground.land.befall(ground.world, own, stroke)
            if done is not None:
                ground.watch.befallen(stroke.fault, done=done)
                continue
            if stroke.fault == "store_lost":
                await self._lose_store()
                continue
            processes = [p for p in ground.processes if p.incarnation is not None]
            if processes:
                self._strike(processes[stroke.who % len(processes)], stroke)

    def _rewrite(self, stroke: Stroke) -> None:
        """Write fleet files anew where a stroke does that; whoever reads them begins again."""
        ground = self._ground
        for home in ground.homes:
            fleets = tuple(ground.land.rewritten(fleet, stroke) for fleet in home.fleets)
            if fleets == home.fleets or home.book.lost:
                continue
            home.fleets = fleets
            home.book.fleets = {fleet.name: fleet for fleet in fleets}
            ground.watch.fleets_changed(home.book)
            for process in ground.processes:
                if process.home is home and not process.retired:
                    process.kill()
                    self._later(1.0, partial(self._start, process))

    def _strike(self, process: Process, stroke: Stroke) -> None:
        self._ways[stroke.fault](process, stroke)

    def _note(self, fault: str, process: Process) -> None:
        self._ground.trace.note(f"{process.name}: {fault}")
        self._ground.watch.struck(fault)

    def _plan(self, at: float, work: Callable[[], None]) -> None:
        self._ground.loop.call_at(at, work)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        """Plan something of nobody's: what strikes in the midst of a process is not its own."""
        self._ground.loop.call_later(seconds, work, context=contextvars.Context())

    def _now_or_at_a_call(self, process: Process, stroke: Stroke, work: Callable[[], None]) -> None:
        run = process.incarnation
        if stroke.skip < 0 or run is None:
            work()
        else:
            run.gate.trap(
                Trap(strike=work, skip=stroke.skip, before=stroke.before, port=stroke.port)
            )

    def _crash(self, process: Process, stroke: Stroke) -> None:
        def strike() -> None:
            self._note("crash", process)
            process.kill()
            self._later(stroke.length, lambda: self._start(process))

        self._now_or_at_a_call(process, stroke, strike)

    def _start(self, process: Process) -> None:
        if not process.retired:
            self._group.create_task(process.start(self._group), context=contextvars.Context())

    def _pause(self, process: Process, stroke: Stroke) -> None:
        def strike() -> None:
            self._note("paused", process)
            process.stop()
            self._later(stroke.length, process.go_on)

        self._now_or_at_a_call(process, stroke, strike)

    def _suspend(self, process: Process, stroke: Stroke) -> None:
        def strike() -> None:
            self._note("suspended", process)
            process.stop()
            self._later(stroke.length, lambda: process.go_on(stroke.length))

        self._now_or_at_a_call(process, stroke, strike)

    def _jump(self, process: Process, stroke: Stroke) -> None:
        self._note("clock_jump", process)
        process.jump(timedelta(seconds=stroke.length))

    def _busy(self, process: Process, stroke: Stroke) -> None:
        run = process.incarnation
        if run is not None:
            run.gate.refuse_writes(self._ground.loop.time() + stroke.length, stroke.fault)

    def _cut(self, process: Process, stroke: Stroke) -> None:
        process.set_network(down=True)
        self._later(stroke.length, lambda: process.set_network(down=False))

    def _lose_lease(self, process: Process, stroke: Stroke) -> None:
        run = process.incarnation
        if run is not None:
            run.gate.refuse_renewals(self._ground.loop.time() + stroke.length)

    async def _lose_store(self) -> None:
        """Take the records of the first installation away: its processes begin with new ones."""
        ground = self._ground
        old = ground.homes[0]
        ground.trace.note("the store is lost")
        ground.watch.struck("store_lost")
        mine = [p for p in ground.processes if p.home is old]
        for process in mine:
            await process.end()
        old.book.lost = True
        new = ground.found_home(replicas=old.replicas)
        for process in mine:
            reborn = ground.add_process(new, f"{process.name}'", 0.0)
            await reborn.start(self._group)

    def _arrive(self) -> None:
        """Let a second installation, with the same fleet's name, come into the project."""
        ground = self._ground
        ground.trace.note("a second installation arrives")
        self._second = ground.found_home(replicas=1, other=True)
        ground.watch.struck("second_installation")
        process = ground.add_process(self._second, "z", 0.0)
        self._group.create_task(process.start(self._group))

    @property
    def second(self) -> Home | None:
        """The second installation, if it came."""
        return self._second

    async def cease(self) -> None:
        """Let all go on, and every process run."""
        ground = self._ground
        for process in ground.processes:
            process.set_network(down=False)
            run = process.incarnation
            if run is not None:
                run.gate.calm()
                if run.gate.life.stopped:
                    process.go_on()
            elif not process.retired:
                await process.start(self._group)
