"""Mutants of owned metal: each must be caught by the simulation of `metal`."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.domain.model.hold import HoldKind
from hostler.lab.metal.faults import MetalScenario
from hostler.lab.scenario.faults import HOUR, UNKNOWN_HOST, Disruption, OperatorAction

from . import metal_mutations
from .mutant import Mutant
from .server_mutations import always, never

_MINUTE = 60.0
ENDS = tuple(
    OperatorAction(at=at * _MINUTE, kind=kind, which=which)
    for at, kind, which in (
        (10, "delete", 0.1),
        (14, "delete", 0.6),
        (20, "scale", 0.0),
        (22, "scale", 0.9),
        (40, "delete", 0.9),
        (50, "scale", 0.0),
        (51, "scale", 0.9),
        (70, "delete", 0.4),
    )
)
"""What an operator asks for where nothing else happens."""
_NO_LIMITS = PowerLimits()


def _held(at: float, kind: HoldKind) -> tuple[OperatorAction, ...]:
    """Hold all four boxes like this for hours, from so many minutes on."""
    return tuple(
        OperatorAction(at=at * _MINUTE + which, kind=f"hold {kind}", which=which, length=4 * HOUR)
        for which in (0.1, 0.4, 0.6, 0.9)
    )


_LONG_ON = PowerLimits(least_on=timedelta(minutes=30))


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which nothing happens but this."""

    rates: Mapping[str, float] | None = None
    disruptions: tuple[Disruption, ...] = ()
    cleaning: Cleaning = Cleaning.POWER_CYCLE
    power: PowerLimits = _NO_LIMITS
    actions: tuple[OperatorAction, ...] = ENDS

    def __call__(self, scenario: MetalScenario) -> MetalScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=3,
            faults=(),
            disruptions=self.disruptions,
            actions=self.actions,
            replicas=1,
            skews=(0.0, 0.0),
            span=1.5 * HOUR,
        )
        return replace(
            scenario,
            base=base,
            boxes=4,
            cleaning=self.cleaning,
            power=self.power,
            rates=self.rates or {},
        )


_POWER = "domain.hosts.power"
_IDLE = "domain.hosts.idle"

