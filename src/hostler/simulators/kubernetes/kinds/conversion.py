"""Conversion: an object as it is stored, and as one version of its kind shows it."""

from hostler.simulators.kubernetes.state.body import Body

from .kind import Kind

_NEWER = "events.k8s.io"
_EVENTS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_STORED = {newer: older for older, newer in _EVENTS.items()}


def stored(kind: Kind, item: Body) -> Body:
    """Return an object as it is stored; events as the older group has them."""
    if kind.group == _NEWER and kind.plural == "events":
        return {_STORED.get(name, name): value for name, value in item.items()}
    return item


def converted(kind: Kind, item: Body) -> Body:
    """Return an object as this kind's version shows it."""
    if kind.group == _NEWER and kind.plural == "events":
        item = {_EVENTS.get(name, name): value for name, value in item.items()}
    others = {name: value for name, value in item.items() if name not in {"apiVersion", "kind"}}
    return {"apiVersion": kind.api_version, "kind": kind.kind, **others}
