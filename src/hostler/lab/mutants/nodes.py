"""Mutants of Nodes that are drained and looked after: each must be caught by their simulation."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from hostler.frontends.kubernetes.nodes.evictions import ACCEPTED
from hostler.frontends.kubernetes.nodes.objects import PODS
from hostler.frontends.kubernetes.nodes.workload import Judged, Treatment
from hostler.kubernetes.objects import key_of
from hostler.lab.kubernetes.faults import ClusterScenario, Replicas
from hostler.lab.kubernetes.fleets.edits import Edit, Write
from hostler.lab.kubernetes.nodes.scenario import Guard, Naming, NodesScenario

from .clusterapi import Alone
from .mutant import Mutant
from .server_mutations import always, never, undone, unprotected

_MINUTE = 60.0
_NODES = NodesScenario(drain=timedelta(minutes=5), ends=(8 * _MINUTE, 12 * _MINUTE))
_WANTED = tuple(
    Replicas(at=at * _MINUTE, machines=machines) for at, machines in ((1, 2), (20, 0), (35, 4))
)
_NOWHERE = replace(_NODES, elsewhere=False)
_ALONE = Alone(nodes=_NODES, wanted=_WANTED)
_SHELVED = (
    Edit(at=_MINUTE, write=Write.MAKE, value=2),
    *(Edit(at=5 * _MINUTE, write=Write.NODE, who=who, value=1) for who in range(4)),
)


def _deletes(_: Any) -> Any:
    """Delete each Pod, whatever budgets say."""

    async def asked(self: Any, pod: Any, rules: object) -> Any:
        del rules
        await self._client.delete(PODS, key_of(pod))
        return ACCEPTED

    return asked


def _by_name(good: Any) -> Any:
    """Take a Node for a machine's that has its host's name, whatever its provider ID is."""

    def find(self: Any, identity: Any) -> Any:
        found = next((self.by_name[one] for one in identity.names if one in self.by_name), None)
        return found or good(self, identity)

    return find


def _all_of_them(_: Any) -> Any:
    """Have each Pod of a Node evicted."""

    def in_the_way(pods: Any, *_arguments: object, **_options: object) -> Any:
        return tuple(Judged(pod=pod, treatment=Treatment.EVICT, why="it is there") for pod in pods)

    return in_the_way


def _politely(good: Any) -> Any:
    """Have what runs on a machine waited for, whoever asks for its end."""

    def delete(*arguments: Any) -> Any:
        accepted = good(*arguments)
        return replace(accepted, request=replace(accepted.request, now=False))

    return delete


def _unheeded(_: Any) -> Any:
    """Have a Node be what its fleet says alone."""

    def with_host(table: Any, _host: object) -> Any:
        return table

    return with_host


def _passes(_: Any) -> Any:
    """Let each probe pass."""

    async def probe(*_arguments: object) -> tuple[bool, str]:
        return True, "it is up"

    return probe


def _lacks_all(_: Any) -> Any:
    """Write what is there already."""

    def lacking(_there: object, wanted: Mapping[str, str]) -> dict[str, str]:
        return dict(wanted)

    return lacking


_OURS = "frontends.kubernetes.nodes"

MUTANTS: Mapping[str, Mutant[ClusterScenario]] = {
    "undrained": Mutant(
        summary="a machine is ended whatever runs on its Node",
        puts=(
            ("domain.machines.drain:bars", unprotected),
            ("controllers.execute.evidence:bars", unprotected),
        ),
        scenario=_ALONE,
        caught=("drain",),
    ),
    "bound-of-who-waits": Mutant(
        summary="a machine is ended at the bound of its drain, though its fleet waits for ever",
        puts=(("domain.machines.drain:_waits_for_ever", never),),
        scenario=Alone(nodes=replace(_NOWHERE, waits=True), wanted=_WANTED),
        caught=("drain",),
    ),
    "deleted-and-not-evicted": Mutant(
        summary="Pods are deleted, and no disruption budget is asked",
        puts=((f"{_OURS}.drainer:Drainer._asked", _deletes),),
        scenario=_ALONE,
        caught=("budget",),
    ),
    "cordon-left": Mutant(
        summary="a Node that stays for its box's next machine stays cordoned",
        puts=((f"{_OURS}.upkeep:is_to_be_uncordoned", never),),
        scenario=Alone(nodes=replace(_NODES, remove=False), wanted=_WANTED),
        caught=("cordon",),
    ),
    "node-left": Mutant(
        summary="the Node of a machine that has ended is not removed",
        puts=((f"{_OURS}.rounds:Rounds._remove", undone),),
        scenario=_ALONE,
        caught=("removed", "L1"),
    ),
    "node-removed-early": Mutant(
        summary="the Node of a machine that has ended is removed while its kubelet speaks",
        puts=((f"{_OURS}.rounds:may_go", always),),
        scenario=_ALONE,
        caught=("removed",),
    ),
    "node-by-its-name": Mutant(
        summary="a Node that has a host's name is its machine's, whatever its provider ID is",
        puts=((f"{_OURS}.standing:NodeIndex.find", _by_name),),
        scenario=Alone(nodes=replace(_NODES, naming=Naming.CROSSED), wanted=_WANTED),
        caught=("foreign",),
    ),
    "own-node-ended": Mutant(
        summary="the box on which hostler runs goes off once its machine has ended",
        puts=(
            (f"{_OURS}.rounds:guarded", unprotected),
            (f"{_OURS}.controller:guarded", unprotected),
        ),
        scenario=Alone(nodes=replace(_NODES, guard=Guard.OWN), wanted=_WANTED),
        caught=("guarded",),
    ),
    "own-node-at-the-bound": Mutant(
        summary="a machine that is never to end is not protected, and ends at its drain's bound",
        puts=(
            (f"{_OURS}.rounds:Rounds._protect", undone),
            ("domain.machines.drain:_is_barred", never),
        ),
        scenario=Alone(nodes=replace(_NODES, guard=Guard.CONTROL), wanted=_WANTED),
        caught=("guarded",),
    ),
    "drained-twice": Mutant(
        summary="what core has drained is drained once more, and of what each Node has, too",
        puts=(
            (f"{_OURS}.drainer:in_the_way", _all_of_them),
            ("requests.by_id:delete_unrecorded", _politely),
        ),
        scenario=Alone(
            nodes=replace(_NODES, core_drain=timedelta(minutes=8), ends=()), wanted=_WANTED
        ),
        caught=("doubled",),
    ),
    "single-host-unheeded": Mutant(
        summary="what the object of a host says of its Node is not written on it",
        puts=((f"{_OURS}.fleets:with_host", _unheeded),),
        scenario=Alone(nodes=_NODES, edits=_SHELVED),
        caught=("labels",),
    ),
    "ready-before-its-node": Mutant(
        summary="a machine whose Node is to be ready is ready when its box is up",
        puts=((f"{_OURS}.prober:NodeProber.probe", _passes),),
        scenario=Alone(nodes=replace(_NODES, probed=True), wanted=_WANTED),
        caught=("probed",),
    ),
    "nodes-written-for-ever": Mutant(
        summary="a Node is written in each round, changed or not",
        puts=((f"{_OURS}.upkeep:_lacking", _lacks_all),),
        scenario=_ALONE,
        caught=("fight",),
    ),
}
"""Every one of them, by name."""
