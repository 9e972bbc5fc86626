"""Where a machine stands: one table of phases, bounds, legal moves, and what they count.

The diagram in docs/reference/phases.md and the tests are made from this table.
"""

from enum import StrEnum

from msgspec import Struct


class Phase(StrEnum):
    """Where a machine stands in our table; never the provider's status."""

    PENDING = "pending"
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPING = "stopping"
    STANDBY = "standby"
    FAILED = "failed"
    DELETED = "deleted"


class Goal(StrEnum):
    """What a command wants of one machine."""

    PRESENT = "present"
    STANDBY = "standby"
    ABSENT = "absent"


class Row(Struct, frozen=True, kw_only=True):
    """One phase of the table: its meaning, bound, way out, legal moves, and what it counts for."""

    meaning: str
    bound: str | None
    on_the_bound: str
    moves: tuple[Phase, ...]
    wanted: bool
    maximum: bool
    billed: str


PHASES: dict[Phase, Row] = {
    Phase.PENDING: Row(
        meaning="recorded; nothing asked of the provider yet",
        bound="admit",
        on_the_bound="deleted, nothing to clean",
        moves=(Phase.STARTING, Phase.DELETED),
        wanted=True,
        maximum=True,
        billed="no",
    ),
    Phase.STARTING: Row(
        meaning="being made, claimed or switched on, until observed up and the probe passed",
        bound="start",
        on_the_bound="failed",
        moves=(Phase.READY, Phase.STANDBY, Phase.FAILED, Phase.STOPPING),
        wanted=True,
        maximum=True,
        billed="yes",
    ),
    Phase.READY: Row(
        meaning="up and usable",
        bound="max_age",
        on_the_bound="draining",
        moves=(Phase.DRAINING, Phase.STOPPING, Phase.FAILED, Phase.STANDBY),
        wanted=True,
        maximum=True,
        billed="yes",
    ),
    Phase.DRAINING: Row(
        meaning="no new work; waits for jobs or pods",
        bound="drain",
        on_the_bound="stopping",
        moves=(Phase.READY, Phase.STOPPING, Phase.FAILED),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.STOPPING: Row(
        meaning="being destroyed, released or switched off",
        bound="stop",
        on_the_bound="escalate, alarm, back off; never forgotten",
        moves=(Phase.DELETED, Phase.STANDBY, Phase.READY, Phase.PENDING),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.STANDBY: Row(
        meaning="keeps its host while it is not used",
        bound=None,
        on_the_bound="-",
        moves=(Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.DELETED),
        wanted=False,
        maximum=True,
        billed="as the host",
    ),
    Phase.FAILED: Row(
        meaning="failed; kept for evidence as long as keep_failed says",
        bound="keep_failed",
        on_the_bound="stopping",
        moves=(Phase.STARTING, Phase.READY, Phase.STOPPING, Phase.DELETED),
        wanted=False,
        maximum=True,
        billed="yes",
    ),
    Phase.DELETED: Row(
        meaning="nothing of its allocation is left; the record is history",
        bound=None,
        on_the_bound="-",
        moves=(Phase.STOPPING,),
        wanted=False,
        maximum=False,
        billed="no",
    ),
}
"""The one table. DELETED → STOPPING is the reopening of a record whose resource turned up late;
STOPPING → PENDING is another start under the same id (docs/decisions/0009)."""


def legal(before: Phase, after: Phase) -> bool:
    """Tell whether a machine may move from one phase to another; staying is no move."""
    return after in PHASES[before].moves


def diagram() -> str:
    """Return the table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2", f"    [*] --> {Phase.PENDING}"]
    lines += [f"    {phase} --> {move}" for phase, row in PHASES.items() for move in row.moves]
    return "\n".join([*lines, f"    {Phase.DELETED} --> [*]"])


def table() -> str:
    """Return the table as Markdown, for the docs."""
    head = "| phase | meaning | bound | on the bound | moves to | desired | maximum | billed |"
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


class Reason(StrEnum):
    """Why a machine changes its phase; the value is the label in metrics and events."""

    MADE = "made"
    ADMITTED = "admitted"
    ADOPTED = "adopted"
    RENAMED = "renamed"
    MADE_AGAIN = "made_again"
    NOT_ADMITTED = "not_admitted"
    PROBE_PASSED = "probe_passed"
    UP = "up"
    RECOVERED = "recovered"
    VANISHED = "vanished"
    RESOURCE_VANISHED = "resource_vanished"
    STOPPED = "stopped"
    STOPPED_IN_PLACE = "stopped_in_place"
    LOCKED = "locked"
    WIPED = "wiped"
    FAILED = "failed"
    START_OVERDUE = "start_overdue"
    NOT_PREPARED = "not_prepared"
    BOOTSTRAP_FAILED = "bootstrap_failed"
    BOOTSTRAP_REFUSED = "bootstrap_refused"
    OUT_OF_STOCK = "out_of_stock"
    QUOTA = "quota"
    REFUSED = "refused"
    TO_STANDBY = "to_standby"
    IN_STANDBY = "in_standby"
    WOKEN = "woken"
    ENDED = "ended"
    SCALED_DOWN = "scaled_down"
    MAX_AGE = "max_age"
    OUTDATED = "outdated"
    WINDOW_OVER = "window_over"
    DRAINED = "drained"
    DRAIN_OVERDUE = "drain_overdue"
    CLEANING = "cleaning"
    ALL_ABSENT = "all_absent"
    NOTHING_MADE = "nothing_made"
    APPEARED_LATE = "appeared_late"
    STOP_OVERDUE = "stop_overdue"
    HOST_LOST = "host_lost"
    HOST_TAKEN = "host_taken"
    HOST_USED = "host_used"
    NO_AVAILABLE_HOST = "no_available_host"
    RELEASE_SKIPPED = "release_skipped"
    RETIRED = "retired"


SENTENCES: dict[Reason, str] = {
    Reason.MADE: "the fleet's size asks for one more machine",
    Reason.ADMITTED: "there is room, and its zone was just observed",
    Reason.ADOPTED: "it was taken over with its owner tags",
    Reason.RENAMED: "its fleet goes on under another name",
    Reason.MADE_AGAIN: "its start failed and left nothing: it is tried again under the same id",
    Reason.NOT_ADMITTED: "nothing could be asked of the provider in time",
    Reason.PROBE_PASSED: "it is up and the readiness probe passed",
    Reason.UP: "it is up, and the fleet asks for no probe",
    Reason.RECOVERED: "it is up again",
    Reason.VANISHED: "its server is no longer there",
    Reason.RESOURCE_VANISHED: "one of its resources is no longer there",
    Reason.STOPPED: "its server stopped after it had been switched on",
    Reason.STOPPED_IN_PLACE: "its server stopped in place (a guest's own shutdown; still billed)",
    Reason.LOCKED: "the provider locked its server",
    Reason.WIPED: "somebody else had its host reinstalled",
    Reason.FAILED: "the provider says that its host is in error",
    Reason.NOT_PREPARED: "its host could not be prepared: it is wiped, or left alone",
    Reason.BOOTSTRAP_FAILED: "the fleet's setup script is at fault: its host is not blamed",
    Reason.BOOTSTRAP_REFUSED: "its bootstrap data could not be given to it, or failed there",
    Reason.START_OVERDUE: "it did not become ready within its start bound",
    Reason.OUT_OF_STOCK: "the provider has none of this type left in this zone",
    Reason.QUOTA: "the provider's quota for this type is used up",
    Reason.REFUSED: "the provider refused what the fleet file asks for",
    Reason.TO_STANDBY: "somebody asked for standby",
    Reason.IN_STANDBY: "it is observed in standby",
    Reason.WOKEN: "somebody asked for it back",
    Reason.ENDED: "its deletion was asked for",
    Reason.SCALED_DOWN: "the fleet has more machines than its size",
    Reason.MAX_AGE: "it reached its maximum age",
    Reason.OUTDATED: "the fleet's template changed since it was made",
    Reason.WINDOW_OVER: "the window of its host is over, which was ordered, and one of the pool is "
    "free",
    Reason.DRAINED: "nothing runs on it any longer",
    Reason.DRAIN_OVERDUE: "it was drained for as long as `drain` allows",
    Reason.CLEANING: "it failed, and its evidence is kept no longer",
    Reason.ALL_ABSENT: "complete observations show nothing of it any longer",
    Reason.NOTHING_MADE: "nothing was ever asked of the provider for it",
    Reason.APPEARED_LATE: "a resource of it turned up after it was deleted",
    Reason.STOP_OVERDUE: "it could not be removed within its stop bound",
    Reason.HOST_LOST: "somebody else took its host before it was claimed: another one is chosen",
    Reason.HOST_TAKEN: "its host has a name that is not ours: it is left as it is, and reported",
    Reason.HOST_USED: "its host was put into the pool, and somebody else may have used it",
    Reason.NO_AVAILABLE_HOST: "the pool has no host that fits",
    Reason.RELEASE_SKIPPED: "no pool is known that its host could go back to: set `pool_prefix`",
    Reason.RETIRED: "its host is no longer wanted and is retired",
}


_BY_WORD = {str(reason): text for reason, text in SENTENCES.items()}


def sentence(reason: str) -> str:
    """Return the sentence for a reason; a reason from elsewhere is its own sentence."""
    return _BY_WORD.get(reason, reason)


def host_sentence(reason: str) -> str:
    """Return the sentence for why a host stands as it does: a machine's reason is not its own."""
    return f"its machine: {_BY_WORD[reason]}" if reason in _BY_WORD else reason
