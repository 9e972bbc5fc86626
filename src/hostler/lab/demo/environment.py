"""The display of a demo: a live picture in a terminal, plain lines elsewhere."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType

from hostler.domain.model.commands import Event
from hostler.domain.reporting.history import tell
from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.ports.clock import Clock
from hostler.queries.fleets import FleetStatus
from hostler.queries.wording import count

from .board import Board
from .tally import Tally

ANNOUNCED = frozenset({"made", "moved", "refused", "unknown", "condition", "request", "barred"})
"""The kinds of event that are told; the calls in between are not."""


class Display:
    """Shows a demo on a board."""

    def __init__(self, board: Board, clock: Clock, seconds: float) -> None:
        """Show on this board, with times counted from now."""
        self._board, self._clock, self._seconds = board, clock, seconds
        self._start = clock.boot()
        self._last = ""

    def passed(self) -> float:
        """Return the seconds since the beginning."""
        return self._clock.boot() - self._start

    def announce(self, text: str) -> None:
        """Tell something that the demo itself does."""
        self._line(text, "bold")

    def fault_rates(self, text: str) -> None:
        """Tell a trouble."""
        self._line(f"trouble: {text}", "magenta")

    def show(self, seen: FleetStatus, events: Sequence[Event], faults: Mapping[str, int]) -> None:
        """Show how the fleet stands, and tell what happened."""
        for event in events:
            if event.kind in ANNOUNCED:
                line = tell(event)
                self._line(f"{line.machine or seen.fleet.name}  {line.text}", "")
        if self._board.is_live:
            self._board.draw(*self._picture(seen, faults))
            return
        counts = ", ".join(f"{number} {phase}" for phase, number in sorted(seen.counts.items()))
        line = f"{seen.ready} of {seen.desired} ready" + (f" ({counts})" if counts else "")
        if line != self._last:
            self._last = line
            self._line(line, "")

    def conclude(self, tally: Tally, *, empty: bool) -> None:
        """Print what came of it all, as the last thing."""
        screen = self._board.screen
        if screen.json:
            screen.line(tally.as_json())
            return
        screen.out.print(conclusion(tally, empty=empty))

    def _line(self, text: str, style: str) -> None:
        self._board.line(f"{self.passed():5.1f}s  {text}", style)

    def _picture(self, seen: FleetStatus, faults: Mapping[str, int]) -> tuple[RenderableType, ...]:
        left = max(0.0, self._seconds - self.passed())
        phase = f"{left:.0f} s to go" if left else "scaling to zero"
        return (
            ink(f"hostler demo: a simulated Scaleway with many faults; {phase}", "bold"),
            tables.status([seen]),
            ink("faults met: " + (faults_text(faults) or "none yet"), "magenta"),
        )


def faults_text(faults: Mapping[str, int]) -> str:
    """Return faults and their counts in a line."""
    met = sorted((name, number) for name, number in faults.items() if number)
    return ", ".join(f"{name} {number}" for name, number in met)


def conclusion(tally: Tally, *, empty: bool) -> RenderableType:
    """Return the last words of a demo. Pure."""
    good = empty and not tally.leaks
    facts = tables.facts(
        (
            ("asked for", f"{tally.wanted} servers"),
            ("ready", f"{tally.ready} of them, just before scaling down"),
            ("made", f"{tally.made} machines"),
            ("healed", f"{tally.healed} losses made good"),
            ("faults met", faults_text(tally.faults)),
            ("calls", f"{tally.calls} requests"),
            ("cost", f"€{tally.cost:.4f}, had it been real"),
            ("left", "nothing" if good else f"{count(tally.leaks, 'resource')} on the bill"),
        )
    )
    if not good:
        word = ink("something is left", "red")
    elif tally.ready < tally.wanted:
        word = ink("nothing is left behind, but the fleet was not whole at the end", "red")
    else:
        word = ink("nothing is left behind", "green")
    return Group(ink(""), word, facts)
