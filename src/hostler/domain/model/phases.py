"""Where a machine stands: one table of phases, bounds, legal moves, and what they count.

The diagram in docs/reference/phases.md and the tests are made from this table.
"""

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where a machine stands in our table; never the provider's status."""

    WANTED = "wanted"
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPING = "stopping"
    RESTING = "resting"
    BROKEN = "broken"
    GONE = "gone"


class Goal(StrEnum):
    """What a command wants of one machine."""

    PRESENT = "present"
    RESTING = "resting"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One phase of the table: its meaning, bound, way out, legal moves, and what it counts for."""

    meaning: str
    bound: str | None
    on_the_bound: str
    moves: tuple[Phase, ...]
    wanted: bool
    maximum: bool
    billed: str


PHASES: dict[Phase, Row] = {
    Phase.WANTED: Row(
        meaning="recorded; nothing asked of the provider yet",
        bound="admit",
        on_the_bound="gone, nothing to clean",
        moves=(Phase.STARTING, Phase.GONE),
        wanted=True,
        maximum=True,
        billed="no",
    ),
    Phase.STARTING: Row(
        meaning="being made, claimed or switched on, until observed up and the probe passed",
        bound="start",
        on_the_bound="broken",
        moves=(Phase.READY, Phase.RESTING, Phase.BROKEN, Phase.STOPPING),
        wanted=True,
        maximum=True,
        billed="yes",
    ),
    Phase.READY: Row(
        meaning="up and usable",
        bound="max_age",
        on_the_bound="draining",
        moves=(Phase.DRAINING, Phase.STOPPING, Phase.BROKEN, Phase.RESTING),
        wanted=True,
        maximum=True,
        billed="yes",
    ),
    Phase.DRAINING: Row(
        meaning="no new work; waits for jobs or pods",
        bound="drain",
        on_the_bound="stopping",
        moves=(Phase.READY, Phase.STOPPING, Phase.BROKEN),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.STOPPING: Row(
        meaning="being destroyed, released or switched off",
        bound="stop",
        on_the_bound="escalate, alarm, back off; never forgotten",
        moves=(Phase.GONE, Phase.RESTING, Phase.READY, Phase.WANTED),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.RESTING: Row(
        meaning="keeps its host while off",
        bound=None,
        on_the_bound="-",
        moves=(Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.GONE),
        wanted=False,
        maximum=True,
        billed="as the host",
    ),
    Phase.BROKEN: Row(
        meaning="failed; kept for evidence as long as keep_broken says",
        bound="keep_broken",
        on_the_bound="stopping",
        moves=(Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.GONE),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.GONE: Row(
        meaning="nothing of its tenancy is left; the record is history",
        bound=None,
        on_the_bound="-",
        moves=(Phase.STOPPING,),
        wanted=False,
        maximum=False,
        billed="no",
    ),
}
"""The one table. GONE → STOPPING is the reopening of a record whose part turned up late;
STOPPING → WANTED is another start under the same id (docs/decisions/0009)."""


def legal(before: Phase, after: Phase) -> bool:
    """Tell whether a machine may move from one phase to another; staying is no move."""
    return after in PHASES[before].moves


def diagram() -> str:
    """Return the table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.WANTED}"]
    lines += [f"    {phase} --> {move}" for phase, row in PHASES.items() for move in row.moves]
    return "\n".join([*lines, f"    {Phase.GONE} --> [*]"])


def table() -> str:
    """Return the table as Markdown, for the docs."""
    head = "| phase | meaning | bound | on the bound | moves to | wanted | maximum | billed |"
    rows = [head, "|---|---|---|---|---|---|---|---|"]
    for phase, row in PHASES.items():
        cells = (
            str(phase),
            row.meaning,
            f"`{row.bound}`" if row.bound else "-",
            row.on_the_bound,
            ", ".join(row.moves),
            "yes" if row.wanted else "no",
            "yes" if row.maximum else "no",
            row.billed,
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)
