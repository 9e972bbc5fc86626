"""File faults: in some seeds somebody takes a fleet out of the file, or writes it otherwise.

Whether a seed does is thrown for apart, so that every other one draws what it always drew.
"""

from datetime import timedelta
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.fleet import Fleet, OnRemove
from hostler.lab.scenario.faults import STORE_TWINNED, Disruption, Scenario

FLEET_ENDS = "fleet_removed_to_end"
FLEET_KEPT = "fleet_removed_and_kept"
FLEET_BACK = "fleet_put_back"
"""Somebody takes a fleet out of the file, with `on_remove` as named; and puts it back."""

FLEET_PROTECTED = "fleet_protected"
FLEET_FREED = "fleet_protected_no_more"
"""Somebody writes `protected = true` for a fleet; and takes it back."""

FLEET_CHANGED = "fleet_template_changed"
FLEET_AGES, FLEET_AGES_NOT = "fleet_machines_age", "fleet_machines_age_not"
"""Somebody writes another template for a fleet, or an age at which machines are replaced; and
takes that age back."""

FILE_FAULTS = (
    FLEET_ENDS,
    FLEET_KEPT,
    FLEET_BACK,
    FLEET_PROTECTED,
    FLEET_FREED,
    FLEET_CHANGED,
    FLEET_AGES,
    FLEET_AGES_NOT,
)

_SHARE = 0.06
_PROTECTED_SHARE = 0.1
_REPLACED_SHARE = 0.1
_APART = frozenset({"store_lost", "second_installation", STORE_TWINNED})
"""With these, people must first say whose a thing is: a fleet that ends adopts none."""


class FileDice(Struct, frozen=True, kw_only=True):
    """A provider's own dice for each edit of its file, which spare its past failures."""

    removed: str
    protected: str
    replaced: str


def with_file_edits(scenario: Scenario, dice: FileDice) -> Scenario:
    """Return the scenario with what somebody writes in the fleet file, in some of the seeds."""
    scenario = with_fleet_removed(scenario, dice.removed)
    scenario = with_fleet_protected(scenario, dice.protected)
    return with_replacements(scenario, dice.replaced)


def with_fleet_removed(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a fleet that leaves the file, where the seed is one of those.

    One that is kept comes back before the end: nobody keeps it at its size meanwhile.
    """
    rng, apart = Random(f"{dice}: {scenario.seed}"), _APART & {*scenario.faults}
    if rng.random() >= _SHARE or scenario.severity == "calm" or apart:
        return scenario
    fault = rng.choice((FLEET_ENDS, FLEET_ENDS, FLEET_KEPT))
    at, which = rng.uniform(0.1, 0.8) * scenario.span, rng.randrange(2)
    edits = [Disruption(at=at, fault=fault, who=which)]
    if fault == FLEET_KEPT or rng.random() < 0.5:
        back = rng.uniform(at, 0.95 * scenario.span)
        edits.append(Disruption(at=back, fault=FLEET_BACK, who=which))
    return scenario.befallen(edits)


def with_fleet_protected(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a fleet that is protected for a while, where the seed is of those.

    A protected fleet that leaves the file does not end.
    """
    rng = Random(f"{dice}: {scenario.seed}")
    others = {*FILE_FAULTS} & {*scenario.faults}
    if rng.random() >= _PROTECTED_SHARE or scenario.severity == "calm" or others:
        return scenario
    first, last = sorted(rng.uniform(0.05, 0.95) * scenario.span for _ in range(2))
    which = rng.randrange(2)
    protected = Disruption(at=first, fault=FLEET_PROTECTED, who=which)
    return scenario.befallen((protected, Disruption(at=last, fault=FLEET_FREED, who=which)))


def with_replacements(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with machines that are to be replaced, where the seed is one of those.

    They are too old, or of an older template, which may be changed again before all are replaced.
    """
    rng = Random(f"{dice}: {scenario.seed}")
    others = {FLEET_ENDS, FLEET_KEPT} & {*scenario.faults}
    if rng.random() >= _REPLACED_SHARE or scenario.severity == "calm" or others:
        return scenario
    span, which = scenario.span, rng.randrange(2)
    edits = list[Disruption]()
    if rng.random() < 0.7:
        times = [rng.uniform(0.05, 0.9) * span for _ in range(rng.randint(1, 2))]
        edits += [Disruption(at=at, fault=FLEET_CHANGED, who=which) for at in times]
    if not edits or rng.random() < 0.3:
        first, last = sorted(rng.uniform(0.05, 0.95) * span for _ in range(2))
        age = rng.uniform(0.1, 0.4) * span
        edits.append(Disruption(at=first, fault=FLEET_AGES, who=which, length=age))
        edits.append(Disruption(at=last, fault=FLEET_AGES_NOT, who=which))
    return scenario.befallen(edits)


def edited(fleets: tuple[Fleet, ...], disruption: Disruption) -> tuple[Fleet, ...]:
    """Return the fleets as the file says after such a disruption; of several one alone changes."""
    which = disruption.who % len(fleets)
    return tuple(
        _edited(fleet, disruption) if place == which else fleet
        for place, fleet in enumerate(fleets)
    )


def _edited(fleet: Fleet, disruption: Disruption) -> Fleet:
    fault = disruption.fault
    if fault == FLEET_BACK:
        return replace(fleet, removed=False)
    if fault in {FLEET_PROTECTED, FLEET_FREED}:
        return replace(fleet, protected=fault == FLEET_PROTECTED)
    if fault == FLEET_CHANGED:
        return replace(fleet, template=f"{fleet.template}+", replace_outdated=True)
    if fault in {FLEET_AGES, FLEET_AGES_NOT}:
        age = timedelta(seconds=disruption.length) if fault == FLEET_AGES else None
        return replace(fleet, timers=replace(fleet.timers, max_age=age))
    ends = OnRemove.END if fault == FLEET_ENDS else OnRemove.KEEP
    return replace(fleet, removed=True, on_remove=ends)
