"""Mutants of Machines of Cluster API: each must be caught by their simulation."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hostler.domain.ids import MachineId, machine_id
from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.frontends.kubernetes.clusterapi.acts import NOTHING
from hostler.lab.kubernetes import faults
from hostler.lab.kubernetes.faults import ClusterScenario, Replicas
from hostler.lab.kubernetes.fleets.edits import Edit
from hostler.lab.kubernetes.nodes.scenario import NodesScenario
from hostler.lab.kubernetes.routes import CUT_OFF
from hostler.lab.kubernetes.scripts.scenario import ScriptsScenario
from hostler.lab.power.faults import Wiring
from hostler.lab.scenario.faults import HOUR, Disruption
from hostler.simulators.kubernetes.faults import Fault

from .mutant import Mutant
from .server_mutations import always, never, undone

_MINUTE, _BOXES = 60.0, 4
_WANTED = tuple(
    Replicas(at=at * _MINUTE, machines=machines)
    for at, machines in ((1, 2), (20, 0), (35, 4), (60, 1))
)


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which Machines come and go, and nothing happens but this.

    With `edits` there are Fleets in their place, with a `lifecycle` their objects come and go, and
    `apart` boxes are those of a second namespace; of several `engines` all have their records in
    the cluster. With `nodes` the machines are Nodes of it, and with `scripts` each runs one on its
    host.
    """

    disruptions: tuple[Disruption, ...] = ()
    api: Mapping[Fault, float] = field(default_factory=dict[Fault, float])
    edits: tuple[Edit, ...] = ()
    lifecycle: tuple[Edit, ...] = ()
    apart: int = 0
    wanted: tuple[Replicas, ...] = _WANTED
    engines: int = 1
    nodes: NodesScenario | None = None
    scripts: ScriptsScenario | None = None
    cleaning: Cleaning = Cleaning.POWER_CYCLE

    def __call__(self, scenario: ClusterScenario) -> ClusterScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=_BOXES,
            faults=(),
            disruptions=self.disruptions,
            actions=(),
            replicas=self.engines,
            cluster=None if self.engines == 1 else 0.0,
            skews=(0.0, 0.0),
            span=1.5 * HOUR,
        )
        return replace(
            scenario,
            base=base,
            boxes=_BOXES,
            wiring=(Wiring.STRIP,) * _BOXES,
            cleaning=self.cleaning,
            power=PowerLimits(),
            rates={},
            replicas=self.wanted,
            edits=self.edits,
            nodes=self.nodes,
            lifecycle=self.lifecycle,
            scripts=self.scripts,
            apart=self.apart,
            roll=None,
            api=self.api,
        )


def _writes_once(good: Any) -> Any:
    """Write no status any more once core was told that the machine has its host and is ready."""

    async def write(self: Any, item: Any, status: Any) -> Any:
        if item.status is not None and item.status.ready:
            return None
        return await good(self, item, status)

    return write


def _waits_for_ever(good: Any) -> Any:
    """Wait for bootstrap data without looking for it again, as if it were watched."""

    def held(view: Any) -> Any:
        decision = good(view)
        if decision is None or decision.status is None:
            return decision
        return replace(decision, again=None)

    return held


def _needs_its_owner(good: Any) -> Any:
    """Decide nothing about an object whose Machine or Cluster is not there, deleted or not."""

    def decide(view: Any) -> Any:
        return NOTHING if view.owner is None or view.cluster is None else good(view)

    return decide


def _always_another_id(_: Any) -> Any:
    """Make up an id for each claim."""
    numbers = count(1)

    def next_id(*_arguments: object) -> MachineId:
        return machine_id(next(numbers) * 7919)

    return next_id


def _from_the_cache(_: Any) -> Any:
    """Believe what is watched, however far behind it is."""

    def newest(self: Any, key: Any) -> Any:
        return self.caches.items.cache.get(key)

    return newest


def _whatever_was_read(good: Any) -> Any:
    """Claim without naming the version that was read."""

    def claimed(read: Any, machine: str) -> Any:
        return good(msgspec.structs.replace(read, resource_version=""), machine)

    return claimed


def _looks_for_none(_: Any) -> Any:
    """Look for no machine whose object is gone."""

    async def once(*_arguments: object) -> str:
        return ""

    return once


