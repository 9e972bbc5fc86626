"""The display of the demo: Machines, hosts and orphans as a picture, or what changes as lines."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hostler.frontends.cli.render import tables
from hostler.frontends.cli.render.tables import ink
from hostler.lab.demo.board import Board
from hostler.ports.clock import Clock
from hostler.queries.wording import count

from .control_plane import Kind
from .manifests import LEAST, PODS, REPLICAS
from .sampling import HostState, Row, Sample, Sampler, why_not
from .tally import KubernetesTally

SIGNS = {
    HostState.FREE: ("·", "dim"),
    HostState.CLAIMED: ("+", "yellow"),
    HostState.IN_USE: ("█", "green"),
    HostState.LEAVING: ("-", "yellow"),
    HostState.WIPING: ("~", "yellow"),
    HostState.STRANDED: ("!", "red bold"),
    HostState.DELETED: ("×", "red bold"),
}
"""How a host is drawn; each as a sign, for who sees no colours."""


class Display:
    """Shows the demo on a board, with times counted from its beginning."""

    def __init__(self, board: Board, clock: Clock) -> None:
        """Show on this board."""
        self._board, self._clock, self._begun = board, clock, clock.boot()
        self.control_plane = ""
        self.sampler: Sampler | None = None

    @property
    def passed(self) -> float:
        """The seconds since the beginning."""
        return self._clock.boot() - self._begun

    def tell(self, text: str) -> None:
        """Tell what happens."""
        style = "magenta" if "orphan" in text or "stranded" in text else ""
        self._line(text, style)

    def say(self, text: str) -> None:
        """Tell what the demo itself does, as a person would."""
        self._line(text, "bold")

    def fail(self, text: str) -> None:
        """Tell what did not happen."""
        self._line(text, "red bold")

    def show(self, seen: Sample) -> None:
        """Show a sample, where there is a picture."""
        if self._board.is_live and self.sampler is not None:
            self._board.draw(*self._picture(seen, self.sampler))

    def conclude(self, tally: KubernetesTally) -> None:
        """Print what came of it all, as the last thing."""
        screen = self._board.screen
        if screen.json:
            screen.line(tally.as_json())
            return
        screen.out.print(conclusion(tally))

    def _line(self, text: str, style: str) -> None:
        self._board.line(f"{self.passed:5.1f}s  {text}", style)
        if self.sampler is None and self._board.is_live:
            self._board.draw(ink("hostler demo kubernetes", "bold"))

    def _picture(self, seen: Sample, sampler: Sampler) -> list[RenderableType]:
        return [
            ink(f"hostler demo kubernetes: {self.passed:.0f} s, with simulated Macs", "bold"),
            ink(self.control_plane, "dim"),
            machines(seen.rows, sampler.labels),
            hosts(seen, sampler),
            ink("orphans: " + ("; ".join(_orphans(seen, sampler)) or "none")),
        ]


def machines(rows: tuple[Row, ...], labels: dict[str, str]) -> Table:
    """Return Machines as a table. Pure."""
    table = tables.table("machine", "phase", "reason", "host", "node", "pods")
    for row in rows:
        host = next((label for mac, label in labels.items() if mac in row.provider_id), "-")
        phase = "Deleting" if row.going else row.phase
        style = "green" if row.running else "yellow"
        rest = (row.reason, host, row.node or "-", str(len(row.pods) or "-"))
        table.add_row(ink(row.name), ink(phase, style), *map(ink, rest))
    return table


def hosts(seen: Sample, sampler: Sampler) -> Text:
    """Return each host with its sign, and below them what the signs mean."""
    line = ink("hosts")
    for host, state in seen.hosts.items():
        sign, style = SIGNS[state]
        line.append(f"   {sampler.labels.get(host, host)} ", style)
        line.append(sign * 2, style)
    line.append("\n     ")
    for state, (sign, style) in SIGNS.items():
        line.append(f" {sign}", style)
        line.append(f" {state}", "dim")
    return line


def _orphans(seen: Sample, sampler: Sampler) -> Iterator[str]:
    for orphan in seen.orphans:
        yield f"{sampler.label_of(orphan)} {orphan.cls}: {why_not(orphan)}"


def conclusion(tally: KubernetesTally) -> RenderableType:
    """Return the last words. Pure."""
    roll = (
        f"{tally.rolled} of {REPLICAS} Machines in {tally.roll_seconds:.0f} s, inside their floor"
    )
    drained = f"{count(tally.evicted, 'Pod')} evicted, {tally.least_ready} of {PODS} always ready"
    strays = f"{tally.strays_found} found, {tally.reclaimed} taken back"
    facts = tables.facts(
        (
            ("control plane", tally.control_plane),
            ("rolled", roll),
            ("drained", f"{drained} (the budget keeps {LEAST})"),
            ("strays", strays),
            ("hosts", f"{tally.hosts}, {tally.deleted_hosts} of them deleted; {tally.wipes} wipes"),
            ("calls", f"{tally.calls} requests to the cloud in {tally.seconds:.0f} s"),
            ("left", count(tally.leaks, "leak") if tally.leaks else "nothing"),
        )
    )
    if tally.good:
        word = ink("rolled, drained, reclaimed; no host is deleted, and nothing is left", "green")
    else:
        word = ink(tally.failed or "not all of it happened as it should", "red")
    parts: list[RenderableType] = [ink(""), word, facts]
    if tally.control_plane == Kind.SIMULATED:
        parts.append(ink("Kubernetes and Cluster API were simulated: see --control-plane", "dim"))
    return Group(*parts)
