"""Mutants of fleeting plugins: each must be caught by the simulation of `fleeting`.

From the survey of reference/peers.md section 7 and the complaints of reference/fleeting.md 6.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.frontends.fleeting.contract import State
from hostler.lab.gitlab_runner.faults import RunnerScenario
from hostler.lab.gitlab_runner.workload import Job
from hostler.lab.scenario.faults import Disruption
from hostler.simulators.scaleway.faults.rates import FaultRates
from hostler.simulators.scaleway.state.records import State as Status

from . import runner_mutations, server_mutations
from .mutant import Mutant

_MINUTE = 60.0
_JOBS = tuple(Job(at, 240.0) for at in (5.0, 6.0, 7.0, 600.0, 601.0, 1500.0, 1501.0))
_LONG_JOB = (Job(5.0, 2000.0), Job(6.0, 60.0))
_RESTARTS = tuple(
    Disruption(at=at * _MINUTE, fault="runner_restarted", length=5.0) for at in (8, 16, 30)
)
_UNREPAIRED = (("domain.machines.failure:doubted", runner_mutations.believe_nothing),)


_GROUP = "lab.gitlab_runner.runner:group_of"
"""What the runner reaches of a plugin: a mutation of the group is put around it."""


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which nothing happens but this."""

    rates: Mapping[str, float] | None = None
    spells: Mapping[str, tuple[float, float]] | None = None
    disruptions: tuple[Disruption, ...] = ()
    jobs: tuple[Job, ...] = _JOBS
    idle_count: int = 2

    def __call__(self, scenario: RunnerScenario) -> RunnerScenario:
        """Return the scenario, reduced to this; records are in memory."""
        world = FaultRates(self.rates or {}, self.spells or {})
        base = replace(
            scenario.base,
            severity="planted",
            world=world,
            list_lag=0.0,
            protected=False,
            sqlite=False,
        )
        options = replace(
            scenario.options,
            max_instances=max(3, scenario.options.max_instances),
            idle_count=self.idle_count,
            idle_time=600.0,
            max_use_count=0,
            heartbeats=True,
            state_storage=True,
        )
        return replace(
            scenario,
            base=base,
            options=options,
            states=frozenset(State),
            jobs=self.jobs,
            disruptions=self.disruptions,
            span=40 * _MINUTE,
        )


_POWEROFF = {"guest_poweroff": 3.0}
_LOCKS = {"server_locked": 3.0}
_STRANGE = {"unknown_status": 6.0}
_LONG = {"server_locked": (1500.0, 1800.0), "unknown_status": (300.0, 600.0)}

