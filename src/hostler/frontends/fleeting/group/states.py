"""States: what is reported to a runner of a machine: one total table from phase and aspect.

*Deleting* is reported only while a delete of ours runs: a runner believes it and never asks for the
removal. So everything else that is not well is *stopped*, or where a schema has no such state
*creating*: both are counted, neither gets a job, and a Decrease is honoured
(reference/fleeting.md 3.2, origins.md 000).
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from hostler.domain.machines.retry import may_retry
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import LOCKED, Machine
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.frontends.fleeting.contract import State


class Aspect(StrEnum):
    """What else, beside the phase, decides what is reported to a runner."""

    PLAIN = "plain"
    DOWN = "down"
    RETRY = "retry"
    PROTECTED = "protected"
    STUCK = "stuck"
    STANDBY = "standby"
    WAKES = "wakes"


MEANINGS: Mapping[Aspect, str] = {
    Aspect.PLAIN: "as the phase says",
    Aspect.DOWN: "the newest observation shows it stopped, stopped in place or locked",
    Aspect.RETRY: "a start failed; it is made again under the same id",
    Aspect.PROTECTED: "somebody protects it, or the provider locked it: it is not deleted now",
    Aspect.STUCK: "it could not be removed within its bound; we go on trying",
    Aspect.STANDBY: "it goes to standby, or is there",
    Aspect.WAKES: "it comes back from standby, or was ready and starts again after a failure",
}

_NOT_WELL = (State.STOPPED, State.CREATING)
_TIMED_OUT = (State.TIMEOUT, State.DELETED)
_MADE: Mapping[Aspect, tuple[State, ...]] = dict.fromkeys(Aspect, (State.CREATING,))
_DELETED: Mapping[Aspect, tuple[State, ...]] = dict.fromkeys(Aspect, (State.DELETED,))

TABLE: Mapping[Phase, Mapping[Aspect, tuple[State, ...]]] = {
    Phase.PENDING: _MADE,
    Phase.STARTING: {
        **_MADE,
        Aspect.DOWN: _NOT_WELL,
        Aspect.WAKES: (State.RESUMING, State.CREATING),
    },
    Phase.READY: {**dict.fromkeys(Aspect, (State.RUNNING,)), Aspect.DOWN: _NOT_WELL},
    Phase.DRAINING: {**dict.fromkeys(Aspect, (State.RUNNING,)), Aspect.DOWN: _NOT_WELL},
    Phase.STOPPING: {
        **dict.fromkeys(Aspect, (State.DELETING,)),
        Aspect.RETRY: (State.CREATING,),
        Aspect.PROTECTED: _NOT_WELL,
        Aspect.STUCK: _TIMED_OUT,
        Aspect.STANDBY: (State.SUSPENDING, *_NOT_WELL),
    },
    Phase.STANDBY: {
        **dict.fromkeys(Aspect, (State.SUSPENDED, *_NOT_WELL)),
        Aspect.WAKES: (State.RESUMING, State.CREATING),
    },
    Phase.FAILED: {**dict.fromkeys(Aspect, _NOT_WELL), Aspect.RETRY: (State.CREATING,)},
    Phase.DELETED: _DELETED,
}
"""The first of these states that the runner's schema offers; where it offers none, the instance is
left out, and the runner forgets it after five updates."""

_DOWN = frozenset({str(Reason.STOPPED), str(Reason.STOPPED_IN_PLACE), str(Reason.LOCKED)})
_ENDING = (Phase.FAILED, Phase.STOPPING)


def state_of(
    machine: Machine,
    fleet: Fleet,
    now: datetime,
    offered: frozenset[State],
    *,
    protected: bool = False,
) -> State | None:
    """Return the state that is reported of a machine; None: it is left out.

    `protected` says that somebody forbade its deletion at the provider.
    """
    plain = (
        machine.phase is Phase.READY and machine.health.doubt is None
    )  # most are, most of the time
    found = Aspect.PLAIN if plain else aspect(machine, fleet, now, protected=protected)
    return next((state for state in TABLE[machine.phase][found] if state in offered), None)


def aspect(machine: Machine, fleet: Fleet, now: datetime, *, protected: bool = False) -> Aspect:
    """Return the aspect that counts: the first that applies, in the order of this function."""
    phase = machine.phase
    was_up = machine.health.was_ready is not None
    applies: Mapping[Aspect, bool] = {
        Aspect.STUCK: machine.health.stuck,
        Aspect.RETRY: phase in _ENDING and may_retry(machine, fleet, now),
        Aspect.PROTECTED: phase is Phase.STOPPING and (protected or _stays(machine, now)),
        Aspect.STANDBY: machine.goal is Goal.STANDBY,
        Aspect.DOWN: machine.health.doubt is not None and machine.health.doubt.what in _DOWN,
        Aspect.WAKES: phase is Phase.STANDBY or (phase is Phase.STARTING and was_up),
    }
    return next((found for found, is_so in applies.items() if is_so), Aspect.PLAIN)


def _stays(machine: Machine, now: datetime) -> bool:
    return machine.is_protected(now) or machine.fact(LOCKED) is not None


def table() -> str:
    """Return the table as Markdown, for the docs."""
    rows = ["| phase | aspect | reported to the runner, the first that its schema offers |"]
    rows.append("|---|---|---|")
    for phase, aspects in TABLE.items():
        plain = aspects[Aspect.PLAIN]
        for one in Aspect:
            if one is Aspect.PLAIN or aspects[one] != plain:
                states = ", ".join(aspects[one])
                rows.append(f"| {phase} | {MEANINGS[one]} | {states} |")
    return "\n".join(rows)
