"""Ways: the pure half of a provider, which decisions, plans and explanations may ask."""

from datetime import datetime
from typing import Protocol

from .calls import Call
from .machine import Machine
from .phases import Goal
from .resource import Part


class Ways(Protocol):
    """How to get from the parts that exist to a goal."""

    def next_calls(
        self, goal: Goal, machine: Machine, parts: tuple[Part, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now, in order; empty means wait, or nothing to do.

        Pure: the same arguments, the same calls. Creating, resuming, rolling back and cleaning up
        are this one function with another goal. Calls whose answers are needed by later ones are
        returned first; the caller folds answers into `parts` and asks again.
        """
        ...
