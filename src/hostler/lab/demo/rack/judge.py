"""Judge: which power commands were wrong, from what the rack itself took. Pure.

A command is wrong if it
- takes the power of a box that a machine uses, or
- gives power to a box that no machine starts on, or
- was decided against the demand: fewer machines stayed than were asked for, or more came.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.model.commands import Event
from hostler.domain.model.phases import Phase

LAG = timedelta(seconds=2)
"""So long after a request a decision may be one about the size that was asked for before."""
_USES = frozenset({Phase.STARTING, Phase.READY, Phase.DRAINING})
_COUNTS = frozenset({Phase.STARTING, Phase.READY})
_ON = "on"


class Move(Struct, frozen=True):
    """A machine came into a phase on a box."""

    at: datetime
    box: str
    phase: Phase


class Size(Struct, frozen=True):
    """So many machines were asked for."""

    at: datetime
    size: int


class Switched(Struct, frozen=True):
    """A box was sent a command, as the rack knows it: `on`, or one that takes its power."""

    at: datetime
    box: str
    what: str


class Wrong(Struct, frozen=True):
    """A command that should not have been, and why."""

    switched: Switched
    why: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.switched.box} {self.switched.what}: {self.why}"


def moves_of(events: Iterable[Event]) -> Iterator[Move]:
    """Yield the moves that events tell of."""
    for event in events:
        if event.kind == "moved" and event.host is not None:
            phase = event.detail.partition(":")[0].partition(">")[2]
            yield Move(event.at, str(event.host), Phase(phase))


def wrong_actions(
    commands: Iterable[Switched], moves: Sequence[Move], sizes: Sequence[Size]
) -> tuple[Wrong, ...]:
    """Return the commands that were wrong; moves and sizes are in the order of their times."""
    found = [(one, _why(one, moves, sizes)) for one in commands]
    return tuple(Wrong(one, why) for one, why in found if why)


def _why(command: Switched, moves: Sequence[Move], sizes: Sequence[Size]) -> str:
    held = [move for move in moves if move.box == command.box and move.at <= command.at]
    phase = held[-1].phase if held else None
    if command.what == _ON:
        if phase not in _COUNTS:
            return f"no machine starts on it: {phase or 'nobody has it'}"
        decided = _since(held, counts=True)
        count, most = _count(moves, decided.at), max(_asked(sizes, decided.at))
        return f"{count} machines, and {most} were asked for" if count > most else ""
    if phase in _USES:
        return f"a machine uses it: {phase}"
    if phase is None or not any(move.phase in _COUNTS for move in held):
        return ""
    decided = _since(held, counts=False)
    count, least = _count(moves, decided.at), min(_asked(sizes, decided.at))
    short = count < least and decided.phase is not Phase.FAILED
    return f"{count} machines stayed, and {least} were asked for" if short else ""


def _since(held: Sequence[Move], *, counts: bool) -> Move:
    """Return the move since which the box counts as one that is asked for, or does not."""
    last = len(held) - 1
    while last > 0 and (held[last - 1].phase in _COUNTS) is counts:
        last -= 1
    return held[last]


def _count(moves: Sequence[Move], at: datetime) -> int:
    """Return how many boxes counted then."""
    last = {move.box: move.phase for move in moves if move.at <= at}
    return sum(phase in _COUNTS for phase in last.values())


def _asked(sizes: Sequence[Size], at: datetime) -> list[int]:
    """Return what a decision of that time may have gone by."""
    before = [one.size for one in sizes if one.at <= at - LAG]
    since = [one.size for one in sizes if at - LAG < one.at <= at]
    return [*before[-1:], *since] if before else [0, *since]
