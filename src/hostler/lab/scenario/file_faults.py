"""File faults: in some seeds somebody takes a fleet out of the file, and perhaps puts it back.

Whether a seed does is thrown for apart, so that every other one draws what it always drew.
"""

from dataclasses import replace
from random import Random

from hostler.domain.model.fleet import Fleet, OnRemove
from hostler.lab.scenario.faults import STORE_TWINNED, Disruption, Scenario

FLEET_ENDS = "fleet_removed_to_end"
FLEET_KEPT = "fleet_removed_and_kept"
FLEET_BACK = "fleet_put_back"
"""Somebody takes a fleet out of the file, with `on_remove` as named; and puts it back."""

FILE_FAULTS = frozenset({FLEET_ENDS, FLEET_KEPT, FLEET_BACK})

_SHARE = 0.06
_APART = frozenset({"store_lost", "second_installation", STORE_TWINNED})
"""With these, people must first say whose a thing is: a fleet that ends adopts none."""


def with_fleet_removed(scenario: Scenario, dice: str) -> Scenario:
    """Return the scenario with a fleet that leaves the file, where the seed is one of those.

    One that is kept comes back before the end: nobody keeps it at its size meanwhile. `dice` are
    the provider's own, chosen so that its past failures are spared.
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
    return replace(
        scenario,
        disruptions=tuple(sorted((*scenario.disruptions, *edits), key=lambda one: one.at)),
        faults=tuple(sorted({*scenario.faults, *(one.fault for one in edits)})),
    )


def edited(fleets: tuple[Fleet, ...], disruption: Disruption) -> tuple[Fleet, ...]:
    """Return the fleets as the file says after such a disruption; of several one alone changes."""
    which = disruption.who % len(fleets)
    return tuple(
        _edited(fleet, disruption.fault) if place == which else fleet
        for place, fleet in enumerate(fleets)
    )


def _edited(fleet: Fleet, fault: str) -> Fleet:
    if fault == FLEET_BACK:
        return replace(fleet, removed=False)
    ends = OnRemove.END if fault == FLEET_ENDS else OnRemove.KEEP
    return replace(fleet, removed=True, on_remove=ends)
