"""Strategies: what the server itself does with its own kinds, before they are stored."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.schema.validation import name_of
from hostler.simulators.kubernetes.state.body import (
    Body,
    at,
    is_mapping,
    mapping,
    metadata_of,
    sequence,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.refusals import Cause, bad_request

from .definitions import wrong_definition
from .fields import INVALID, REQUIRED, required

MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")


def decode(kind: Kind, item: Body) -> None:
    """Refuse, with 400, what Go could not read into the kind's own type."""
    for path, wanted in _TYPES.get(kind.store, {}).items():
        value = at(item, *path)
        if value is None:
            continue
        if wanted == "texts":
            for each in mapping(value).values():
                if not isinstance(each, str):
                    raise _unread(kind, path, each, "string")
        elif wanted == "micro":
            if not isinstance(value, str) or not MICRO.fullmatch(value):
                text = f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00"'
                raise bad_request(_cannot(kind, f"{text}: cannot parse"))
        elif wanted == "bytes":
            _bytes(kind, mapping(value))
        elif wanted == "int" and (not isinstance(value, int) or isinstance(value, bool)):
            raise _unread(kind, path, value, "int32")


_DATA = ("data",)
_TYPES: Mapping[str, Mapping[tuple[str, ...], str]] = {
    "configmaps": {_DATA: "texts", ("binaryData",): "bytes"},
    "secrets": {_DATA: "bytes", ("stringData",): "texts"},
    "leases.coordination.k8s.io": {
        ("spec", "renewTime"): "micro",
        ("spec", "acquireTime"): "micro",
        ("spec", "leaseDurationSeconds"): "int",
        ("spec", "leaseTransitions"): "int",
    },
    "events": {("eventTime",): "micro", ("series", "lastObservedTime"): "micro"},
    "jobs.batch": {("spec", "backoffLimit"): "int", ("spec", "activeDeadlineSeconds"): "int"},
}


def _cannot(kind: Kind, why: str) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'


def _unread(kind: Kind, path: tuple[str, ...], value: object, wanted: str) -> Exception:
    named = {"boolean": "bool", "integer": "number"}.get(name_of(value), name_of(value))
    field = f"{kind.kind}.{'.'.join(path)}"
    why = f"json: cannot unmarshal {named} into Go struct field {field} of type {wanted}"
    return bad_request(_cannot(kind, why))


def _bytes(kind: Kind, data: Body) -> None:
    for value in data.values():
        try:
            base64.b64decode(str(value), validate=True)
        except (binascii.Error, ValueError):
            why = "illegal base64 data at input byte 0"
            raise bad_request(_cannot(kind, why)) from None


def created(kind: Kind, item: Body) -> Body:
    """Return an object as its kind is stored at first."""
    change = _CREATED.get(kind.store)
    return change(item) if change else item


def updated(kind: Kind, item: Body, before: Body) -> Body:
    """Return an object as its kind is stored after a change."""
    if kind.store == "secrets":
        return _secret(item)
    if kind.store == "namespaces":
        return {**item, "spec": before.get("spec", {})}
    return item


def wrong(kind: Kind, item: Body, before: Body | None) -> Iterator[Cause]:
    """Return what breaks the rules of the server's own kinds."""
    judge = _JUDGES.get(kind.store)
    if judge is not None:
        yield from judge(item, before)


def _secret(item: Body) -> Body:
    plain = mapping(item.get("stringData"))
    data = {
        **mapping(item.get("data")),
        **{name: base64.b64encode(str(text).encode()).decode() for name, text in plain.items()},
    }
    left = {name: value for name, value in item.items() if name != "stringData"}
    if data:
        left["data"] = data
    return {**left, "type": item.get("type") or "Opaque"}


def _namespace(item: Body) -> Body:
    name = text_at(item, "metadata", "name")
    labels = {**mapping(metadata_of(item).get("labels")), "kubernetes.io/metadata.name": name}
    item = with_metadata(item, labels=labels)
    return {**item, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _pod(item: Body) -> Body:
    defaults = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
    }
    spec = {**defaults, **mapping(item.get("spec"))}
    return {**item, "spec": spec, "status": {"phase": "Pending", "qosClass": "BestEffort"}}


def _job(item: Body) -> Body:
    metadata = metadata_of(item)
    uid, name = text_at(metadata, "uid"), text_at(metadata, "name")
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    defaults = {"backoffLimit": 6, "completions": 1, "parallelism": 1, "suspend": False}
    spec = {**defaults, **mapping(item.get("spec"))}
    template = mapping(spec.get("template"))
    within = mapping(template.get("metadata"))
    spec["template"] = {
        **template,
        "metadata": {**within, "labels": {**mapping(within.get("labels")), **labels}},
    }
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    return {**item, "spec": spec, "status": {}}


