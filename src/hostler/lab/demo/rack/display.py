"""The display of the rack: a light for each machine in a terminal, plain lines elsewhere."""

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.lab.demo.board import Board
from hostler.lab.demo.environment import faults_text
from hostler.queries.wording import euros
from hostler.simulators.power.rack.machine import Machine

from .tally import EUROS, RackTally

_LIGHTS = {True: ("●", "green"), False: ("○", "dim")}
_BOOTS = ("◐", "yellow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How the rack stands: the time of the day, what is wanted, and what was drawn so far."""

    clock: str
    wanted: int
    ready: int
    machines: tuple[Machine, ...]
    watts: float
    kwh: float
    saved: float


class Display:
    """Shows a rack on a board."""

    def __init__(self, board: Board, factor: float) -> None:
        """Show on this board; a second is `factor` seconds of the day."""
        self._board, self._factor = board, factor
        self._clock, self._hour = "00:00", ""

    def announce(self, text: str, style: str = "magenta") -> None:
        """Say something, with the time of the day."""
        self._board.line(f"{self._clock}  {text}", style)

    def show(self, frame: Frame) -> None:
        """Show how the rack stands; without a picture, a line for each hour."""
        self._clock = frame.clock
        if self._board.is_live:
            self._board.draw(*self._picture(frame))
        elif frame.clock[:2] != self._hour:
            self._hour = frame.clock[:2]
            lights = "".join(_light(machine)[0] for machine in frame.machines)
            self.announce(f"{lights}  {_facts(frame)}", "")

    def _picture(self, frame: Frame) -> tuple[RenderableType, ...]:
        head = f"hostler demo rack: {frame.clock}  {_facts(frame)}"
        scale = f"a second is {self._factor / 60:.0f} minutes; boots and shutdowns are not faster"
        rack = tables.table("", "machine", "switched by", "draws", "starts", "trouble")
        for machine in frame.machines:
            rack.add_row(*_row(machine))
        return ink(head, "bold"), ink(scale, "dim"), rack

    def conclude(self, tally: RackTally, wrong: tuple[str, ...], *, stands: bool) -> None:
        """Print what came of it all, as the last thing."""
        screen = self._board.screen
        if screen.json:
            screen.line(tally.as_json())
        else:
            screen.out.print(conclusion(tally, wrong, stands=stands))


def _facts(frame: Frame) -> str:
    return (
        f"{frame.wanted} wanted, {frame.ready} ready; {frame.watts:.0f} W, "
        f"{frame.kwh:.2f} kWh so far, {euros(frame.saved)} saved"
    )


def _light(machine: Machine) -> tuple[str, str]:
    on = machine.has_power()
    return _BOOTS if on and not machine.is_up() else _LIGHTS[on]


def _row(machine: Machine) -> tuple[Text, ...]:
    starts = sum(change.on for change in machine.changes)
    lasting = machine.in_force()
    trouble = str(lasting.fault).replace("_", " ") if lasting is not None else ""
    return (
        ink(*_light(machine)),
        ink(machine.name),
        ink(machine.method),
        ink(f"{machine.draw():.0f} W" if machine.draw() >= 1 else f"{machine.draw():.1f} W"),
        ink(str(starts)),
        ink(trouble, "red"),
    )


def conclusion(tally: RackTally, wrong: tuple[str, ...], *, stands: bool) -> RenderableType:
    """Return the last words of the demo. Pure."""
    always, kwh = tally.kwh_always_on, tally.kwh
    share = (always - kwh) / always * 100 if always else 0.0
    facts = tables.facts(
        (
            ("machines", f"{tally.machines}, {tally.ready} of {tally.wanted} wanted ready"),
            ("switched", f"{tally.starts} times on, {tally.stops} times off"),
            ("commands", f"{tally.failed_commands} failed, {tally.recovered} made good"),
            ("faults met", faults_text(tally.faults)),
            ("drawn", f"{kwh:.2f} kWh; always on: {always:.2f} kWh"),
            ("saved", f"{euros(tally.saved)} a day ({share:.0f} %) at €{EUROS:.2f} a kWh"),
            ("switched wrongly", "nothing" if not wrong else "; ".join(wrong)),
        )
    )
    if wrong:
        word = ink("a machine was switched that must not have been", "red")
    elif not stands:
        word = ink("the rack does not stand as it was asked to", "red")
    else:
        word = ink("the rack stands as it was asked to", "green")
    return Group(ink(""), word, facts)