MUTANTS: Mapping[str, Mutant[RunnerScenario]] = {
    "stopped-is-deleting": Mutant(
        summary="a stopped server is told to be deleting, and nobody deletes it",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as(
                        dict.fromkeys(runner_mutations.STOPPED, State.DELETING)
                    )
                ),
            ),
            *_UNREPAIRED,
        ),
        scenario=Alone(rates=_POWEROFF),
        caught=("R2",),
        within=4,
    ),
    "locked-is-deleting": Mutant(
        summary="a locked server is told to be deleting, and nobody deletes it",
        puts=(
            (
                _GROUP,
                runner_mutations.around(runner_mutations.shown_as({Status.LOCKED: State.DELETING})),
            ),
            *_UNREPAIRED,
        ),
        scenario=Alone(rates=_LOCKS, spells=_LONG),
        caught=("R2",),
        within=4,
    ),
    "unknown-is-creating": Mutant(
        summary="a word of the provider that nobody knows is told to be creating",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as({runner_mutations.STRANGE: State.CREATING})
                ),
            ),
        ),
        scenario=Alone(rates=_STRANGE, spells=_LONG),
        caught=("R7",),
        within=4,
    ),
    "unknown-is-nothing": Mutant(
        summary="a word of the provider that nobody knows is passed on as no state at all",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as({runner_mutations.STRANGE: runner_mutations.NOTHING})
                ),
            ),
        ),
        scenario=Alone(rates=_STRANGE, spells=_LONG),
        caught=("R11",),
        within=4,
    ),
    "stopped-is-deleted": Mutant(
        summary="a stopped server is told to be deleted, and stands, and is billed",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as(
                        dict.fromkeys(runner_mutations.STOPPED, State.DELETED)
                    )
                ),
            ),
            *_UNREPAIRED,
        ),
        scenario=Alone(rates=_POWEROFF),
        caught=("R4",),
        within=4,
    ),
    "timeout-leaves-server": Mutant(
        summary="a stopped server is told to have timed out, and nobody deletes it",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as(
                        dict.fromkeys(runner_mutations.STOPPED, State.TIMEOUT)
                    )
                ),
            ),
            *_UNREPAIRED,
        ),
        scenario=Alone(rates=_POWEROFF),
        caught=("R4",),
        within=4,
    ),
    "running-at-once": Mutant(
        summary="an instance is told to run as soon as it is asked for",
        puts=((_GROUP, runner_mutations.around(runner_mutations.RunningAtOnce)),),
        scenario=Alone(),
        caught=("R1",),
        within=4,
    ),
    "running-while-booting": Mutant(
        summary="an instance is told to run when its server does, before its guest answers",
        puts=(
            (
                _GROUP,
                runner_mutations.around(runner_mutations.shown_as({Status.RUNNING: State.RUNNING})),
            ),
        ),
        scenario=Alone(),
        caught=("R1",),
        within=4,
    ),
    "running-is-creating": Mutant(
        summary="a server that is busy, although with jobs, is told to be creating",
        puts=(
            (
                _GROUP,
                runner_mutations.around(
                    runner_mutations.shown_as({Status.RUNNING: State.CREATING})
                ),
            ),
        ),
        scenario=Alone(),
        caught=("R7",),
        within=4,
    ),
    "delete-in-update": Mutant(
        summary="what is stopped is deleted in the midst of Update",
        puts=((_GROUP, runner_mutations.around(runner_mutations.DeletesInUpdate)),),
        scenario=Alone(rates=_POWEROFF),
        caught=("R10",),
        within=4,
    ),
    "state-file": Mutant(
        summary="instances are told as a file says, and the platform is never asked",
        puts=((_GROUP, runner_mutations.around(runner_mutations.StateFile)),),
        scenario=Alone(rates={"server_deleted_by_hand": 3.0}),
        caught=("R7",),
        within=4,
    ),
    "partial-success-lost": Mutant(
        summary="an Increase that made some answers an error",
        puts=((_GROUP, runner_mutations.around(runner_mutations.LosesPartialSuccess)),),
        scenario=Alone(),
        caught=("R6",),
        within=4,
    ),
    "shutdown-deletes": Mutant(
        summary="Shutdown deletes the instances",
        puts=((_GROUP, runner_mutations.around(runner_mutations.ShutdownDeletes)),),
        scenario=Alone(disruptions=_RESTARTS),
        caught=("R10",),
        within=4,
    ),
    "key-lost": Mutant(
        summary="each start makes a new SSH key, which older machines do not know",
        puts=((_GROUP, runner_mutations.around(runner_mutations.KeyLost)),),
        scenario=Alone(disruptions=_RESTARTS),
        caught=("R9",),
        within=4,
    ),
    "increase-blocks": Mutant(
        summary="Increase is answered when all servers are up",
        puts=((_GROUP, runner_mutations.around(runner_mutations.IncreaseBlocks)),),
        scenario=Alone(),
        caught=("R5",),
        within=4,
    ),
    "one-fails-update": Mutant(
        summary="one server that cannot be deleted fails Update",
        puts=((_GROUP, runner_mutations.around(runner_mutations.OneFailsAll)),),
        scenario=Alone(rates={"protected_by_hand": 6.0}),
        caught=("R5",),
        within=4,
    ),
    "stopped-is-left-out": Mutant(
        summary="a stopped server is not told any more: it is pruned, and stands",
        puts=((_GROUP, runner_mutations.around(runner_mutations.LeavesOut)), *_UNREPAIRED),
        scenario=Alone(rates=_POWEROFF),
        caught=("R4",),
        within=4,
    ),
    "replaced-behind-its-back": Mutant(
        summary="what is lost is replaced without being asked",
        puts=((_GROUP, runner_mutations.around(runner_mutations.Replaces)),),
        scenario=Alone(rates=_POWEROFF),
        caught=("R6",),
        within=4,
    ),
    "decrease-by-count": Mutant(
        summary="Decrease ends as many as were named, those that came first, whatever runs there",
        puts=((_GROUP, runner_mutations.around(runner_mutations.DecreaseByCount)),),
        scenario=Alone(jobs=_LONG_JOB, idle_count=0),
        caught=("S6",),
        within=4,
    ),
    "decrease-forgotten": Mutant(
        summary="Decrease is accepted, and nothing is done",
        puts=((_GROUP, runner_mutations.around(runner_mutations.DecreaseForgotten)),),
        scenario=Alone(),
        caught=("L",),
        within=4,
    ),
    "heartbeat-denied": Mutant(
        summary="of an instance that is well a later heartbeat is refused",
        puts=((_GROUP, runner_mutations.around(runner_mutations.HeartbeatDenied)),),
        scenario=Alone(),
        caught=("R13",),
        within=4,
    ),
    "begun-uncounted": Mutant(
        summary="machines are begun where nobody knows how many there are",
        puts=(
            ("domain.fleets.scaling:zone_is_known", server_mutations.always),
            ("domain.fleets.offers:zone_is_known", server_mutations.always),
        ),
        scenario=Alone(rates={"truncated_json": 0.7}),
        caught=("S3",),
        within=4,
    ),
    "server-stays-off": Mutant(
        summary="a server that is made is never switched on",
        puts=(("providers.scaleway.instances.plan.create:_power_on", server_mutations.no_call),),
        scenario=Alone(),
        caught=("R12",),
        within=4,
    ),
    "failed-is-creating": Mutant(
        summary="a server that failed is told to be creating for ever",
        puts=((_GROUP, runner_mutations.around(runner_mutations.FailedIsCreating)),),
        scenario=Alone(rates={"start_falls_back": 0.4}),
        caught=("R3", "L", "R7"),
        within=4,
    ),
}
"""Known bugs, by name."""