def _without_status(item: Body) -> Body:
    return {**item, "status": {}}


_CREATED: Mapping[str, Callable[[Body], Body]] = {
    "secrets": _secret,
    "namespaces": _namespace,
    "pods": _pod,
    "jobs.batch": _job,
    "poddisruptionbudgets.policy": _without_status,
}


def _lease(item: Body, _: Body | None) -> Iterator[Cause]:
    seconds = at(item, "spec", "leaseDurationSeconds")
    if isinstance(seconds, int) and seconds <= 0:
        text = f"Invalid value: {seconds}: must be greater than 0"
        yield Cause("spec.leaseDurationSeconds", INVALID, text)
    transitions = at(item, "spec", "leaseTransitions")
    if isinstance(transitions, int) and transitions < 0:
        text = f"Invalid value: {transitions}: must be greater than or equal to 0"
        yield Cause("spec.leaseTransitions", INVALID, text)


def _template(prefix: str, spec: object) -> Iterator[Cause]:
    containers = sequence(at(spec, "containers"))
    if not containers:
        yield required(f"{prefix}.containers")
    for number, container in enumerate(containers):
        if not text_at(container, "name"):
            yield required(f"{prefix}.containers[{number}].name")
        if not text_at(container, "image"):
            yield required(f"{prefix}.containers[{number}].image")


def _judged_pod(item: Body, before: Body | None) -> Iterator[Cause]:
    if before is None:
        yield from _template("spec", item.get("spec"))


def _judged_job(item: Body, before: Body | None) -> Iterator[Cause]:
    template = at(item, "spec", "template")
    if before is not None:
        if at(before, "spec", "template") != template and not at(before, "spec", "suspend"):
            text = "Invalid value: the template: field is immutable"
            yield Cause("spec.template", INVALID, text)
        return
    yield from _template("spec.template.spec", at(template, "spec"))
    policy = text_at(template, "spec", "restartPolicy")
    if policy not in {"OnFailure", "Never"}:
        field = "spec.template.spec.restartPolicy"
        if policy in {"", "Always"}:
            text = 'Required value: valid values: "OnFailure", "Never"'
            yield Cause(field, REQUIRED, text)
        else:
            text = f'Unsupported value: "{policy}": supported values: "OnFailure", "Never"'
            yield Cause(field, "FieldValueNotSupported", text)


def _event(item: Body, before: Body | None) -> Iterator[Cause]:
    namespace = text_at(item, "metadata", "namespace")
    involved = text_at(item, "involvedObject", "namespace")
    if namespace != (involved or "default"):
        text = f'Invalid value: "{involved}": does not match event.namespace'
        yield Cause("involvedObject.namespace", INVALID, text)
    if item.get("eventTime") is None or before is not None:
        return
    for field in ("reportingComponent", "reportingInstance", "action", "reason"):
        name = {"reportingComponent": "reportingController"}.get(field, field)
        if not text_at(item, field):
            yield required(name)
    if text_at(item, "type") not in {"Normal", "Warning"}:
        yield Cause("type", INVALID, 'Invalid value: "": has to be Normal or Warning')
    if len(text_at(item, "message").encode()) > 1024:
        yield Cause("message", INVALID, 'Invalid value: "": can have at most 1024 characters')


def _secret_judged(item: Body, before: Body | None) -> Iterator[Cause]:
    if before is not None and item.get("type") != before.get("type"):
        text = f'Invalid value: "{item.get("type")}": field is immutable'
        yield Cause("type", INVALID, text)
    if before is not None and before.get("immutable") and item.get("data") != before.get("data"):
        text = "Forbidden: field is immutable when `immutable` is set"
        yield Cause("data", "FieldValueForbidden", text)


def _node(item: Body, before: Body | None) -> Iterator[Cause]:
    old = text_at(before, "spec", "providerID") if is_mapping(before) else ""
    if old and text_at(item, "spec", "providerID") != old:
        text = "Forbidden: node updates may not change metadata except labels or providerID"
        yield Cause("spec.providerID", "FieldValueForbidden", text)


def _definition(item: Body, _: Body | None) -> Iterator[Cause]:
    yield from wrong_definition(item)


_JUDGES: Mapping[str, Callable[[Body, Body | None], Iterator[Cause]]] = {
    "leases.coordination.k8s.io": _lease,
    "pods": _judged_pod,
    "jobs.batch": _judged_job,
    "events": _event,
    "secrets": _secret_judged,
    "nodes": _node,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}
