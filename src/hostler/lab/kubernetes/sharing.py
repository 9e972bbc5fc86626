"""Sharing: some seeds have two engines whose records lie in the cluster, beside the objects.

One of them dies for a while, stands still past its lease and goes on believing that it leads, or is
cut off from the API server while it reaches all boxes.
"""

from collections.abc import Collection
from random import Random

from msgspec.structs import replace

from hostler.lab.scenario.faults import Disruption, Scenario

from .routes import CUT_OFF

SHARED = "two_replicas"
STRUCK = ("crash", "paused", "suspended", "lease_lost")

_SHARE = 0.2
_SKEW = 20.0


def sharing(scenario: Scenario, *, apart: Collection[str] = (), dice: str = "shared") -> Scenario:
    """Return the scenario of two engines where the seed is one of those; by `dice` of its own.

    Faults that are `apart` would take the records with the objects: those seeds have one engine.
    """
    rng = Random(f"hostler kubernetes {dice}: {scenario.seed}")
    if rng.random() >= _SHARE or scenario.severity == "calm":
        return scenario
    others = [one for one in scenario.disruptions if one.fault not in apart]
    chosen = rng.sample((*STRUCK, CUT_OFF), rng.randint(1, 3))
    more = [_drawn(fault, scenario.span, rng) for fault in chosen for _ in range(rng.randint(1, 3))]
    faults = {*(fault for fault in scenario.faults if fault not in apart), *chosen, SHARED}
    return replace(
        scenario,
        replicas=2,
        cluster=0.0,
        skews=(rng.uniform(-_SKEW, _SKEW), rng.uniform(-_SKEW, _SKEW)),
        disruptions=tuple(sorted((*others, *more), key=lambda one: one.at)),
        faults=tuple(sorted(faults)),
    )


def _drawn(fault: str, span: float, rng: Random) -> Disruption:
    """Draw one of these: half of them last longer than any lease does."""
    return Disruption(
        at=rng.uniform(60, span),
        fault=fault,
        who=rng.randrange(1000),
        skip=rng.choice((-1, -1, rng.randrange(12))),
        before=rng.random() < 0.5,
        port=rng.choice(("", "http", "kubernetes", "save_machine", "save_fleet")),
        length=rng.choice((rng.uniform(5, 50), rng.uniform(60, 400))),
    )
