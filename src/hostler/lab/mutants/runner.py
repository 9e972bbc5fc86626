"""The hall of known bugs of fleeting plugins: planted around the group, each must be caught.

From the survey of reference/peers.md section 7 and the complaints of reference/fleeting.md 6.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hostler.frontends.fleeting.contract import State
from hostler.lab.gitlab_runner.calls import Wrap
from hostler.lab.gitlab_runner.faults import RunnerScenario
from hostler.lab.gitlab_runner.workload import Job
from hostler.lab.scenario.faults import Disruption
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.simulators.scaleway.state.records import State as Status

from . import runner_mutations
from .registry import put

_MINUTE = 60.0
_JOBS = tuple(Job(at, 240.0) for at in (5.0, 6.0, 7.0, 600.0, 601.0, 1500.0, 1501.0))
_RESTARTS = tuple(
    Disruption(at=at * _MINUTE, fault="runner_restarted", length=5.0) for at in (8, 16, 30)
)
_UNREPAIRED = (("domain.machines.failure:doubted", runner_mutations.believe_nothing),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One defect: what it is, what is put around the group, and the weather in which it shows.

    `puts` are functions of the engine in whose place something else stands, as in `lab.bugs`;
    `caught` are the invariants of which one is broken first.
    """

    words: str
    wrap: Wrap
    caught: tuple[str, ...]
    puts: tuple[tuple[str, Callable[[Any], Any]], ...] = ()
    rates: Mapping[str, float] | None = None
    spells: Mapping[str, tuple[float, float]] | None = None
    disruptions: tuple[Disruption, ...] = ()
    within: int = 4

    def scenario(self, scenario: RunnerScenario) -> RunnerScenario:
        """Return a climate in which nothing happens but this."""
        world = FaultRates(self.rates or {}, self.spells or {})
        base = replace(scenario.base, mood="planted", world=world, list_lag=0.0, protected=False)
        options = replace(
            scenario.options,
            max_instances=max(3, scenario.options.max_instances),
            idle_count=2,
            idle_time=600.0,
            max_use_count=0,
            state_storage=True,
        )
        return replace(
            scenario,
            base=base,
            options=options,
            states=frozenset(State),
            jobs=_JOBS,
            disruptions=self.disruptions,
            span=40 * _MINUTE,
        )


@contextmanager
def planted(bug: Bug) -> Generator[None]:
    """Put a bug's defects into the engine for a while."""
    undo = [put(place, defect) for place, defect in bug.puts]
    try:
        yield
    finally:
        for back in reversed(undo):
            back()


_POWEROFF = {"guest_poweroff": 3.0}
_LOCKS = {"server_locked": 3.0}
_STRANGE = {"unknown_status": 6.0}
_LONG = {"server_locked": (1500.0, 1800.0), "unknown_status": (300.0, 600.0)}

BUGS: dict[str, Bug] = {
    "stopped-is-deleting": Bug(
        words="a stopped server is told to be deleting, and nobody deletes it",
        wrap=runner_mutations.told_as(dict.fromkeys(runner_mutations.STOPPED, State.DELETING)),
        puts=_UNREPAIRED,
        rates=_POWEROFF,
        caught=("R2",),
    ),
    "locked-is-deleting": Bug(
        words="a locked server is told to be deleting, and nobody deletes it",
        wrap=runner_mutations.told_as({Status.LOCKED: State.DELETING}),
        puts=_UNREPAIRED,
        rates=_LOCKS,
        spells=_LONG,
        caught=("R2",),
    ),
    "unknown-is-creating": Bug(
        words="a word of the provider that nobody knows is told to be creating",
        wrap=runner_mutations.told_as({runner_mutations.STRANGE: State.CREATING}),
        rates=_STRANGE,
        spells=_LONG,
        caught=("R7",),
    ),
    "unknown-is-nothing": Bug(
        words="a word of the provider that nobody knows is passed on as no state at all",
        wrap=runner_mutations.told_as({runner_mutations.STRANGE: runner_mutations.NOTHING}),
        rates=_STRANGE,
        spells=_LONG,
        caught=("R11",),
    ),
    "stopped-is-deleted": Bug(
        words="a stopped server is told to be deleted, and stands, and is billed",
        wrap=runner_mutations.told_as(dict.fromkeys(runner_mutations.STOPPED, State.DELETED)),
        puts=_UNREPAIRED,
        rates=_POWEROFF,
        caught=("R4",),
    ),
    "timeout-leaves-server": Bug(
        words="a stopped server is told to have timed out, and nobody deletes it",
        wrap=runner_mutations.told_as(dict.fromkeys(runner_mutations.STOPPED, State.TIMEOUT)),
        puts=_UNREPAIRED,
        rates=_POWEROFF,
        caught=("R4",),
    ),
    "running-at-once": Bug(
        words="an instance is told to run as soon as it is asked for",
        wrap=runner_mutations.RunningAtOnce,
        caught=("R1",),
    ),
    "running-while-booting": Bug(
        words="an instance is told to run when its server does, before its guest answers",
        wrap=runner_mutations.told_as({Status.RUNNING: State.RUNNING}),
        caught=("R1",),
    ),
    "running-is-creating": Bug(
        words="a server that is busy, although with jobs, is told to be creating",
        wrap=runner_mutations.told_as({Status.RUNNING: State.CREATING}),
        caught=("R7",),
    ),
    "delete-in-update": Bug(
        words="what is stopped is deleted in the midst of Update",
        wrap=runner_mutations.DeletesInUpdate,
        rates=_POWEROFF,
        caught=("R10",),
    ),
    "state-file": Bug(
        words="instances are told as a file says, and the platform is never asked",
        wrap=runner_mutations.StateFile,
        rates={"server_deleted_by_hand": 3.0},
        caught=("R7",),
    ),
    "partial-success-lost": Bug(
        words="an Increase that made some answers an error",
        wrap=runner_mutations.LosesPartialSuccess,
        caught=("R6",),
    ),
    "shutdown-deletes": Bug(
        words="Shutdown deletes the instances",
        wrap=runner_mutations.ShutdownDeletes,
        disruptions=_RESTARTS,
        caught=("R10",),
    ),
    "key-lost": Bug(
        words="each start makes a new SSH key, which older machines do not know",
        wrap=runner_mutations.KeyLost,
        disruptions=_RESTARTS,
        caught=("R9",),
    ),
    "increase-blocks": Bug(
        words="Increase is answered when all servers are up",
        wrap=runner_mutations.IncreaseBlocks,
        caught=("R5",),
    ),
    "one-fails-update": Bug(
        words="one server that cannot be deleted fails Update",
        wrap=runner_mutations.OneFailsAll,
        rates={"protected_by_hand": 6.0},
        caught=("R5",),
    ),
    "stopped-is-left-out": Bug(
        words="a stopped server is not told any more: it is pruned, and stands",
        wrap=runner_mutations.LeavesOut,
        puts=_UNREPAIRED,
        rates=_POWEROFF,
        caught=("R4",),
    ),
    "replaced-behind-its-back": Bug(
        words="what is lost is replaced without being asked",
        wrap=runner_mutations.Replaces,
        rates=_POWEROFF,
        caught=("R6",),
    ),
    "decrease-forgotten": Bug(
        words="Decrease is accepted, and nothing is done",
        wrap=runner_mutations.DecreaseForgotten,
        caught=("L",),
    ),
    "failed-is-creating": Bug(
        words="a server that failed is told to be creating for ever",
        wrap=runner_mutations.FailedIsCreating,
        rates={"start_falls_back": 0.4},
        caught=("R3", "L", "R7"),
    ),
}
"""The famous defects, by name."""
