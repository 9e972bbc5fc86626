"""Change: an object that is there becomes another, whichever verb asked for it."""

from hostler.simulators.kubernetes.apply.fields import changed
from hostler.simulators.kubernetes.apply.managers import (
    Managers,
    after_update,
    entries,
    managers_of,
)
from hostler.simulators.kubernetes.apply.structure import structure_of
from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    mapping,
    metadata_of,
    same,
    sequence,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster

from .admission import check_version, counts, filled, judge
from .creation import writer_of
from .fields import tidied
from .strategies import updated

_SERVER = (
    *("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"),
    *("generation", "resourceVersion", "generateName", "namespace", "name", "selfLink"),
)


def change(
    cluster: Cluster, call: Call, before: Body, item: Body, managers: Managers | None = None
) -> Body:
    """Store an object's new state and return it; what changes nothing is not stored.

    `managers` are those after an apply; a plain write finds its own.
    """
    kind, subresource = call.kind, call.target.subresource
    check_version(kind, item, before, patches=call.request.method == "PATCH")
    item = tidied(kind, _within(kind, item, before, subresource))
    item = updated(kind, item, before) if not subresource else item
    item = filled(kind, item, applied=managers is not None)
    metadata = {name: metadata_of(before).get(name) for name in _SERVER}
    item = with_metadata(item, **metadata)
    if counts(kind, item, before):
        generation = int(metadata_of(before).get("generation") or 0) + 1
        item = with_metadata(item, generation=generation)
    judge(kind, item, before)
    if managers is None:
        if metadata_of(item).get("managedFields") == [{}]:
            managers = ()
        else:
            written, removed = changed(before, item, structure_of(kind.schema))
            writer = writer_of(call, cluster, subresource=subresource)
            managers = after_update(managers_of(before), writer, written, removed)
    item = with_metadata(item, managedFields=list(entries(managers)) or None)
    if same(item, before) or call.dry:
        return item
    return written_or_ended(cluster, kind, item)


def written_or_ended(cluster: Cluster, kind: Kind, item: Body) -> Body:
    """Store an object, or remove it where it was only waiting for its last finalizer."""
    if has_ended(item):
        return cluster.storage.remove(kind.store, item)
    return cluster.storage.put(kind.store, item)


def has_ended(item: Body) -> bool:
    """Tell whether nothing holds back an object that is being deleted."""
    metadata = metadata_of(item)
    waits = sequence(metadata.get("finalizers")) or metadata.get("deletionGracePeriodSeconds")
    inner = item.get("kind") == "Namespace" and sequence(
        mapping(item.get("spec")).get("finalizers")
    )
    return bool(metadata.get("deletionTimestamp")) and not waits and not inner


def _within(kind: Kind, item: Body, before: Body, subresource: str) -> Body:
    """Return the change with only those parts that the path may write."""
    if subresource == "status":
        others = {name: value for name, value in before.items() if name != "status"}
        return {**others, "status": item["status"]} if "status" in item else others
    if subresource == "finalize":
        return {**before, "spec": item.get("spec", {})}
    if "status" in kind.subresources and not subresource:
        others = {name: value for name, value in item.items() if name != "status"}
        return {**others, "status": before["status"]} if "status" in before else others
    return item