MUTANTS: Mapping[str, Mutant[MetalScenario]] = {
    "cycle-unproven": Mutant(
        summary="a box that was told to go off is clean, whether it was seen off or not",
        puts=(("domain.hosts.cleaning:_is_proof", always),),
        scenario=Alone(rates={"power_ignored": 0.6}, power=_LONG_ON),
        caught=("S12",),
    ),
    "not-clean-yet-is-failed": Mutant(
        summary="a box that is not clean yet counts as one that could not be cleaned",
        puts=(("domain.hosts.cleaning:_has_failed", always),),
        scenario=Alone(rates={"power_ignored": 0.6}),
        caught=("S4",),
    ),
    "unknown-host-unanswered": Mutant(
        summary="what is asked of a host that there is not waits until it is seen",
        puts=(("domain.decision.ripe:_is_host_seen", never),),
        scenario=Alone(actions=(OperatorAction(at=10 * _MINUTE, kind=UNKNOWN_HOST, which=0.5),)),
        caught=("E3",),
    ),
    "released-is-clean": Mutant(
        summary="a box is handed out as it was left",
        puts=(("domain.hosts.cleaning:followed", metal_mutations.clean_at_once),),
        scenario=Alone(power=_LONG_ON),
        caught=("S12",),
    ),
    "accepted-is-obeyed": Mutant(
        summary="a box is taken while a command to go off may still be obeyed",
        puts=((f"{_POWER}:is_settled", always),),
        scenario=Alone(rates={"power_late": 0.6}, cleaning=Cleaning.TRUSTED),
        caught=("S5",),
    ),
    "least-on-ignored": Mutant(
        summary="a box that nobody needs goes off at once",
        puts=((f"{_IDLE}:goals", metal_mutations.off_at_once),),
        scenario=Alone(cleaning=Cleaning.TRUSTED, power=_LONG_ON),
        caught=("power",),
    ),
    "least-off-ignored": Mutant(
        summary="a box that just went off is started again",
        puts=((f"{_POWER}:may_start", always),),
        scenario=Alone(power=PowerLimits(least_off=timedelta(minutes=20))),
        caught=("power",),
    ),
    "all-at-once": Mutant(
        summary="every box is started as soon as it is needed",
        puts=(("domain.hosts.turns:startable", metal_mutations.all_free),),
        scenario=Alone(power=PowerLimits(parallel_starts=1)),
        caught=("power",),
    ),
    "unsure-again": Mutant(
        summary="a command whose answer was lost is given again at once",
        puts=(("domain.machines.next_calls:unsure", never),),
        scenario=Alone(rates={"power_hung": 0.4, "power_unsent": 0.4}),
        caught=("S2",),
    ),
    "held-is-free": Mutant(
        summary="a machine takes a box that a person reserved",
        puts=(("domain.hosts.free:_is_somebodys", never),),
        scenario=Alone(actions=(*_held(5, HoldKind.RESERVED), *ENDS)),
        caught=("hold",),
    ),
    "maintenance-ignored": Mutant(
        summary="a box that a person works on is switched off to be clean",
        puts=(("domain.hosts.lifecycle:_aimed", metal_mutations.unmaintained),),
        scenario=Alone(actions=(*_held(5, HoldKind.MAINTENANCE), *ENDS)),
        caught=("hold",),
    ),
    "asked-on-stays-off": Mutant(
        summary="a box that a person wants on is not switched on",
        puts=((f"{_IDLE}:_Goals._start", never),),
        scenario=Alone(actions=_held(5, HoldKind.ON)),
        caught=("hold",),
    ),
    "asked-off-stays-on": Mutant(
        summary="a box that a person wants off stays on for its least time",
        puts=((f"{_IDLE}:_Goals._goes_off", metal_mutations.unheld),),
        scenario=Alone(
            actions=(*_held(5, HoldKind.ON), *_held(25, HoldKind.OFF)),
            cleaning=Cleaning.TRUSTED,
            power=_LONG_ON,
        ),
        caught=("hold",),
    ),
    "hold-refused": Mutant(
        summary="a person may hold no box",
        puts=(("domain.hosts.holds:impossible", metal_mutations.refused),),
        scenario=Alone(actions=_held(5, HoldKind.RESERVED)),
        caught=("hold",),
    ),
    "silent-is-off": Mutant(
        summary="a box of which the controller is silent is taken for switched off",
        puts=(("testing.fakes.metal:FakeMetal._resource", metal_mutations.silent_is_off),),
        scenario=Alone(
            disruptions=tuple(
                Disruption(at=at * _MINUTE, fault="controller_silent", who=at, length=10 * _MINUTE)
                for at in range(5, 60, 3)
            )
        ),
        caught=("S5", "S12"),
    ),
    "starts-taken-back": Mutant(
        summary="a box that goes on is on record to have gone on once less",
        puts=(("domain.hosts.power:observed", metal_mutations.starts_taken_back),),
        scenario=Alone(),
        caught=("wear",),
    ),
    "type-forgotten": Mutant(
        summary="the record of a box does not say what type it is",
        puts=(("domain.hosts.lifecycle:described", metal_mutations.type_forgotten),),
        scenario=Alone(),
        caught=("L1",),
    ),
    "rests-while-on": Mutant(
        summary="a machine is in standby while its box is on",
        puts=(
            (
                "domain.observation.allocations:Allocations._allocation",
                metal_mutations.rests_while_on,
            ),
        ),
        scenario=Alone(
            rates={"power_ignored": 0.7},
            actions=(OperatorAction(at=20 * _MINUTE, kind="standby", which=0.4),),
        ),
        caught=("L2",),
    ),
    "cycle-forgotten": Mutant(
        summary="a box that a person wants off and on again stays on",
        puts=(("domain.hosts.idle:followed", metal_mutations.cycle_forgotten),),
        scenario=Alone(
            power=_LONG_ON,
            cleaning=Cleaning.TRUSTED,
            actions=(
                OperatorAction(at=10 * _MINUTE, kind="scale", which=0.0),
                *(
                    OperatorAction(at=(14 + which) * _MINUTE, kind="cycle", which=which)
                    for which in (0.1, 0.4, 0.6, 0.9)
                ),
            ),
        ),
        caught=("hold",),
    ),
    "box-stays-off": Mutant(
        summary="the box of a machine that starts is not switched on",
        puts=(("testing.fakes.metal_planner:MetalPlanner.next_calls", metal_mutations.left_off),),
        scenario=Alone(),
        caught=("L2",),
    ),
    "ill-taken": Mutant(
        summary="a box that failed, or whose controller is silent, is taken for a machine",
        puts=(("domain.hosts.free:_is_whole", always),),
        scenario=Alone(
            disruptions=tuple(
                Disruption(at=at * _MINUTE, fault="controller_silent", who=at, length=20 * _MINUTE)
                for at in range(5, 60, 2)
            )
        ),
        caught=("choice",),
    ),
    "short-and-silent": Mutant(
        summary="a fleet that lacks machines makes none, and does not say why",
        puts=(("domain.fleets.scaling:_room", metal_mutations.no_room),),
        scenario=Alone(),
        caught=("L3",),
    ),
    "free-uncounted": Mutant(
        summary="a machine that has its box counts as one that still takes a free one",
        puts=(("domain.hosts.claims:_lacks_host", always),),
        scenario=Alone(
            actions=(
                OperatorAction(at=10 * _MINUTE, kind="scale", which=0.0),
                *(
                    OperatorAction(at=(20 + 10 * nth) * _MINUTE, kind="scale", which=0.3 + nth / 10)
                    for nth in range(7)
                ),
            )
        ),
        caught=("L3",),
    ),
}
"""Known bugs, by name."""
