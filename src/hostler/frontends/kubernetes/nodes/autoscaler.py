"""Cluster Autoscaler at Nodes: what it leaves there, and what it heeds. Pure.

Cluster Autoscaler taints and cordons a Node, drains it, asks for its end, and never comes back to
it. While the box is off the taint is right: the Node counts as deleted, not as one that is not
ready. Once another machine of the box is up, the Node is to take Pods again, and not before.
"""

from collections.abc import Mapping
from datetime import datetime

from hostler.domain.model.machine import Machine

from .objects import Node, Taint

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
"""Its key; its value is the time at which the Node was tainted, in seconds since 1970."""
_EFFECT = "NoSchedule"
UNWANTED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
"""The annotation with which it neither drains a Node nor asks for its end."""
UNWANTED_BY = "hostler.dev/scale-down-disabled-by"
"""For which machine we put that there: only then is it taken off."""


def protecting(node: Node, machine: Machine, *, protected: bool) -> Mapping[str, str | None]:
    """Return what is to change so that a protected machine's Node is left alone, and no other.

    Its end is refused anyway; but Cluster Autoscaler drains a Node before it asks for that, and
    would drain it again and again. What somebody else put there stays.
    """
    there = node.metadata.annotations or {}
    if protected:
        ours = {UNWANTED: "true", UNWANTED_BY: str(machine.id)}
        return {} if UNWANTED in there else ours
    return {UNWANTED: None, UNWANTED_BY: None} if UNWANTED_BY in there else {}


def is_outlived(node: Node, machine: Machine) -> bool:
    """Tell whether a Node was tainted for a machine before this one, which is up by now.

    A group has a Node only from the moment when its machine is ready: what was tainted before that
    is not meant for this machine.
    """
    ready, tainted = machine.health.was_ready, _tainted_at(node)
    return ready is not None and tainted is not None and tainted < ready.timestamp()


def deletion_taint(now: datetime) -> Taint:
    """Return the taint as Cluster Autoscaler itself would put it there now."""
    return Taint(key=TO_BE_DELETED, value=str(int(now.timestamp())), effect=_EFFECT)


def deletion_taints(node: Node) -> tuple[Taint, ...]:
    """Return the taints of a Node by which Cluster Autoscaler holds it to be deleted."""
    taints = (node.spec.taints if node.spec else None) or ()
    return tuple(taint for taint in taints if taint.key == TO_BE_DELETED)


def _tainted_at(node: Node) -> float | None:
    """Return when a Node was last tainted; None where it is not, or in no words that we know."""
    values = [taint.value for taint in deletion_taints(node)]
    return max(map(float, values)) if values and all(map(str.isdecimal, values)) else None
