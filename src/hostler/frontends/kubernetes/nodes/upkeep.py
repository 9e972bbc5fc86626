"""Upkeep: what a Node of ours is to look like, and when it may go. Pure.

Only what a fleet's settings name is written; labels, annotations and taints of others stay.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct, field

from hostler.config.node_tables import NodeTable, TaintTable
from hostler.domain.ids import InstallationId, MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase

from .autoscaler import deletion_taint, deletion_taints, is_outlived
from .objects import Node, Taint
from .standing import CORDONED_BY, Readiness, is_control_plane, standing

FLEET, MACHINE = "hostler.dev/fleet", "hostler.dev/machine"
INSTALLATION = "hostler.dev/installation"
"""The annotation that says whose machine it is: two installations may have Nodes in a cluster."""
REMOVE = "hostler.dev/remove"
"""The annotation that says that a Node goes after its machine, whoever knows its fleet by then."""


class Change(Struct, frozen=True, kw_only=True):
    """What is to be merged into a Node; empty where it is as it should be."""

    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    spec: Mapping[str, object] = field(default_factory=dict[str, object])

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return bool(self.metadata or self.spec)


def change_of(
    node: Node,
    machine: Machine,
    table: NodeTable,
    installation: InstallationId,
    more: Mapping[str, str | None],
) -> Change:
    """Return what a machine's Node lacks of what its fleet wants, and whether it is uncordoned.

    `more` are further annotations to be written, None to take one off.
    """
    managed = table.managed
    labels = {**table.labels, FLEET: str(machine.fleet), MACHINE: str(machine.id)}
    goes = managed is not None and managed.remove
    annotations = {
        **(managed.annotations if managed is not None else {}),
        INSTALLATION: str(installation),
        **({REMOVE: "true"} if goes else {}),
    }
    named: dict[str, object] = {**_lacking(node.metadata.annotations, annotations), **more}
    if not goes and REMOVE in (node.metadata.annotations or {}):
        named[REMOVE] = None
    spec = dict[str, object]()
    if is_to_be_uncordoned(node, machine):
        named[CORDONED_BY] = None
        spec["unschedulable"] = None
    outlived = deletion_taints(node) if stays(machine) and is_outlived(node, machine) else ()
    if outlived and node.spec is not None and node.spec.unschedulable:
        spec["unschedulable"] = None  # by who tainted it, in the same step
    if (taints := _tainted(node, table.taints, outlived)) is not None:
        spec["taints"] = taints
    metadata = dict[str, object]()
    if lacking := _lacking(node.metadata.labels, labels):
        metadata["labels"] = lacking
    if named:
        metadata["annotations"] = named
    return Change(metadata=metadata, spec=spec)


def is_to_be_uncordoned(node: Node, machine: Machine) -> bool:
    """Tell whether we cordoned a Node whose machine is to stay: its end is wanted no more."""
    return CORDONED_BY in (node.metadata.annotations or {}) and stays(machine)


def stays(machine: Machine) -> bool:
    """Tell whether a machine is up, and nobody waits for its end."""
    return machine.phase is Phase.READY and not is_to_end(machine)


def is_to_end(machine: Machine) -> bool:
    """Tell whether somebody waits for a machine's end, or for its way into standby."""
    return (
        machine.phase in {Phase.DRAINING, Phase.STOPPING, Phase.FAILED}
        or machine.deletion is not None
        or machine.goal is not Goal.PRESENT
    )


def guarded(node: Node, own_node: str, table: NodeTable) -> str:
    """Return why a Node is never drained, nor its machine ended; empty where it may be."""
    if own_node and node.metadata.name == own_node:
        return "hostler itself runs on this Node"
    told_to = table.managed is not None and table.managed.control_plane
    if is_control_plane(node) and not told_to:
        return "this Node carries the control plane"
    return ""


def owner_of(node: Node, installation: InstallationId) -> MachineId | None:
    """Return which machine of this installation a Node was last labelled for, or None."""
    annotations, labels = node.metadata.annotations or {}, node.metadata.labels or {}
    if annotations.get(INSTALLATION) != str(installation) or MACHINE not in labels:
        return None
    return MachineId(labels[MACHINE])


def goes_after_its_machine(node: Node) -> bool:
    """Tell whether the fleet of a Node's machine said, while it lived, that the Node is to go."""
    return (node.metadata.annotations or {}).get(REMOVE) == "true"


def may_go(node: Node) -> bool:
    """Tell whether the Node of a machine that has ended may be removed.

    One whose kubelet speaks would come back, and its Pods would run a second time meanwhile.
    """
    return standing(node).readiness is not Readiness.READY


def _lacking(there: Mapping[str, str] | None, wanted: Mapping[str, str]) -> dict[str, str]:
    known = there or {}
    return {key: value for key, value in wanted.items() if known.get(key) != value}


def retained(node: Node, now: datetime) -> Change:
    """Return what the Node lacks of a machine that has ended, where it stays for the next one."""
    if deletion_taints(node):
        return Change()
    return Change(spec={"taints": [_written(one) for one in (*_taints(node), deletion_taint(now))]})


def _tainted(
    node: Node, wanted: tuple[TaintTable, ...], outlived: Collection[Taint]
) -> list[dict[str, str]] | None:
    """Return all taints of a Node, with those that are wanted; None where it has just them.

    Of several that are wanted with one key and effect, of which a Node has one, the last one holds.
    """
    there = {(one.key, one.effect): one for one in _taints(node) if one not in outlived}
    ours = {(one.key, one.effect): one for one in wanted}
    if not outlived and all(
        (known := there.get(place)) is not None and known.value == one.value
        for place, one in ours.items()
    ):
        return None
    for place, one in ours.items():
        there[place] = Taint(key=one.key, value=one.value, effect=one.effect)
    return [_written(one) for one in there.values()]


def _taints(node: Node) -> tuple[Taint, ...]:
    return (node.spec.taints if node.spec else None) or ()


def _written(taint: Taint) -> dict[str, str]:
    added = {"timeAdded": taint.time_added} if taint.time_added is not None else {}
    return {"key": taint.key, "value": taint.value, "effect": taint.effect, **added}
