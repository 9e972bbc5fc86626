"""Admission: what becomes of an object on its way into the storage, and what refuses it."""

import msgspec

from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.schema.rules import broken_rules
from hostler.simulators.kubernetes.schema.structural import defaulted, pruned, unknown_fields
from hostler.simulators.kubernetes.schema.validation import violations
from hostler.simulators.kubernetes.state.body import (
    Body,
    at,
    mapping,
    metadata_of,
    sequence,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    not_found,
)

from .fields import wrong_metadata
from .strategies import decode, wrong

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
LARGEST = 1_500_000
"""Bytes that etcd takes in one request."""


def checked(call: Call, item: Body) -> Body:
    """Return an object that is of the kind, the namespace and the name that the path says."""
    kind, target = call.kind, call.target
    version, word = text_at(item, "apiVersion"), text_at(item, "kind")
    if (version and version != kind.api_version) or (word and word != kind.kind):
        sent, wanted = f"{version}, Kind={word}", f"{kind.api_version}, Kind={kind.kind}"
        raise bad_request(
            f"the API version in the data ({sent}) does not match the expected API version "
            f"({wanted})"
        )
    metadata = metadata_of(item)
    namespace = text_at(metadata, "namespace")
    if kind.namespaced and namespace and namespace != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    name = text_at(metadata, "name")
    if target.name and name and name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    _strict(call, item)
    decode(kind, item)
    place = target.namespace if kind.namespaced else None
    named = {**item, "apiVersion": kind.api_version, "kind": kind.kind}
    return with_metadata(named, namespace=place, name=target.name or name or None)


def _strict(call: Call, item: Body) -> None:
    if call.kind.schema is None or call.text("fieldValidation") != "Strict":
        return
    unknown = unknown_fields(item, call.kind.schema, root=True)
    if unknown:
        listed = ", ".join(f'unknown field "{name}"' for name in unknown)
        raise bad_request(f"strict decoding error: {listed}")


def filled(kind: Kind, item: Body, *, applied: bool = False) -> Body:
    """Return an object with its defaults and without what its kind does not know.

    Nulls of what was applied are judged, those of other bodies dropped.
    """
    if kind.schema is None:
        return item
    return mapping(defaulted(pruned(item, kind.schema, root=True), kind.schema, nulls=applied))


def judge(kind: Kind, item: Body, before: Body | None) -> None:
    """Refuse an object that breaks a rule of its kind, or that a policy is against."""
    causes = [*wrong_metadata(item, kind.plural, kind.group), *wrong(kind, item, before)]
    if before is not None:
        causes += _grown(item, before)
    if kind.schema is not None:
        causes += violations(_judged(item), kind.schema)
        causes += _negative(kind, item)
        causes += broken_rules(kind, item, before, causes)
    if causes:
        raise invalid(kind.about(text_at(item, "metadata", "name")), causes)
    if len(msgspec.json.encode(item)) > LARGEST:
        raise Refusal(500, "", "etcdserver: request is too large")


def _negative(kind: Kind, item: Body) -> list[Cause]:
    path = text_at(kind.scale, "specReplicasPath")
    replicas = at(item, *path.lstrip(".").split(".")) if path else None
    if not isinstance(replicas, int) or replicas >= 0:
        return []
    text = f"Invalid value: {replicas}: should be a non-negative integer"
    return [Cause(path, "FieldValueInvalid", text)]


def _judged(item: Body) -> Body:
    """Leave the metadata out: the server knows it better than any schema."""
    return {name: value for name, value in item.items() if name != "metadata"}


def _grown(item: Body, before: Body) -> list[Cause]:
    """Return that finalizers were added to what is being deleted."""
    if not metadata_of(before).get("deletionTimestamp"):
        return []
    old = sequence(metadata_of(before).get("finalizers"))
    new = [each for each in sequence(metadata_of(item).get("finalizers")) if each not in old]
    if not new:
        return []
    listed = ", ".join(f'"{each}"' for each in new)
    text = (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new "
        f"finalizers []string{{{listed}}}"
    )
    return [Cause("metadata.finalizers", "FieldValueForbidden", text)]


def check_namespace(call: Call, cluster: Cluster) -> None:
    """Refuse what is to be created where no namespace is, or one that ends."""
    _check_definition(call, cluster)
    if not call.kind.namespaced:
        return
    name = call.target.namespace
    namespace = cluster.storage.find("namespaces", ("", name))
    if namespace is None:
        kind = cluster.kinds.find("", "v1", "namespaces")
        raise not_found(kind.about(name)) if kind else internal("no namespaces")
    if metadata_of(namespace).get("deletionTimestamp"):
        text = f"unable to create new content in namespace {name} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(call.about, text, {"causes": [cause]})


def _check_definition(call: Call, cluster: Cluster) -> None:
    """Refuse what is to be created of a kind that ends."""
    if not call.kind.custom:
        return
    found = cluster.storage.find(DEFINITIONS, ("", call.kind.store))
    if found is not None and metadata_of(found).get("deletionTimestamp"):
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(call.about, why)


def check_version(kind: Kind, item: Body, before: Body, *, patches: bool = False) -> None:
    """Refuse what was meant for another version, or for another object of the name."""
    about = kind.about(text_at(before, "metadata", "name"))
    uid, ours = text_at(item, "metadata", "uid"), text_at(before, "metadata", "uid")
    if uid and uid != ours and patches:
        text = f'Invalid value: "{uid}": field is immutable'
        raise invalid(about, [Cause("metadata.uid", "FieldValueInvalid", text)])
    if uid and uid != ours:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {ours}"
        raise conflict(about, why)
    version = text_at(item, "metadata", "resourceVersion")
    if version and version != text_at(before, "metadata", "resourceVersion"):
        raise conflict(about)


def counts(kind: Kind, item: Body, before: Body) -> bool:
    """Tell whether a change moves the generation."""
    if not (kind.custom or kind.counted):
        return False
    if not kind.custom:
        return at(item, "spec") != at(before, "spec")
    apart = {"metadata", "apiVersion", "kind"} | ({"status"} & kind.subresources)
    ours = {name: value for name, value in item.items() if name not in apart}
    return ours != {name: value for name, value in before.items() if name not in apart}
