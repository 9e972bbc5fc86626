"""Script: what befalls the calls of a fake provider, by kind of call, in order."""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from hostler.domain.model.calls import Call, Outcome, Refused, Unknown

from .world import FakeWorld


class Lost(StrEnum):
    """What becomes of a call whose answer is lost: no effect, its effect, or one that comes late.

    `hung` never answers at all: only the caller's patience ends it.
    """

    BEFORE = "before"
    AFTER = "after"
    LATE = "late"
    HUNG = "hung"


Scripted = Lost | Refused
Effects = Callable[[Call], Outcome]
"""Lets a call have its effect in the world, and returns the world's answer."""


class Script:
    """What befalls the next calls; one for which nothing is written has its effect."""

    def __init__(self, world: FakeWorld, deadline: timedelta) -> None:
        self._world, self._deadline = world, deadline
        self._next = dict[str, deque[Scripted]]()

    def befall(self, kind: str, *what: Scripted) -> None:
        """Let these befall the next calls of a kind, in order."""
        self._next.setdefault(kind, deque()).extend(what)

    async def make(self, call: Call, patience: timedelta, effects: Effects) -> Outcome:
        """Make a call, which is answered after this time, as the script says; note it."""
        queue = self._next.get(call.kind)
        fate = queue.popleft() if queue else None
        await asyncio.sleep(patience.total_seconds())
        world = self._world
        world.catch_up()
        world.journal.append((world.clock.now(), call.kind, call.target))
        match fate:
            case Refused():
                return fate
            case Lost.BEFORE:
                return Unknown(text="the connection was reset")
            case Lost.AFTER:
                effects(call)
                return Unknown(text="the answer was lost")
            case Lost.LATE:
                world.plan(world.pace.late, lambda: effects(call))
                return Unknown(text="no answer in time")
            case Lost.HUNG:
                await asyncio.sleep(self._deadline.total_seconds())
                return Unknown(text="no answer in time")
            case None:
                return effects(call)
