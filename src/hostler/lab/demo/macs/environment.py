"""The display of the demo: a lane for each host in a terminal, plain lines elsewhere."""

from collections.abc import Iterator

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.lab.demo.board import Board
from hostler.lab.demo.environment import faults_text
from hostler.queries.wording import euros

from .bill import paid_hours
from .lanes import SAMPLE, Lane, State, cells
from .sampling import Sampler
from .tally import MacTally
from .timeline import LENGTH

_DAYS = 7
_LABEL = 9
_SAMPLES = int(LENGTH.total_seconds() / SAMPLE)

SIGNS = {
    State.IOS: ("█", "green"),
    State.TESTS: ("▓", "cyan"),
    State.WIPING: ("~", "yellow"),
    State.PARKED: ("=", "blue"),
    State.FREE: ("·", "dim"),
    State.COMING: ("+", "yellow"),
    State.RETIRING: ("×", "magenta"),
    State.LENT: ("a", "magenta"),
    State.ORPHAN: ("!", "red bold"),
    State.GONE: (" ", ""),
}
"""How a host is drawn; each as a sign, for who sees no colours."""

_KEY = (
    (State.IOS, "ios"),
    (State.TESTS, "tests"),
    (State.FREE, "free"),
    (State.WIPING, "wiping"),
    (State.PARKED, "standby"),
    (State.COMING, "ordered"),
    (State.RETIRING, "retiring"),
    (State.LENT, "ann's"),
    (State.ORPHAN, "stranded"),
)


class Frame(Struct, frozen=True):
    """What is shown: what the eyes saw, and the real seconds that are left."""

    sampler: Sampler
    left: float


class Display:
    """Shows the demo on a board."""

    def __init__(self, board: Board) -> None:
        """Show on this board."""
        self._board = board
        self._last = ""
        self._date = "day 1 00:00"

    def at(self, seconds: float) -> None:
        """Date what is said from now on, in simulated seconds."""
        self._date = date(seconds)

    def announce(self, text: str) -> None:
        """Tell something."""
        style = "magenta" if text.startswith("trouble") else ""
        self._board.line(f"{self._date}  {text}", style)

    def show(self, moment: Frame) -> None:
        """Show how everything stands: as a picture, or as a line where something changed."""
        if self._board.is_live:
            self._board.draw(*self._picture(moment))
            return
        text = "; ".join(standings(moment.sampler))
        if text != self._last:
            self._last = text
            self.announce(text)

    def conclude(self, sampler: Sampler, tally: MacTally, *, rests: bool) -> None:
        """Print what came of it all, as the last thing."""
        screen = self._board.screen
        if screen.json:
            screen.line(tally.as_json())
            return
        width = screen.out.width if screen.out.is_terminal else 80
        screen.out.print(Group(*week(sampler, width), conclusion(tally, rests=rests)))

    def _picture(self, moment: Frame) -> list[RenderableType]:
        width = self._board.screen.out.width
        head = f"hostler demo macs: a simulated week, {self._date}; {moment.left:.0f} s to go"
        rows: list[RenderableType] = [ink(head, "bold"), *week(moment.sampler, width)]
        return rows + [ink(line) for line in (*standings(moment.sampler), *money(moment.sampler))]


def date(seconds: float) -> str:
    """Return a time of the week, in simulated seconds, as people read it."""
    minutes = int(seconds // 60)
    return f"day {minutes // 1440 + 1} {minutes // 60 % 24:02}:{minutes % 60:02}"


def week(sampler: Sampler, width: int) -> Iterator[Text]:
    """Yield the lanes under their days, and what the signs mean."""
    columns = max(2 * _DAYS, min(width - _LABEL - 1, 24 * _DAYS))
    days = "".join(f"day {number + 1}".ljust(_wide(number, columns)) for number in range(_DAYS))
    yield ink(" " * _LABEL + days[:columns], "dim")
    for lane in sampler.lanes.values():
        yield _drawn(lane, sampler.sample, columns)
    yield _key()


def _wide(day: int, columns: int) -> int:
    return (day + 1) * columns // _DAYS - day * columns // _DAYS


def _drawn(lane: Lane, now: int, columns: int) -> Text:
    line = ink(lane.label.ljust(_LABEL))
    for state in cells(lane, min(now, _SAMPLES - 1), _SAMPLES, columns):
        sign, style = SIGNS[state] if state is not None else (" ", "")
        line.append(sign, style)
    return line


def _key() -> Text:
    key = Text()
    for state, words in _KEY:
        sign, style = SIGNS[state]
        key.append(f" {sign}", style)
        key.append(f" {words}", "dim")
    return key


def standings(sampler: Sampler) -> tuple[str, ...]:
    """Return how the fleets stand, a line each."""
    return tuple(
        f"{name} {up} of {desired} ready" + (f", {parked} parked" if parked else "")
        for name, (up, desired, parked) in sampler.sizes.items()
    )


def money(sampler: Sampler) -> tuple[str, str]:
    """Return what was paid so far beside the best possible, and what the orphan report says."""
    paid = paid_hours(sampler.ordered(), sampler.engines.loop.time())
    paying = f"ordered hosts: {paid:.1f} h paid, best possible {sampler.bill.optimal_hours():.1f} h"
    orphans = sampler.orphans
    if not orphans:
        return paying, "orphans: none"
    classes = ", ".join(sorted({str(orphan.cls) for orphan in orphans}))
    price = sum(orphan.price for orphan in orphans)
    text = f"orphans: {len(orphans)} {classes}, {euros(price)} an hour"
    return paying, f"{text}, {euros(sampler.orphan_cost)} since it was found"


def conclusion(tally: MacTally, *, rests: bool) -> RenderableType:
    """Return the last words. Pure."""
    good = rests and not tally.leaks
    hosts = f"{tally.paid_hours:.1f} h of ordered hosts"
    best = f"the best possible is {tally.optimal_paid_hours:.1f} h ({tally.above:+.1%})"
    facts = tables.facts(
        (
            ("claimed", f"{tally.claimed} times a host became a machine's"),
            ("released", f"{tally.released} hosts given back, {tally.wiped} wipes"),
            ("ordered", f"{tally.ordered} hosts, {tally.parked} in standby, {tally.woken} woken"),
            ("stranded", f"{tally.stranded_found} found, {tally.reclaimed} taken back"),
            ("orphans", f"{euros(tally.orphan_cost)} while a host was stranded"),
            ("troubles", faults_text(tally.faults)),
            ("paid", f"{hosts}; {best}"),
            ("cost", f"{euros(tally.ordered_cost)} of {euros(tally.cost)} for ordered hosts"),
            ("calls", f"{tally.calls} requests in {tally.seconds:.0f} s"),
            ("left", "nothing" if good else f"{tally.leaks} hosts under our names"),
        )
    )
    words = "nothing is stranded, and nothing is paid for that is not wanted"
    word = ink(words, "green") if good else ink("something is left", "red")
    return Group(ink(""), word, facts)
