"""What people ask of hosts in some seeds: hold one, let it go again, or switch it off and on."""

from collections.abc import Sequence
from random import Random

from msgspec.structs import replace

from hostler.domain.model.hold import HoldKind

from .faults import OperatorAction, Scenario

HOLDS = {f"hold {kind}": kind for kind in HoldKind}
"""Each kind of hold, by the name of the action that asks for it."""
LIFT, CYCLE = "lift", "cycle"

_SHARE = 0.15


def with_holds(scenario: Scenario, dice: str, kinds: Sequence[HoldKind]) -> Scenario:
    """Return the scenario with hosts that people hold in these ways, in some of the seeds.

    Where a person may decide on their power, hosts are switched off and on too. `dice` are the
    provider's own, chosen so that its past failures are spared.
    """
    rng = Random(f"{dice}: {scenario.seed}")
    if rng.random() >= _SHARE or scenario.severity == "calm":
        return scenario
    asked = [f"hold {kind}" for kind in kinds] * 2 + [LIFT]
    names = [*asked, CYCLE] if HoldKind.OFF in kinds else asked
    drawn = (
        OperatorAction(
            at=rng.uniform(300, scenario.span),
            kind=rng.choice(names),
            which=rng.random(),
            length=rng.choice((0.01, 0.1, 0.6)) * rng.uniform(0.5, 1.5) * scenario.span,
        )
        for _ in range(rng.choice((2, 4, 8)))
    )
    actions = sorted((*scenario.actions, *drawn), key=lambda action: action.at)
    return replace(scenario, actions=tuple(actions))
