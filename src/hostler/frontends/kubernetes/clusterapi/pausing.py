"""Pausing: which objects are left alone for now, or always. Pure.

The reconciler asks for itself, at each pass: a filter of events would let a pass through that was
begun for another reason.
"""

from hostler.kubernetes.objects import Metadata

from .names import MANAGED_BY, PAUSED
from .objects import Cluster


def is_paused(metadata: Metadata, cluster: Cluster | None) -> bool:
    """Tell whether the object is annotated, with whatever value, or its whole cluster is paused."""
    of_cluster = cluster is not None and cluster.spec is not None and cluster.spec.paused
    return of_cluster or PAUSED in (metadata.annotations or {})


def is_externally_managed(metadata: Metadata) -> bool:
    """Tell whether somebody else looks after this object: neither it nor its status is touched."""
    return MANAGED_BY in (metadata.annotations or {})
