"""The display of the demo: a lane for each box in a terminal, plain lines elsewhere."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.lab.demo.board import Board
from hostler.lab.demo.environment import faults_text
from hostler.queries.wording import count, euros

from .day import HOURS
from .lanes import MEANINGS, SIGNS, Light, cells
from .sampling import Sampler
from .tally import Meter, RackTally

_LABEL = 22
_WATTS = 7
_NARROW = 80
_WRONG = 3
"""So many of the wrong power actions are listed."""


class Display:
    """Shows the demo on a board, once it has begun."""

    def __init__(self, board: Board) -> None:
        """Show on this board."""
        self._board = board
        self._sampler: Sampler | None = None
        self._meter, self._price = Meter(), 0.0

    def begin(self, sampler: Sampler, price: float) -> None:
        """Show what this sampler sees; the price is in euros for a kilowatt-hour."""
        self._sampler, self._price = sampler, price
        for line in introduction(sampler):
            self.announce(line)

    def announce(self, text: str) -> None:
        """Tell something, with the time of the day."""
        date = "00:00"
        if self._sampler is not None:
            date = self._sampler.day.date(self._sampler.passed)
        self._board.line(f"{date}  {text}", "magenta" if text.startswith("trouble") else "")

    def show(self, meter: Meter | None) -> None:
        """Show how everything stands, where a picture is wanted; None: the day is over."""
        self._meter = meter or self._meter
        if self._board.is_live and self._sampler is not None:
            width = self._board.screen.out.width
            self._board.draw(*self._picture(self._sampler, width, over=meter is None))

    def conclude(self, tally: RackTally, *, rests: bool) -> None:
        """Print what came of it, as the last thing."""
        screen = self._board.screen
        if screen.json:
            screen.line(tally.as_json())
            return
        width = screen.out.width if screen.out.is_terminal else _NARROW
        picture = () if self._sampler is None else tuple(lanes(self._sampler, width))
        screen.out.print(Group(*picture, conclusion(tally, rests=rests)))

    def _picture(self, sampler: Sampler, width: int, *, over: bool) -> Iterator[RenderableType]:
        left = max(0.0, sampler.day.seconds - sampler.passed)
        ends = "the day is over" if over else f"{left:.0f} s to go"
        date = sampler.day.date(sampler.passed)
        yield ink(f"hostler demo rack: a simulated day, {date}; {ends}", "bold")
        yield from lanes(sampler, width)
        rack = sampler.rack
        watts = sum(machine.draw() for machine in rack.machines.values())
        yield ink(f"{sampler.asked} asked for, {len(rack.up())} up, {watts:.0f} W")
        yield ink(energy(self._meter, self._price))


def introduction(sampler: Sampler) -> Iterator[str]:
    """Yield what is simulated, and how far it is from life."""
    methods = sorted({machine.method for machine in sampler.rack.machines.values()})
    yield f"{count(len(sampler.rack.machines), 'simulated machine')}: {', '.join(methods)}"
    minutes = sampler.day.scale / 60
    yield f"a second is {minutes:.0f} minutes of the day; machines and engine are not hastened"


def lanes(sampler: Sampler, width: int) -> Iterator[Text]:
    """Yield the lanes under their hours, and what the signs mean."""
    columns = max(HOURS, min(width - _LABEL - _WATTS, 4 * HOURS) // HOURS * HOURS)
    each = columns // HOURS
    hours = "".join(f"{hour:02}".ljust(3 * each) for hour in range(0, HOURS, 3))
    yield ink(" " * _LABEL + hours, "dim")
    for name, machine in sampler.rack.machines.items():
        line = ink(f"{name} {machine.method}".ljust(_LABEL))
        for seen in cells(sampler.lanes[name], HOURS, columns):
            line.append(*(SIGNS[seen] if seen is not None else (" ", "")))
        yield line.append(f"{machine.draw():>{_WATTS - 2}.0f} W")
    yield _key()


def _key() -> Text:
    key = Text()
    for seen in Light:
        sign, style = SIGNS[seen]
        key.append(f" {sign}", style)
        key.append(f" {MEANINGS[seen]}", "dim")
    return key


def energy(meter: Meter, price: float) -> str:
    """Return what was drawn beside what had been drawn, and what that saves. Pure."""
    saved = (meter.always_on - meter.kwh) * price
    return (
        f"{meter.kwh:.2f} kWh so far; always on: {meter.always_on:.2f} kWh; "
        f"saved: {euros(max(0.0, saved))}"
    )


def conclusion(tally: RackTally, *, rests: bool) -> RenderableType:
    """Return the last words. Pure."""
    counts, meter = tally.counts, tally.meter
    saved = euros(max(0.0, tally.saved_euros))
    facts = tables.facts(
        (
            ("machines", f"{tally.machines}, {tally.up} of them up; {tally.asked} are asked for"),
            ("switched", f"{count(counts.starts, 'start')}, {count(counts.stops, 'stop')}"),
            ("troubles", faults_text(counts.faults) or "none"),
            ("commands", f"{counts.failed} failed, {counts.recovered} of them made good"),
            ("wrong", "; ".join((count(len(tally.wrong), "power action"), *tally.wrong[:_WRONG]))),
            ("energy", f"{meter.kwh:.2f} kWh; always on: {meter.always_on:.2f} kWh"),
            (
                "saved",
                f"{saved} in the day, {meter.saved:.0%}, at €{tally.price:g} a kWh (--price)",
            ),
            ("scale", f"a second was {tally.scale / 60:.0f} minutes; starts took their own time"),
        )
    )
    if not rests:
        word = ink("the rack does not stand as it was asked to", "red")
    elif tally.wrong:
        word = ink("the rack stands as it was asked to, but was switched wrongly", "red")
    else:
        word = ink("the rack stands as it was asked to", "green")
    return Group(ink(""), word, facts)
