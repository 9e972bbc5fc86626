"""Lists: the objects of a selection as of one revision, in pages if they are asked for."""

import base64
import binascii
from typing import Any

import msgspec

from hostler.simulators.kubernetes.call import Call
from hostler.simulators.kubernetes.kinds.conversion import converted
from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import Body
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.refusals import Refusal, bad_request, expired
from hostler.simulators.kubernetes.state.storage import Place, place_of

from .selectors import selected

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
_PAGES = 64  # how many lists in pages are remembered


class Lists:
    """Answers lists; remembers those that are read in pages, until their revision is compacted."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pages: dict[tuple[int, str, str], list[Body]] = {}

    def answer(self, call: Call) -> Body:
        """Return a list, or one page of it."""
        kind, limit = call.kind, call.number("limit")
        matches = selected(kind, call.text("labelSelector"), call.text("fieldSelector"))
        revision, items, start = self._chosen(call)
        chosen = [item for item in items if matches(item) and (not start or place_of(item) > start)]
        metadata: Body = {"resourceVersion": str(revision)}
        if limit and len(chosen) > limit:
            self._remember(revision, call, items)
            last = place_of(chosen[limit - 1])
            metadata["continue"] = _token(revision, last)
            if not call.text("labelSelector") and not call.text("fieldSelector"):
                metadata["remainingItemCount"] = len(chosen) - limit
            chosen = chosen[:limit]
        return {
            "kind": f"{kind.kind}List",
            "apiVersion": kind.api_version,
            "metadata": metadata,
            "items": [_item(kind, item) for item in chosen],
        }

    def _chosen(self, call: Call) -> tuple[int, list[Body], Place | None]:
        """Return as of which revision a list is, all of its objects, and after which to begin."""
        storage, namespace = self._cluster.storage, call.target.namespace
        token = call.text("continue")
        if not token:
            self._check_version(call)
            return storage.revision, storage.everything(call.kind.store, namespace), None
        if call.text("resourceVersion") not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        revision, start = _read(token)
        if revision < storage.compacted:
            raise expired(_TOO_OLD)
        found = self._pages.get((revision, call.kind.store, namespace))
        if found is None:
            raise expired(_TOO_OLD)
        return revision, found, start

    def _check_version(self, call: Call) -> None:
        version, match = call.text("resourceVersion"), call.text("resourceVersionMatch")
        if version in {"", "0"}:
            return
        if not version.isdigit():
            raise bad_request(f'invalid resource version "{version}"')
        if int(version) > self._cluster.storage.revision:
            text = f"Too large resource version: {version}, current: "
            text += str(self._cluster.storage.revision)
            details: Body = {
                "causes": [
                    {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
                ],
                "retryAfterSeconds": 1,
            }
            raise Refusal(504, "Timeout", f"Timeout: {text}", details)
        if match == "Exact" and int(version) < self._cluster.storage.compacted:
            raise expired(f"The resourceVersion for the provided list is too old: {version}")

    def _remember(self, revision: int, call: Call, items: list[Body]) -> None:
        self._pages[revision, call.kind.store, call.target.namespace] = items
        while len(self._pages) > _PAGES:
            del self._pages[next(iter(self._pages))]


def _item(kind: Kind, item: Body) -> Body:
    """Return an item; those of the server's own kinds do not say which they are of."""
    found = converted(kind, item)
    if kind.custom:
        return found
    return {name: value for name, value in found.items() if name not in {"apiVersion", "kind"}}


def _token(revision: int, last: Place) -> str:
    text = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": revision, "start": list(last)})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _read(token: str) -> tuple[int, Place]:
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        found: Any = msgspec.json.decode(text)
        namespace, name = found["start"]
        return int(found["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, TypeError, KeyError):
        raise bad_request("continue key is not valid: it is no token of this server") from None
