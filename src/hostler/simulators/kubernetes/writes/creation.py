"""Creation: a new object, by POST, by PUT of some kinds, or by an apply."""

from hostler.simulators.kubernetes.apply.fields import changed, paths_of
from hostler.simulators.kubernetes.apply.managers import (
    APPLY,
    UPDATE,
    Manager,
    entries,
)
from hostler.simulators.kubernetes.apply.structure import structure_of
from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import Body, metadata_of, text_at, with_metadata
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import Refusal, already_exists
from hostler.simulators.kubernetes.state.storage import place_of

from .accounts import with_account
from .admission import check_namespace, filled, judge
from .fields import tidied
from .strategies import created

_NOT_YET = "resourceVersion should not be set on objects to be created"


def writer_of(
    call: Call, cluster: Cluster, operation: str = UPDATE, subresource: str = ""
) -> Manager:
    """Return the manager that a call writes as."""
    return Manager(
        name=call.manager,
        operation=operation,
        api_version=call.kind.api_version,
        subresource=subresource,
        time=cluster.stamp(),
    )


def create(cluster: Cluster, call: Call, item: Body, *, applies: bool = False) -> Body:
    """Store a new object and return it; a Refusal where there is one, or it breaks a rule."""
    kind = call.kind
    if text_at(item, "metadata", "resourceVersion"):
        raise Refusal(500, "", _NOT_YET)
    check_namespace(call, cluster)
    if kind.store == "pods":
        item = with_account(cluster, item)
    config, item = item, _born(cluster, kind, tidied(kind, item))
    item = filled(kind, created(kind, item), applied=applies)
    judge(kind, item, None)
    item = _owned(cluster, call, config, item, applies=applies)
    if cluster.storage.find(kind.store, place_of(item)) is not None:
        raise already_exists(kind.about(text_at(item, "metadata", "name")))
    return item if call.dry else cluster.storage.put(kind.store, item)


def _born(cluster: Cluster, kind: Kind, item: Body) -> Body:
    """Return an object with the metadata that the server alone gives."""
    prefix = text_at(item, "metadata", "generateName")
    name = text_at(item, "metadata", "name") or (prefix and prefix[:58] + cluster.suffix())
    item = with_metadata(
        item,
        name=name or None,
        uid=cluster.uid(),
        creationTimestamp=cluster.stamp(),
        generation=1 if kind.custom or kind.counted else None,
        resourceVersion=None,
        deletionTimestamp=None,
        deletionGracePeriodSeconds=None,
        managedFields=None,
        selfLink=None,
    )
    if kind.custom and "status" in kind.subresources:
        item = {name: value for name, value in item.items() if name != "status"}
    return item


def _owned(cluster: Cluster, call: Call, config: Body, item: Body, *, applies: bool) -> Body:
    structure = structure_of(call.kind.schema)
    writer = writer_of(call, cluster, APPLY if applies else UPDATE)
    if applies:
        clean = with_metadata(config, managedFields=None)
        if "status" in call.kind.subresources:
            clean.pop("status", None)
        paths = paths_of(clean, structure)
    else:
        paths = changed({"metadata": {}}, item, structure)[0]
    manager = Manager(
        name=writer.name,
        operation=writer.operation,
        api_version=writer.api_version,
        time=writer.time,
        paths=paths,
    )
    if metadata_of(config).get("managedFields") == [] and not applies:
        return item
    return with_metadata(item, managedFields=entries((manager,)) or None)
