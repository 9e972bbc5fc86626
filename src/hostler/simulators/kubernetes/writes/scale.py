"""Scale: the number of replicas of an object, as `autoscaling/v1` has it."""

from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.state.body import (
    Body,
    at,
    mapping,
    metadata_of,
    text_at,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import Cause, invalid, not_found, unsupported

from .admission import check_version
from .change import change
from .patches import JSON, MERGE, STRATEGIC, json_patch, merge
from .verbs import Written, found


def get(cluster: Cluster, call: Call) -> Body:
    """Return the scale of an object."""
    return _scale(call, found(cluster, call))


def put(cluster: Cluster, call: Call) -> Written:
    """Write the number of replicas."""
    return _write(cluster, call, call.body())


def patch(cluster: Cluster, call: Call) -> Written:
    """Change the number of replicas by a patch of the scale."""
    live = _scale(call, found(cluster, call))
    if call.content_type == JSON:
        return _write(cluster, call, json_patch(live, call.decoded()))
    if call.content_type not in {MERGE, STRATEGIC}:
        raise unsupported(call.about, (JSON, MERGE))
    return _write(cluster, call, mapping(merge(live, call.body())))


def _write(cluster: Cluster, call: Call, scale: Body) -> Written:
    before = found(cluster, call)
    check_version(call.kind, scale, before)
    replicas = at(scale, "spec", "replicas")
    if not isinstance(replicas, int) or replicas < 0:
        text = f"Invalid value: {replicas}: should be a non-negative integer"
        raise invalid(call.about, [Cause("spec.replicas", "FieldValueInvalid", text)])
    item = _with(before, _path(call, "specReplicasPath"), replicas)
    return 200, _scale(call, change(cluster, call, before, item))


def _with(item: Body, path: list[str], value: object) -> Body:
    name, *more = path
    below = _with(mapping(item.get(name)), more, value) if more else value
    return {**item, name: below}


def _path(call: Call, name: str) -> list[str]:
    path = text_at(call.kind.scale, name)
    return path.lstrip(".").split(".") if path else []


def _scale(call: Call, item: Body) -> Body:
    if call.kind.scale is None:
        raise not_found(call.about)
    metadata = metadata_of(item)
    shared = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Body = {"replicas": at(item, *_path(call, "statusReplicasPath")) or 0}
    if selector := _path(call, "labelSelectorPath"):
        status["selector"] = text_at(item, *selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in shared if name in metadata},
        "spec": {"replicas": at(item, *_path(call, "specReplicasPath")) or 0},
        "status": status,
    }
