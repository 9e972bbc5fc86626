"""Runs: what is served beside an engine's process, anew for each of its runs."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from hostler.lab.harness.process import Incarnation, Process
from hostler.testing.time.loop import LIFE

AGAIN = 1.0
"""How often a run is looked for, in seconds."""


@dataclass(slots=True)
class EachRun:
    """Serves each run of a process, on that run's own time; `serve` does it until it is ended."""

    process: Process
    serve: Callable[[Incarnation], Coroutine[None, None, None]]
    _run: Incarnation | None = None
    _task: "asyncio.Task[None] | None" = field(default=None)

    async def run(self) -> None:
        """Serve whatever run of the process there is, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                run = self.process.incarnation
                if run is not self._run:
                    self._begin(run, group)
                await asyncio.sleep(AGAIN)

    def _begin(self, run: Incarnation | None, group: asyncio.TaskGroup) -> None:
        """End what served the run before, and serve this one on its own time."""
        if self._task is not None:
            self._task.cancel()
        self._run, self._task = run, None
        if run is not None:
            context = contextvars.copy_context()
            context.run(LIFE.set, run.gate.life)
            self._task = group.create_task(self.serve(run), context=context)
