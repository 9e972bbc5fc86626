"""Cluster Autoscaler's taint: on a Node that it wants gone, and that may outlive its machine. Pure.

Cluster Autoscaler taints and cordons a Node, drains it, asks for its end, and never comes back to
it. While the box is off the taint is right: the Node counts as deleted, not as one that is not
ready. Once another machine of the box is up, the Node is to take Pods again, and not before.
"""

from datetime import datetime

from hostler.domain.model.machine import Machine

from .objects import Node, Taint

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
"""Its key; its value is the time at which the Node was tainted, in seconds since 1970."""
_EFFECT = "NoSchedule"


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