_HOUR_LONG = (Replicas(at=_MINUTE, machines=_BOXES),)
_BY_HAND = tuple(
    Disruption(at=at * _MINUTE, fault="switched_off_by_hand", who=who)
    for at, who in ((20.0, 0), (25.0, 1))
)
_NO_DATA = (Disruption(at=0.5 * _MINUTE, fault=faults.DATA_DELETED, length=10 * _MINUTE),)
_NO_OWNERS = tuple(
    Disruption(at=at * _MINUTE, fault=fault)
    for at, fault in ((10.0, faults.OWNER_REMOVED), (50.0, faults.NAMESPACE_DELETED))
)
_OBJECT_GONE = (Disruption(at=20 * _MINUTE, fault=faults.OBJECT_REMOVED),)
_CUT_OFF = (Disruption(at=10 * _MINUTE, fault=CUT_OFF, who=0, length=30.0),)
_BEHIND: Mapping[Fault, float] = {Fault.WATCH_BEHIND: 1.0}
_PROVIDER = "frontends.kubernetes.clusterapi"
_MACHINES = "frontends.kubernetes.clusterapi.machines:MachineReconciler"
_ENGINE = "frontends.kubernetes.clusterapi.engine:EngineAccess"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "end-not-asked": Mutant(
        summary="the end of a machine is not asked for when its object goes",
        puts=((f"{_ENGINE}.end", undone),),
        scenario=Alone(),
        caught=("L1",),
    ),
    "status-never-withdrawn": Mutant(
        summary="what was once said to be ready is said to be so for ever",
        puts=((f"{_MACHINES}._write", _writes_once),),
        scenario=Alone(disruptions=_BY_HAND, wanted=_HOUR_LONG),
        caught=("host", "same", "L1"),
    ),
    "data-never-looked-for": Mutant(
        summary="whoever waits for bootstrap data looks for it once, though nobody watches it",
        puts=((f"{_PROVIDER}.provision:_held", _waits_for_ever),),
        scenario=Alone(disruptions=_NO_DATA, wanted=_HOUR_LONG),
        caught=("waits",),
    ),
    "end-needs-its-owner": Mutant(
        summary="a deleted object is left alone once its Machine or its Cluster is gone",
        puts=((f"{_PROVIDER}.machines:decide", _needs_its_owner),),
        scenario=Alone(disruptions=_NO_OWNERS, wanted=_HOUR_LONG),
        caught=("L1",),
    ),
    "abandoned-never-looked-for": Mutant(
        summary="a machine whose object was removed past its finalizer is not looked for",
        puts=((f"{_PROVIDER}.sweep:Sweep.once", _looks_for_none),),
        scenario=Alone(disruptions=_OBJECT_GONE, wanted=_HOUR_LONG),
        caught=("L1",),
    ),
    "claimed-from-a-stale-cache": Mutant(
        summary="an object is claimed under another id while the watch does not show the first",
        puts=(
            (f"{_PROVIDER}.provision:next_id", _always_another_id),
            (f"{_MACHINES}._newest", _from_the_cache),
            (f"{_PROVIDER}.patches:claimed", _whatever_was_read),
        ),
        scenario=Alone(api=_BEHIND),
        caught=("L1",),
    ),
    "objects-by-another-engine": Mutant(
        summary="objects are written by a process whose engine does not lead, from its old memory",
        puts=(
            ("kubernetes.election:Elector.is_others", never),
            ("queries.live:EngineRecords.is_current", always),
        ),
        scenario=Alone(disruptions=_CUT_OFF, engines=2),
        caught=("L1", "host", "same", "waits"),
    ),
    "elected-beside-another": Mutant(
        summary="the Lease of the cluster is taken from whoever holds it",
        puts=(("kubernetes.election:Elector._may_take", always),),
        scenario=Alone(engines=2),
        caught=("alone",),
    ),
    "lease-taken-from-its-holder": Mutant(
        summary="a lease in the store is taken before its holder let it run out",
        puts=(("controllers.runtime.leases:Leases._is_free", always),),
        scenario=Alone(engines=2),
        caught=("alone", "S8"),
    ),
}
"""Every one of them, by name."""
