"""Mutants of Machines of Cluster API: each must be caught by their simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.lab.kubernetes.faults import ClusterScenario, Replicas
from hostler.lab.power.faults import Wiring
from hostler.lab.scenario.faults import HOUR, Disruption

from .mutant import Mutant

_MINUTE, _BOXES = 60.0, 4
_WANTED = tuple(
    Replicas(at=at * _MINUTE, machines=machines)
    for at, machines in ((1, 2), (20, 0), (35, 4), (60, 1))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alone:
    """Makes a scenario in which Machines come and go, and nothing happens but this."""

    disruptions: tuple[Disruption, ...] = ()
    wanted: tuple[Replicas, ...] = _WANTED

    def __call__(self, scenario: ClusterScenario) -> ClusterScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=_BOXES,
            faults=(),
            disruptions=self.disruptions,
            actions=(),
            replicas=1,
            skews=(0.0, 0.0),
            span=1.5 * HOUR,
        )
        return replace(
            scenario,
            base=base,
            boxes=_BOXES,
            wiring=(Wiring.STRIP,) * _BOXES,
            cleaning=Cleaning.POWER_CYCLE,
            power=PowerLimits(),
            rates={},
            replicas=self.wanted,
            api={},
        )


def _never_ends(_: Any) -> Any:
    """Ask for no end: the object leaves, and its machine stays on the bill."""

    async def end(*_arguments: object, **_options: object) -> None:
        return None

    return end


def _writes_once(good: Any) -> Any:
    """Write no status any more once core was told that the machine has its host and is ready."""

    async def write(self: Any, item: Any, status: Any) -> Any:
        if item.status is not None and item.status.ready:
            return None
        return await good(self, item, status)

    return write


_HOUR_LONG = (Replicas(at=_MINUTE, machines=_BOXES),)
_BY_HAND = tuple(
    Disruption(at=at * _MINUTE, fault="switched_off_by_hand", who=who)
    for at, who in ((20.0, 0), (25.0, 1))
)
_MACHINES = "frontends.kubernetes.clusterapi.machines:MachineReconciler"
_ENGINE = "frontends.kubernetes.clusterapi.engine:EngineAccess"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "end-not-asked": Mutant(
        summary="the end of a machine is not asked for when its object goes",
        puts=((f"{_ENGINE}.end", _never_ends),),
        scenario=_Alone(),
        caught=("L1",),
    ),
    "status-never-withdrawn": Mutant(
        summary="what was once said to be ready is said to be so for ever",
        puts=((f"{_MACHINES}._write", _writes_once),),
        scenario=_Alone(disruptions=_BY_HAND, wanted=_HOUR_LONG),
        caught=("host", "same", "L1"),
    ),
}
"""Every one of them, by name."""
