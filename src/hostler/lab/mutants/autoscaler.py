"""Mutants of what Cluster Autoscaler is answered: each must be caught by its simulation."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.capabilities import Cleaning, PowerLimits
from hostler.lab.autoscaler.faults import AutoscalerScenario, Demand, NodeObjects
from hostler.lab.power.faults import Wiring
from hostler.lab.scenario.faults import HOUR, Disruption, OperatorAction

from . import autoscaler_mutations as mutations
from .mutant import Mutant

_MINUTE = 60.0
_BOXES = 4
_DEMANDS = tuple(
    Demand(at=at * _MINUTE, nodes=nodes)
    for at, nodes in ((1, 1), (8, 3), (20, 0), (35, 4), (50, 1), (65, 3), (80, 0))
)
_LATER = (Demand(at=_MINUTE, nodes=2), Demand(at=14 * _MINUTE, nodes=3))
_NO_LIMITS, _IN_TURN = PowerLimits(), PowerLimits(parallel_starts=1)


class Alone(Struct, frozen=True, kw_only=True):
    """Makes a scenario in which nothing happens but this."""

    disruptions: tuple[Disruption, ...] = ()
    actions: tuple[OperatorAction, ...] = ()
    nodes: NodeObjects = NodeObjects.BARE
    demands: tuple[Demand, ...] = _DEMANDS
    power: PowerLimits = _NO_LIMITS
    provision: float = 900.0

    def __call__(self, scenario: AutoscalerScenario) -> AutoscalerScenario:
        """Return the scenario, reduced to this."""
        base = replace(
            scenario.base,
            severity="planted",
            machines=_BOXES,
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
            boxes=_BOXES,
            wiring=(Wiring.STRIP,) * _BOXES,
            cleaning=Cleaning.POWER_CYCLE,
            power=self.power,
            rates={},
            demands=self.demands,
            nodes=self.nodes,
            provision=self.provision,
            unneeded=120.0,
            reverts=True,
            minimum=0,
        )


_GROUP, _SERVICE = (
    "frontends.externalgrpc.group:NodeGroup",
    "frontends.externalgrpc.service:CloudProvider",
)
_MEMBERS = "frontends.externalgrpc.members"
_DARK = Alone(
    disruptions=tuple(
        Disruption(at=12 * _MINUTE, fault="never_boots", who=who, length=40 * _MINUTE)
        for who in range(_BOXES)
    ),
    demands=_LATER,
    provision=600.0,
)
_CRASHES = tuple(Disruption(at=at * _MINUTE, fault="crash", length=5.0) for at in range(3, 90, 11))
_PROTECTED = tuple(
    OperatorAction(at=at * _MINUTE, kind="protect", which=at % 10 / 10, length=10 * _MINUTE)
    for at in (17, 47, 49, 78)
)

MUTANTS: Mapping[str, Mutant[AutoscalerScenario]] = {
    "decrease-by-readiness": Mutant(
        summary="a decrease gives up another number than was asked for (8)",
        puts=((f"{_GROUP}.decrease", mutations.decrease_by_readiness),),
        scenario=_DARK,
        caught=("target", "ends"),
    ),
    "decrease-takes-ready": Mutant(
        summary="a decrease gives up a machine that is up (8)",
        puts=((f"{_MEMBERS}:Gathering._member", mutations.any_came),),
        scenario=_DARK,
        caught=("target", "ends", "orders", "L1"),
    ),
    "one-at-a-time": Mutant(
        summary="an increase by three makes one (13)",
        puts=(("requests.by_id:MachinesById.grow", mutations.one_at_a_time),),
        scenario=Alone(),
        caught=("target",),
    ),
    "target-as-observed": Mutant(
        summary="the target is what was observed, not what was granted (13)",
        puts=((f"{_MEMBERS}:Members.target", mutations.target_as_observed),),
        scenario=Alone(),
        caught=("target",),
    ),
    "off-is-member": Mutant(
        summary="nodes whose boxes are off are in the group (14)",
        puts=((f"{_GROUP}.has", mutations.off_is_member),),
        scenario=Alone(),
        caught=("orders", "L1"),
    ),
    "booting-is-member": Mutant(
        summary="a node is in the group while it boots (15)",
        puts=((f"{_GROUP}.has", mutations.booting_is_member),),
        scenario=Alone(),
        caught=("orders",),
    ),
    "all-run": Mutant(
        summary="every instance is said to run (16)",
        puts=((f"{_MEMBERS}:Member.instance", mutations.all_run),),
        scenario=Alone(),
        caught=("nodes",),
    ),
    "without-ids": Mutant(
        summary="an instance whose node is not known has no id (16)",
        puts=((f"{_MEMBERS}:Member.instance", mutations.without_ids),),
        scenario=Alone(power=_IN_TURN),
        caught=("nodes",),
    ),
    "one-by-one": Mutant(
        summary="nodes are deleted until one of them is refused (17)",
        puts=((f"{_GROUP}.delete", mutations.one_by_one),),
        scenario=Alone(actions=_PROTECTED),
        caught=("target", "ends"),
    ),
    "by-name-alone": Mutant(
        summary="a node that was made up for an instance is not found (17)",
        puts=((f"{_MEMBERS}:Members.find", mutations.by_name_alone),),
        scenario=Alone(nodes=NodeObjects.DELETED),
        caught=("nodes",),
    ),
    "maximum-of-0": Mutant(
        summary="a node's group has now its maximum, now 0 (18)",
        puts=((f"{_SERVICE}._group_for_node", mutations.no_more_than_now),),
        scenario=Alone(nodes=NodeObjects.DELETED),
        caught=("nodes",),
    ),
    "no-groups-yet": Mutant(
        summary="whoever asks before anything is known is told that there are no groups (23)",
        puts=(
            (f"{_SERVICE}._refresh", mutations.always_refreshed),
            (f"{_SERVICE}._node_groups", mutations.no_groups_yet),
        ),
        scenario=Alone(disruptions=_CRASHES),
        caught=("groups",),
    ),
}
"""Known bugs, by name; the number in each is that of its defect."""
