"""Demo: a week of leased Macs in less than a minute: claimed, wiped, parked, ordered, given up.

Everything is real but the cloud and the time: the engine, the provider with its client, and the
rules; the simulated Scaleway stands in the same process, and time goes as fast as asked.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import structlog

from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.logs import log_nothing_below
from hostler.frontends.cli.console.screen import Screen
from hostler.lab.demo.board import Board
from hostler.ports.clock import Clock
from hostler.testing.time.loop import SimLoop

from .bill import paid_hours
from .engines import Engines
from .environment import Display, Frame
from .lanes import SAMPLE
from .sampling import ANNOUNCED_EVENTS, Sampler
from .tally import MacTally, count_moves
from .timeline import LENGTH, Timeline

FRAMES = 8
"""Pictures a second."""
LATE = timedelta(hours=24)
"""How long after the week hosts may take to come to rest."""


def main(clock: Clock, *, seconds: float, seed: int, json: bool) -> int:
    """Give the demo and return its exit code: 0 only if all hosts rest and none is stranded."""

    async def work(screen: Screen) -> int:
        if not structlog.is_configured():
            log_nothing_below("error")
        with Board(screen) as board:
            display = Display(board)
            demo = Demo(clock, display, seed, seconds)
            try:
                tally, rests = await demo.give()
            finally:
                await demo.close()
        display.conclude(demo.sampler, tally, rests=rests)
        return 0 if rests and not tally.leaks else 1

    return guarded(json, work)


@dataclass(slots=True)
class Pace:
    """How simulated time goes beside real time: evenly, and never waiting once it is late."""

    clock: Clock
    seconds: float
    begun: float = 0.0

    def begin(self) -> None:
        """Let real time count from now."""
        self.begun = self.clock.boot()

    @property
    def passed(self) -> float:
        """The real seconds since the beginning."""
        return self.clock.boot() - self.begun

    async def wait(self, simulated: float) -> None:
        """Wait until it is time for what has been simulated, if it is not yet."""
        due = simulated / LENGTH.total_seconds() * self.seconds
        if (left := due - self.passed) > 0:
            await self.clock.sleep(timedelta(seconds=left))

    @property
    def frame(self) -> float:
        """The simulated seconds from one picture to the next."""
        return max(SAMPLE, LENGTH.total_seconds() / self.seconds / FRAMES)


class Demo:
    """A demo under way: its simulated time stands still between two pictures."""

    def __init__(self, clock: Clock, display: Display, seed: int, seconds: float) -> None:
        self._loop, self._display = SimLoop(), display
        self._pace = Pace(clock, seconds)
        self._engines = Engines(self._loop, seed)
        self._week = Timeline(self._engines, self._announce)
        self.sampler = Sampler(self._engines, self._announce)
        self._announced = 0
        self._last = dict[str, tuple[str, str, str]]()

    def _announce(self, text: str) -> None:
        self._display.at(self._loop.time())
        self._display.announce(text)

    async def give(self) -> tuple[MacTally, bool]:
        """Let the week pass, and tell what came of it, and whether everything rests."""
        self._pace.begin()
        self._week.begin()
        await asyncio.to_thread(self._loop.run_until_complete, self.sampler.watch())
        end, rests = LENGTH.total_seconds(), False
        while not rests and self._loop.time() < end + LATE.total_seconds():
            await asyncio.to_thread(self._loop.run_until_complete, self._play())
            self._show()
            await self._pace.wait(self._loop.time())
            if self._loop.time() >= end:
                rests = await self.sampler.rests()
        return await self._tally(), rests

    async def _play(self) -> None:
        """Let simulated time pass until the next picture."""
        end = self._loop.time() + self._pace.frame
        while self._loop.time() < end:
            await self._week.go_on()
            await asyncio.sleep(SAMPLE - self._loop.time() % SAMPLE)
            await self.sampler.watch()
            self._tell()
            self._engines.check()

    def _tell(self) -> None:
        for event in self.sampler.events[self._announced :]:
            entry = (event.fleet, event.kind, event.reason.partition(":")[0])
            if event.kind in ANNOUNCED_EVENTS and self._last.get(event.fleet) != entry:
                self._last[event.fleet] = entry
                self._announce(f"{event.fleet}  {event.reason}: {event.detail}".removesuffix(": "))
        self._announced = len(self.sampler.events)

    def _show(self) -> None:
        self._display.at(self._loop.time())
        left = max(0.0, self._pace.seconds - self._pace.passed)
        self._display.show(Frame(self.sampler, left))

    async def _tally(self) -> MacTally:
        sampler, world = self.sampler, self._engines.world
        moves, ordered = count_moves(sampler.events), sampler.ordered()
        bought = {mac.id for mac in ordered}
        entries = [e for e in world.cloud.ledger.entries() if e.record.id in bought]
        return MacTally(
            claimed=moves.claimed,
            released=moves.deleted + len(sampler.reclaimed),
            wiped=sum(max(0, mac.installs - 1) for mac in sampler.macs()),
            stranded_found=len(sampler.stranded),
            reclaimed=len(sampler.reclaimed),
            leaks=len(await sampler.leaks()),
            paid_hours=paid_hours(ordered, self._loop.time()),
            optimal_paid_hours=sampler.bill.optimal_hours(),
            ordered=len(ordered),
            parked=moves.parked,
            woken=moves.woken,
            faults=self._week.faults | {k: v for k, v in world.faults.items() if v},
            calls=sum(world.calls.values()),
            cost=world.cost(),
            ordered_cost=sum(entry.cost(world.cloud.now) for entry in entries),
            orphan_cost=sampler.orphan_cost,
            seconds=self._pace.passed,
        )

    async def close(self) -> None:
        """End the engine, and its time."""
        await asyncio.to_thread(self._loop.run_until_complete, self._engines.end())
        self._loop.close()
