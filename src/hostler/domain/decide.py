"""Decide: one snapshot in, commands with their reasons out.

Everything that a plan or an explanation says comes from here.
"""

from msgspec import Struct

from .decision.cache import DecisionCache
from .decision.commands import decision_of
from .decision.draft import Context, DecisionStage, Draft
from .decision.fleet import (
    adopt,
    assign,
    buy,
    grant,
    pardon,
    reclaim_orphans,
    replace_outdated,
    resize,
)
from .decision.machines import (
    advance,
    bound_retries,
    follow,
    reopen,
    repair_failed,
    space_starts,
)
from .machines.rollout import with_revision
from .model.commands import Advance, Decision, Verdict
from .model.machine import Machine
from .model.provider import Planner
from .model.snapshot import Snapshot

STAGES: tuple[DecisionStage, ...] = (
    grant,
    adopt,
    follow,
    repair_failed,
    resize,
    replace_outdated,
    assign,
    buy,
    advance,
    bound_retries,
    space_starts,
    reopen,
    pardon,
    reclaim_orphans,
)
"""The questions of a decision, in order: each reads what the ones before it answered."""


def decide(snapshot: Snapshot, planner: Planner, cache: DecisionCache | None = None) -> Decision:
    """Return what is to be done for this fleet now: a draft grows from stage to stage. Pure.

    The same with and without what earlier decisions of this fleet remember in `cache`, but sooner.
    """
    cache = DecisionCache(remembers=False) if cache is None else cache
    cache.begin(snapshot)
    if (unchanged := cache.decision(snapshot)) is not None:
        return unchanged
    context = Context(snapshot=with_revision(snapshot), planner=planner, cache=cache)
    draft = Draft(row=snapshot.row, machines=snapshot.machines)
    for stage in STAGES:
        draft = stage(draft, context)
        context = context.after(draft)
    decision = decision_of(draft, context)
    cache.keep_whole(decision, draft.transitions, context.snapshot)
    return decision


class Explained(Struct, frozen=True, kw_only=True):
    """The answer to *why*, and *what next*, for one machine.

    `moves` are the phases that it comes to at once, each with why: the verdict is of the last one.
    """

    machine: Machine
    verdict: Verdict
    moves: tuple[str, ...]
    condition: str


def verdict_of(machine: Machine, snapshot: Snapshot, planner: Planner) -> Explained | None:
    """Return what decide() says of one machine, or None where it is not of this fleet."""
    decision = decide(snapshot, planner)
    verdict = next((v for v in decision.verdicts if v.machine == machine.id), None)
    if verdict is None:
        return None
    advances = (command for command in decision.commands if isinstance(command, Advance))
    own = (event for one in advances if one.machine.id == machine.id for event in one.events)
    moves = tuple(event.detail.partition(">")[2] for event in own if event.kind == "moved")
    return Explained(machine=machine, verdict=verdict, moves=moves, condition=decision.condition)
