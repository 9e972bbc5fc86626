"""Fields that every object has: names, labels, finalizers, owners, and their rules."""

import re
from collections.abc import Iterator
from typing import Any

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    is_mapping,
    mapping,
    metadata_of,
    sequence,
    text_at,
)
from hostler.simulators.kubernetes.state.refusals import Cause

REQUIRED, INVALID = "FieldValueRequired", "FieldValueInvalid"
LARGEST_ANNOTATIONS = 256 << 10
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABELLED = frozenset({"namespaces", "services"})
_FREE = frozenset({"rbac.authorization.k8s.io"})


def tidied(kind: Kind, item: Body) -> Body:
    """Return an object as Go's own types read it: empty maps and lists are none, null is ""."""
    metadata = dict(metadata_of(item))
    for name in ("labels", "annotations", "finalizers", "ownerReferences"):
        if name in metadata:
            metadata[name] = _texts(metadata[name])
            if not metadata[name]:
                del metadata[name]
    left = {**item, "metadata": metadata}
    for name in _DATA.get(kind.store, ()):
        if name in left and not left[name]:
            del left[name]
    return left


def _texts(value: Any) -> Any:
    if is_mapping(value):
        return {name: "" if each is None else each for name, each in value.items()}
    return value


_DATA = {
    "configmaps": ("data", "binaryData"),
    "secrets": ("data", "stringData"),
}


def required(field: str) -> Cause:
    """Return that a field is missing."""
    return Cause(field, REQUIRED, "Required value")


def wrong_metadata(item: Body, plural: str, group: str) -> Iterator[Cause]:
    """Return what is wrong with an object's metadata."""
    metadata = metadata_of(item)
    name = text_at(metadata, "name")
    if not name:
        text = "Required value: name or generateName is required"
        yield Cause("metadata.name", REQUIRED, text)
    elif group not in _FREE:
        yield from _wrong_name(name, plural)
    for field, value in mapping(metadata.get("labels")).items():
        yield from _wrong_key(field, "metadata.labels")
        if value and (len(str(value)) > 63 or not _NAME.fullmatch(str(value))):
            text = f'Invalid value: "{value}": a valid label must be an empty string or consist of'
            yield Cause(
                "metadata.labels", INVALID, f"{text} alphanumeric characters, '-', '_' or '.'"
            )
    annotations = mapping(metadata.get("annotations"))
    for field in annotations:
        yield from _wrong_key(field.lower(), "metadata.annotations")
    if (
        sum(len(f"{key}{value}".encode()) for key, value in annotations.items())
        > LARGEST_ANNOTATIONS
    ):
        text = f"Too long: may not be more than {LARGEST_ANNOTATIONS} bytes"
        yield Cause("metadata.annotations", "FieldValueTooLong", text)
    for finalizer in sequence(metadata.get("finalizers")):
        yield from _wrong_key(str(finalizer), "metadata.finalizers")
    yield from _wrong_owners(sequence(metadata.get("ownerReferences")))


def _wrong_name(name: str, plural: str) -> Iterator[Cause]:
    if plural in _LABELLED:
        if len(name) > 63 or not _LABEL.fullmatch(name):
            yield Cause("metadata.name", INVALID, f'Invalid value: "{name}": {_LABEL_RULE}')
    elif len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        yield Cause("metadata.name", INVALID, f'Invalid value: "{name}": {_SUBDOMAIN_RULE}')


def _wrong_key(key: str, field: str) -> Iterator[Cause]:
    prefix, _, name = key.rpartition("/")
    fits = len(name) <= 63 and _NAME.fullmatch(name)
    if not fits or ("/" in key and not _SUBDOMAIN.fullmatch(prefix)):
        text = f'Invalid value: "{key}": name part must consist of alphanumeric characters'
        yield Cause(field, INVALID, text)


def _wrong_owners(owners: list[object]) -> Iterator[Cause]:
    controllers = 0
    for number, owner in enumerate(owners):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not text_at(owner, name):
                text = 'Invalid value: "": must not be empty'
                yield Cause(f"metadata.ownerReferences[{number}].{name}", INVALID, text)
        controllers += text_at(owner, "controller") == "true"
    if controllers > 1:
        text = "Invalid value: null: Only one reference can have Controller set to true"
        yield Cause("metadata.ownerReferences", INVALID, text)
