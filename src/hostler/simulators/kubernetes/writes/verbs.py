"""Verbs that write: PUT and PATCH on an object or on a part of it."""

from hostler.simulators.kubernetes.apply.managers import APPLY as APPLIES
from hostler.simulators.kubernetes.apply.merge import applied
from hostler.simulators.kubernetes.apply.structure import structure_of
from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.conversion import converted, stored
from hostler.simulators.kubernetes.schema.structural import unknown_fields
from hostler.simulators.kubernetes.state.body import (
    Body,
    mapping,
    metadata_of,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported,
)

from .admission import check_version, checked
from .change import change
from .creation import create, writer_of
from .patches import APPLY, JSON, MERGE, STRATEGIC, json_patch, merge, strategic

Written = tuple[int, Body]


def found(cluster: Cluster, call: Call) -> Body:
    """Return the object that a path names, or the Refusal that there is none."""
    item = cluster.storage.find(call.kind.store, (call.target.namespace, call.target.name))
    if item is None:
        raise not_found(call.about)
    return item


def post(cluster: Cluster, call: Call) -> Written:
    """Create an object."""
    item = checked(call, stored(call.kind, call.body()))
    return 201, create(cluster, call, item)


def put(cluster: Cluster, call: Call) -> Written:
    """Replace an object, in the version that was read if the body says one."""
    item = checked(call, stored(call.kind, call.body()))
    place = (call.target.namespace, call.target.name)
    before = cluster.storage.find(call.kind.store, place)
    if before is None:
        if call.kind.upserted and not text_at(item, "metadata", "uid"):
            return 201, create(cluster, call, with_metadata(item, resourceVersion=None))
        raise not_found(call.about)
    if not call.kind.unconditional and not text_at(item, "metadata", "resourceVersion"):
        text = "Invalid value: 0: must be specified for an update"
        cause = Cause("metadata.resourceVersion", "FieldValueInvalid", text)
        check_version(call.kind, item, before)
        raise invalid(call.about, [cause])
    return 200, change(cluster, call, before, item)


def patch(cluster: Cluster, call: Call) -> Written:
    """Change an object by a patch, or apply a configuration."""
    kind = call.kind
    accepted = [JSON, MERGE, *([] if kind.custom else [STRATEGIC]), APPLY]
    if call.content_type not in accepted:
        raise unsupported(call.about, accepted)
    if call.content_type == APPLY:
        return _apply(cluster, call)
    before = found(cluster, call)
    live, body = converted(kind, before), call.decoded()
    match call.content_type:
        case "application/json-patch+json":
            after = json_patch(live, body)
        case "application/merge-patch+json":
            after = mapping(merge(live, call.body()))
        case _:
            after = mapping(strategic(live, call.body(), structure_of(kind.schema)))
    item = checked(call, stored(kind, after))
    return 200, change(cluster, call, before, item)


def _apply(cluster: Cluster, call: Call) -> Written:
    config = _configuration(call)
    place = (call.target.namespace, call.target.name)
    before = cluster.storage.find(call.kind.store, place)
    if before is None:
        if call.target.subresource:
            raise not_found(call.about)
        if text_at(config, "metadata", "resourceVersion") or text_at(config, "metadata", "uid"):
            raise conflict(call.about)
        return 201, create(cluster, call, config, applies=True)
    check_version(call.kind, config, before)
    structure = structure_of(call.kind.schema)
    writer = writer_of(call, cluster, APPLIES, call.target.subresource)
    part = _writable(call, config)
    force = call.flag("force")
    item, managers = applied(before, part, structure, writer, force=force)
    return 200, change(cluster, call, before, item, managers)


def _configuration(call: Call) -> Body:
    """Return what is applied, or the Refusal of what cannot be."""
    if not call.text("fieldManager"):
        text = "fieldManager: Required value: is required for apply patch"
        raise Refusal(422, "Invalid", f'PatchOptions.meta.k8s.io "" is invalid: {text}')
    body = call.body()
    for name in ("apiVersion", "kind"):
        if not text_at(body, name):
            raise bad_request(f"invalid object type: {name} is not set")
    unknown = unknown_fields(body, call.kind.schema, root=True) if call.kind.schema else []
    if unknown:
        where = f"{text_at(body, 'metadata', 'namespace')}/{text_at(body, 'metadata', 'name')}"
        what = f"{call.kind.api_version}, Kind={call.kind.kind}"
        why = f".{unknown[0]}: field not declared in schema"
        text = f"failed to create typed patch object ({where}; {what}): {why}"
        raise Refusal(500, "", text)
    if metadata_of(body).get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    return checked(call, stored(call.kind, body))


def _writable(call: Call, config: Body) -> Body:
    """Return the parts of a configuration that the path may write."""
    identity = {"apiVersion": config["apiVersion"], "kind": config["kind"]}
    if call.target.subresource == "status":
        return {**identity, **({"status": config["status"]} if "status" in config else {})}
    if "status" in call.kind.subresources:
        return {name: value for name, value in config.items() if name != "status"}
    return config
