"""What the world gives back for a request: an answer, how long it takes, and what becomes of it."""

from dataclasses import dataclass
from enum import StrEnum

from hostler.ports.http import Response


class Fate(StrEnum):
    """What the client sees of an answer."""

    ANSWERED = "answered"
    RESET = "reset"  # the connection breaks: no word about the effect
    HUNG = "hung"  # nothing comes until the client gives up
    TRUNCATED = "truncated"  # the body breaks off half-way


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the world. `response` is None only where `fate` is reset or hung.

    `delay` is the latency of the real API in seconds of world time; whoever carries the reply
    waits for it, the world never does.
    """

    response: Response | None
    delay: float
    fate: Fate = Fate.ANSWERED
