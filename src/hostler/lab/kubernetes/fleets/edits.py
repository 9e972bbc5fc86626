"""Edits: what people write on Fleets and Hosts in one run, drawn before it begins."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random


class Write(StrEnum):
    """One thing that somebody writes."""

    MAKE = "make"
    SCALE = "scale"
    PAUSE = "pause"
    RESUME = "resume"
    CHANGE = "change"
    END = "end"
    LEAVE = "leave"
    POWER = "power"
    MAINTENANCE = "maintenance"
    LOCK = "lock"


FLEETS = ("builds", "tests")
"""The fleets that people have."""

_OF_FLEETS = (
    Write.MAKE,
    Write.MAKE,
    Write.SCALE,
    Write.SCALE,
    Write.SCALE,
    Write.PAUSE,
    Write.RESUME,
    Write.CHANGE,
    Write.END,
    Write.LEAVE,
)
_OF_HOSTS = (Write.POWER, Write.POWER, Write.MAINTENANCE, Write.LOCK)
_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What is written when, about which fleet or host (a number), and to what: another number."""

    at: float
    write: Write
    who: int = 0
    value: int = 0


def draw_edits(rng: Random, span: float, boxes: int) -> tuple[Edit, ...]:
    """Draw what people write in a run, beginning with their fleets."""
    first = [
        Edit(at=rng.uniform(1, _MINUTE), write=Write.MAKE, who=who, value=rng.randint(0, 2))
        for who in range(len(FLEETS))
    ]
    others = [
        Edit(
            at=rng.uniform(_MINUTE, span),
            write=rng.choice(rng.choice((_OF_FLEETS, _OF_FLEETS, _OF_HOSTS))),
            who=rng.randrange(1000),
            value=rng.randint(0, boxes),
        )
        for _ in range(rng.randint(3, 14))
    ]
    return tuple(sorted((*first, *others), key=lambda one: one.at))
