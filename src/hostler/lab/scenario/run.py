"""Season: one seed from its first second to its rest: bad weather, and then good weather."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hostler.controllers import cycle as turns
from hostler.domain.decision_cache import Rests
from hostler.domain.model.commands import Decision
from hostler.domain.model.provider import Ways
from hostler.domain.model.snapshot import Seen
from hostler.lab.checks.shadow_store import Book
from hostler.lab.harness.process import RUNNING
from hostler.testing.invariants import Violation, quiet

from .disruptions import Strokes
from .environment import Land
from .faults import Climate
from .operator import Operator
from .session import Ground

_TWICE = 16
_FORGOT = "what is remembered of rests decides otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one seed; `seconds` is what it took in real time."""

    seed: int
    violation: Violation | None
    story: tuple[str, ...]
    digest: str
    simulated: float
    machine_seconds: float
    faults: dict[str, int]
    pairs: tuple[tuple[str, str], ...]
    calm: bool = False
    seconds: float = field(default=0.0, compare=False)


class Season:
    """Plays one climate on a ground of its own; without a land it is one of cloud servers."""

    def __init__(self, climate: Climate, folder: Path, land: Land | None = None) -> None:
        self.climate = climate
        self.ground = Ground(climate, folder, land)
        self.cadence = self.ground.land.cadence
        self.loop, self.watch = self.ground.loop, self.ground.watch
        self.world, self.trace = self.ground.world, self.ground.trace
        self._led = 0.0

    # ------------------------------------------------------------ how it goes

    def play(self) -> Result:
        """Run the seed, and return what came of it."""
        with watching_decisions(self.climate.seed):
            try:
                self.loop.run_until_complete(self._play())
            finally:
                self.loop.close()
        if self.loop.failures and self.watch.first is None:
            text = self.loop.failures[0]
            self.watch.found((Violation(invariant="bug", text=text),))
        return self._result()

    async def _play(self) -> None:
        climate = self.climate
        async with asyncio.TaskGroup() as group:
            home = self.ground.found_home(replicas=climate.replicas)
            for number in range(climate.replicas):
                name = "ab"[number]
                await self.ground.add_process(home, name, climate.skews[number]).start(group)
            strokes = Strokes(self.ground, group)
            operator = Operator(self.ground)
            tasks = [group.create_task(strokes.run()), group.create_task(operator.run())]
            await self._until(climate.span)
            for task in tasks:
                task.cancel()
            if self.watch.first is None:
                self.trace.note("good weather")
                self.world.clear_weather()
                self.ground.land.clear(self.world)
                await strokes.cease()
                await self._come_to_rest(operator, strokes)
            for process in self.ground.processes:
                await process.end()

    async def _until(self, end: float) -> None:
        while self.loop.time() < end and self.watch.first is None:
            await asyncio.sleep(min(self.cadence.tick, end - self.loop.time()))
            self._tick()

    def _tick(self) -> None:
        self.watch.tick(awake=self._could_act())

    def _could_act(self) -> bool:
        """Tell whether an engine could act: one leads, or somebody should have led for long.

        Who died holds its lease to its end, and whoever takes it waits as long once more.
        """
        alive = [process for process in self.ground.processes if process.alive]
        now = self.loop.time()
        if any(process.holds_lease() for process in alive):
            self._led = now
        patience = 2 * self.ground.land.settings.lease_ttl.total_seconds()
        return bool(alive) and (self._led == now or now - self._led > patience)

    async def _come_to_rest(self, operator: Operator, strokes: Strokes) -> None:
        """Wait until nothing happens any more; what keeps happening is the violation."""
        begun = calm = self.loop.time()
        cadence, self.watch.resting = self.cadence, True
        problem = tuple[Violation, ...]()
        helped = begun
        while self.watch.first is None and self.loop.time() - calm < cadence.rest:
            if self.loop.time() - begun > cadence.limit:
                self.watch.found(problem or (Violation(invariant="L1", text="no rest"),))
                return
            await asyncio.sleep(cadence.tick)
            self._tick()
            if self.loop.time() >= helped:
                helped = self.loop.time() + 6 * cadence.tick
                await operator.help(strokes)
            watch = self.watch
            problem = tuple(p for book in self._books() for p in self._unrest(book))
            problem = problem or quiet(watch.commands, watch.calls_at_rest)
            if problem:
                calm = self.loop.time()
            watch.commands = 0
            watch.calls_at_rest.clear()

    def _books(self) -> list[Book]:
        return [book for book in self.watch.books if not book.lost]

    def _unrest(self, book: Book) -> tuple[Violation, ...]:
        return tuple(p for f in book.fleets.values() for p in self.watch.rested(book, f))

    def _result(self) -> Result:
        watch = self.watch
        first = watch.first
        about = (first.machine or "") if first else ""
        return Result(
            seed=self.climate.seed,
            violation=first,
            story=self.trace.story(about, 60) if first else (),
            digest=self.trace.sum,
            simulated=self.loop.time(),
            machine_seconds=watch.machine_seconds,
            faults=dict(sorted(watch.faults.items())),
            pairs=tuple(sorted(watch.pairs)),
            calm=self.climate.mood == "calm",
        )


@contextmanager
def watching_decisions(seed: int) -> Generator[None]:
    """Show every decision of a simulated process to its foreteller.

    In a few of the seeds each is made twice: what is remembered of rests must change nothing.
    """
    real, twice = turns.decide, seed % _TWICE == 0

    def decide(seen: Seen, ways: Ways, rests: Rests | None = None) -> Decision:
        decision = real(seen, ways, rests)
        run = RUNNING.get()
        if run is not None:
            run.decided(seen, ways, decision)
            if twice and real(seen, ways) != decision:
                run.watch.found((Violation(invariant="E1", text=f"{seen.turn}: {_FORGOT}"),))
        return decision

    turns.decide = decide
    try:
        yield
    finally:
        turns.decide = real
