"""Box: one simulated machine behind an outlet or a controller, and what befalls its calls."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

IGNORED, LATE, HUNG, LOST = "ignored", "late", "hung", "lost"
DENIED, BUSY, NONSENSE = "denied", "busy", "nonsense"
FAULTS = (IGNORED, LATE, HUNG, LOST, DENIED, BUSY, NONSENSE)
"""What may befall a call: accepted without effect; an effect after the answer; no answer and no
effect; the effect and no answer; wrong credentials; at something else; an answer of another sort.
"""

_OF_EFFECTS = frozenset({IGNORED, LATE, LOST})
SILENCE = 3600.0
"""So long, in seconds, a call hangs that is never answered: until whoever asked goes away."""


class Closes(Exception):
    """The call is at its end without an answer."""


@dataclass(slots=True, kw_only=True)
class Box:
    """What really stands there. Times are in seconds of `time`.

    `journal` are the calls that arrived, in order; `most_at_once` is how many were ever under way
    together; `late` is how long after its answer an effect comes that is late.
    """

    name: str
    time: Callable[[], float]
    on: bool = False
    late: float = 0.1
    watts: tuple[float, float] = (2.0, 40.0)
    script: deque[str] = field(default_factory=deque[str])
    journal: list[str] = field(default_factory=list[str])
    planned: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    under_way: int = 0
    most_at_once: int = 0

    def has_power(self) -> bool:
        """Tell how it stands, once everything that is due has happened."""
        due = sorted(entry for entry in self.planned if entry[0] <= self.time())
        self.planned = [entry for entry in self.planned if entry not in due]
        for _, on in due:
            self.on = on
        return self.on

    def draw(self) -> float:
        """Return what it draws now."""
        return self.watts[self.has_power()]

    def switch(self, *, on: bool, after: float = 0.0) -> None:
        """Let it go on or off, now or later."""
        self.planned.append((self.time() + after, on))
        self.has_power()

    @asynccontextmanager
    async def call(self, what: str, *, before: bool = False) -> AsyncGenerator[str]:
        """Take a call; give what befalls it, empty where nothing does. It hangs here if it is to.

        What befalls an effect is spared for one by a call that is made `before` another. Raises
        `Closes` at the end of what is lost.
        """
        spared = before and bool(self.script) and self.script[0] in _OF_EFFECTS
        fault = self.script.popleft() if self.script and not spared else ""
        self.journal.append(what)
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            if fault == HUNG:
                await asyncio.sleep(SILENCE)
            yield fault
            if fault == LOST:
                raise Closes
        finally:
            self.under_way -= 1

    def obey(self, action: str, fault: str) -> None:
        """Let an action have its effect: `on`, `off_soft`, `off_hard` or `cycle`."""
        if fault != IGNORED:
            self.switch(on=action in {"on", "cycle"}, after=self.late if fault == LATE else 0.0)
