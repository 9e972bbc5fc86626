"""Mutants of provider `power`: each must be caught by the simulation of `power`."""

from collections.abc import Mapping
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning, PowerLimits, Preference
from hostler.lab.power.faults import PowerScenario, Wiring
from hostler.lab.scenario.faults import HOUR, Disruption

from . import power_mutations
from .mac_mutations import worst_first
from .metal import ENDS
from .mutant import Mutant
from .server_mutations import always, never

_MINUTE = 60.0
_NO_LIMITS = PowerLimits()
_ALIKE = (Wiring.STRIP,) * 6


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which nothing happens but this."""

    rates: Mapping[str, float] | None = None
    disruptions: tuple[Disruption, ...] = ()
    cleaning: Cleaning = Cleaning.POWER_CYCLE
    power: PowerLimits = _NO_LIMITS
    wiring: tuple[Wiring, ...] = _ALIKE

    def __call__(self, scenario: PowerScenario) -> PowerScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=2,
            faults=(),
            disruptions=self.disruptions,
            actions=ENDS,
            replicas=1,
            skews=(0.0, 0.0),
            span=1.5 * HOUR,
        )
        return replace(
            scenario,
            base=base,
            boxes=len(self.wiring),
            wiring=self.wiring,
            cleaning=self.cleaning,
            power=self.power,
            rates=self.rates or {},
        )


def _every(fault: str, minutes: range, length: float) -> tuple[Disruption, ...]:
    return tuple(Disruption(at=at * _MINUTE, fault=fault, who=at, length=length) for at in minutes)


_LEFT_ALONE = (
    *_every("never_boots", range(6), 75 * _MINUTE),
    *_every("switched_on_by_hand", range(80, 86), 0.0),
)
_SILENT = _every("controller_silent", range(5, 60, 3), 10 * _MINUTE)
_PROVIDER, _TURN = "providers.power.provider:PowerBoxes", "ports.power:Turn"
_IDLE, _PLANNER = "domain.hosts.idle:_Goals", "providers.power.planner:PowerPlanner"
_LIFE = "domain.machines.lifecycle"
_CRASHES = tuple(
    Disruption(at=at, fault="crash", length=5.0) for at in (30.0, 12 * _MINUTE, 23 * _MINUTE)
)

MUTANTS: Mapping[str, Mutant[PowerScenario]] = {
    "no-answer-is-off": Mutant(
        summary="a box that does not answer is taken for switched off (7)",
        puts=((f"{_PROVIDER}._resource", power_mutations.unknown_is_off),),
        scenario=Alone(disruptions=_SILENT, wiring=(Wiring.BMC,) * 4),
        caught=("S5", "S12", "power", "L1"),
    ),
    "two-at-once": Mutant(
        summary="the outlets of a strip are asked without waiting for one another",
        puts=(
            (f"{_TURN}.__aenter__", power_mutations.at_once),
            (f"{_TURN}.__aexit__", power_mutations.at_once),
        ),
        scenario=Alone(),
        caught=("power",),
    ),
    "login-repeated": Mutant(
        summary="a login that was refused is tried again at every observation",
        puts=((f"{_TURN}.refusal", power_mutations.nothing_against),),
        scenario=Alone(disruptions=_every("login_refused", range(5, 60, 9), 5 * _MINUTE)),
        caught=("power",),
    ),
    "told-once": Mutant(
        summary="a command that was accepted is never repeated, though nothing came of it",
        puts=((f"{_PLANNER}._open", power_mutations.once),),
        scenario=Alone(rates={"power_ignored": 0.7}, cleaning=Cleaning.TRUSTED),
        caught=("L1",),
    ),
    "idle-out-of-turn": Mutant(
        summary="a box that goes on for its own sake does not wait for the gap after another",
        puts=(
            ("domain.hosts.turns:is_turn", always),
            ("domain.hosts.turns:starts_left", power_mutations.many),
        ),
        scenario=Alone(power=PowerLimits(stay_on=4, start_gap=timedelta(minutes=4))),
        caught=("power",),
    ),
    "idle-never-off": Mutant(
        summary="a box that nobody needs stays on",
        puts=((f"{_IDLE}._goes_off", never),),
        scenario=Alone(cleaning=Cleaning.TRUSTED),
        caught=("L1",),
    ),
    "quarantined-stays-on": Mutant(
        summary="a box in quarantine that a person switched on stays on",
        puts=((f"{_IDLE}._is_unused", power_mutations.free_alone),),
        scenario=Alone(disruptions=_LEFT_ALONE, cleaning=Cleaning.TRUSTED),
        caught=("L1",),
    ),
    "nothing-stays-on": Mutant(
        summary="boxes that are to stay on go off",
        puts=((f"{_IDLE}._stays", power_mutations.none),),
        scenario=Alone(power=PowerLimits(stay_on=2)),
        caught=("L1",),
    ),
    "worst-first": Mutant(
        summary="a machine takes the box that its rack would have taken last",
        puts=(("domain.decision.view:free_hosts", worst_first),),
        scenario=Alone(cleaning=Cleaning.TRUSTED, power=PowerLimits(prefer=(Preference.COST,))),
        caught=("choice",),
    ),
    "wrong-box": Mutant(
        summary="a command goes to the next box of the rack",
        puts=((f"{_PROVIDER}.do", power_mutations.next_box),),
        scenario=Alone(),
        caught=("S5", "L1", "power"),
    ),
    "late-effect-forgotten": Mutant(
        summary="a box is taken while a command to go off may still be obeyed (6)",
        puts=(("domain.hosts.power:is_settled", always),),
        scenario=Alone(rates={"power_late": 0.7}, cleaning=Cleaning.TRUSTED),
        caught=("S5",),
    ),
    "restart-forgets": Mutant(
        summary="only what began in the life of the process is followed (1)",
        puts=(
            (f"{_LIFE}:_starting", power_mutations.own_only),
            (f"{_LIFE}:_stopping", power_mutations.own_only),
        ),
        scenario=Alone(disruptions=_CRASHES),
        caught=("S9", "L1"),
    ),
    "clock-begins-anew": Mutant(
        summary="the bound of what is on its way begins with each look at it (2)",
        puts=(
            ("domain.machines.bootstrap:start_due", power_mutations.due_anew),
            ("domain.model.machine:Machine.elapsed", power_mutations.no_time),
        ),
        scenario=Alone(disruptions=_every("never_boots", range(6), HOUR)),
        caught=("S9",),
    ),
    "given-up-is-off": Mutant(
        summary="a box that was given up is held to be off, though it is on (3)",
        puts=(
            ("domain.hosts.cleaning:followed", power_mutations.given_up_is_off),
            ("domain.hosts.power:observed", power_mutations.power_as_recorded),
        ),
        scenario=Alone(rates={"power_late": 0.5}),
        caught=("S12", "L1", "power"),
    ),
    "packet-is-a-start": Mutant(
        summary="a box whose start was accepted is up (4)",
        puts=(
            (f"{_PROVIDER}.do", power_mutations.accepted_is_done),
            (f"{_PROVIDER}._resource", power_mutations.accepted_is_up),
        ),
        scenario=Alone(rates={"power_ignored": 0.7}, cleaning=Cleaning.TRUSTED),
        caught=("L1", "S5", "power", "wear"),
    ),
    "never-given-up": Mutant(
        summary="an attempt that was given up goes on, and acts later (5)",
        puts=(("providers.power.switch:Switch.act", power_mutations.goes_on),),
        scenario=Alone(rates={"power_hung": 0.5}, cleaning=Cleaning.TRUSTED),
        caught=("S5", "power"),
    ),
    "failed-offer-tried": Mutant(
        summary="an offer that failed is tried again before its pause is over",
        puts=(("domain.fleets.offers:_setbacks", power_mutations.no_setback),),
        scenario=Alone(disruptions=_every("never_boots", range(6), HOUR)),
        caught=("S4",),
    ),
    "off-is-dark": Mutant(
        summary="a box that is off counts as one that does not go on, though nobody asked it to",
        puts=(("domain.hosts.idle:pursued", power_mutations.overdue),),
        scenario=Alone(),
        caught=("S4",),
    ),
    "never-exercised": Mutant(
        summary="a box that was off for long does not show that it still goes on",
        puts=(("domain.hosts.idle:_is_due", never),),
        scenario=Alone(power=PowerLimits(exercise=timedelta(minutes=20))),
        caught=("hold",),
    ),
}
"""Known bugs, by name; a number is that of its defect in docs/explanation/thirty-defects.md."""
