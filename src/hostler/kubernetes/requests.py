"""What calls ask for beside an object: selections, patches, preconditions, kinds of a watch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from msgspec import Struct

from .objects import Metadata

Query = tuple[tuple[str, str], ...]


class Selection(Struct, frozen=True, kw_only=True):
    """Which objects: of a namespace (empty: all), by labels and by fields, as kubectl has them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> Query:
        """Return it as query parameters."""
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return tuple(pair for pair in pairs if pair[1])


EVERYTHING = Selection()


class Watching(Struct, frozen=True, kw_only=True):
    """What to watch: from the version of a list, or with all that is there as initial events.

    The server ends the watch after `timeout`; `idle` is how long no line may come.
    """

    selection: Selection = EVERYTHING
    version: str = ""
    initial: bool = False
    timeout: timedelta = timedelta(minutes=5)
    idle: timedelta = timedelta(minutes=2)

    def query(self) -> Query:
        """Return it as query parameters."""
        start = (("resourceVersion", self.version),) if self.version else ()
        initial = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
        return (
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(max(1, int(self.timeout.total_seconds())))),
            *self.selection.query(),
            *start,
            *(initial if self.initial else ()),
        )


class PatchKind(StrEnum):
    """How a patch is read, as its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A change of an object; make it by `merge_patch` or `json_patch`."""

    kind: PatchKind
    body: object = field(repr=False)


def merge_patch(
    changes: Mapping[str, object],
    read: Metadata | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Patch:
    """Return changes that are merged in; with `read`, they conflict where somebody wrote since.

    Without it a merge patch never conflicts.
    """
    body: dict[str, object] = dict(changes)
    if read is not None:
        metadata = {**(metadata or {}), "resourceVersion": read.resource_version}
    if metadata is not None:
        body["metadata"] = metadata
    return Patch(kind=PatchKind.MERGE, body=body)


def json_patch(operations: Iterable[Mapping[str, object]]) -> Patch:
    """Return operations that are done in order, all or none; `test` makes them conditional."""
    return Patch(kind=PatchKind.JSON, body=list(operations))


class Propagation(StrEnum):
    """What becomes of an object's dependents."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Deletion(Struct, frozen=True, kw_only=True):
    """How to delete: only this uid, only in this version, and what becomes of dependents."""

    uid: str = ""
    version: str = ""
    propagation: Propagation = Propagation.BACKGROUND

    def body(self) -> Mapping[str, object]:
        """Return it as DeleteOptions."""
        pairs = (("uid", self.uid), ("resourceVersion", self.version))
        preconditions = {name: value for name, value in pairs if value}
        return {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": self.propagation.value,
            **({"preconditions": preconditions} if preconditions else {}),
        }
