"""Definitions: kinds that come and go with objects of CustomResourceDefinition."""

from collections.abc import Iterator
from datetime import UTC

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    mapping,
    metadata_of,
    sequence,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.storage import Change
from hostler.simulators.kubernetes.writes.change import written_or_ended
from hostler.simulators.kubernetes.writes.deletion import Terms, delete

STORE = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Definitions:
    """Serves the kinds of definitions, and says in their status that it does."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._changed: dict[str, Body] = {}
        self._ending: dict[str, Body] = {}
        cluster.storage.listeners.append(self._take)

    def _take(self, change: Change) -> None:
        if change.deleted and change.store in self._ending:
            self._changed[change.store] = self._ending[change.store]
        if change.store == STORE and not change.deleted:
            name = text_at(change.item, "metadata", "name")
            self._changed[name] = change.item
            if metadata_of(change.item).get("deletionTimestamp"):
                self._ending[name] = change.item
        elif change.store == STORE:
            self._drop(change.item)

    def settle(self) -> bool:
        """Do what was found to be done; tell whether there was something."""
        changed, self._changed = self._changed, {}
        for item in changed.values():
            if metadata_of(item).get("deletionTimestamp"):
                self._end(item)
            else:
                self._serve(item)
        return bool(changed)

    def _serve(self, item: Body) -> None:
        storage = self._cluster.storage
        spec = mapping(item.get("spec"))
        names = mapping(spec.get("names"))
        versions = sequence(spec.get("versions"))
        status = mapping(item.get("status"))
        fresh = not status.get("conditions")
        if fresh:
            status = {
                "conditions": list(self._conditions()),
                "acceptedNames": {"listKind": f"{names['kind']}List", **names},
                "storedVersions": [one["name"] for one in versions if one.get("storage")],
            }
            item = with_metadata(item, finalizers=_with_cleanup(item))
            item = storage.put(STORE, {**item, "status": status})
            self._changed.pop(text_at(item, "metadata", "name"), None)
        known = self._cluster.kinds.stored(text_at(item, "metadata", "name"))
        since = known.since if known else storage.revision
        self._cluster.kinds.remove(text_at(spec, "group"), text_at(names, "plural"))
        for version in versions:
            if version.get("served"):
                self._cluster.kinds.add(kind_of(item, version, since))

    def _conditions(self) -> Iterator[Body]:
        time = self._cluster.now().astimezone(UTC)
        texts = (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
        for name, reason, message in texts:
            yield {
                "type": name,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": f"{time:%Y-%m-%dT%H:%M:%SZ}",
            }

    def _end(self, item: Body) -> None:
        """Delete a kind's objects, and let its definition go once none of them is left."""
        storage, name = self._cluster.storage, text_at(item, "metadata", "name")
        kind = self._cluster.kinds.stored(name)
        for each in storage.everything(name) if kind is not None else ():
            if kind is not None and not metadata_of(each).get("deletionTimestamp"):
                delete(self._cluster, kind, each, Terms(policy="Background"))
        found = storage.find(STORE, ("", name))
        if found is None or storage.everything(name):
            return
        finalizers = sequence(metadata_of(found).get("finalizers"))
        left = [one for one in finalizers if one != CLEANUP]
        written_or_ended(self._cluster, _CRD, with_metadata(found, finalizers=left or None))

    def _drop(self, item: Body) -> None:
        spec = mapping(item.get("spec"))
        name = text_at(item, "metadata", "name")
        self._ending.pop(name, None)
        self._cluster.kinds.remove(text_at(spec, "group"), text_at(spec, "names", "plural"))
        self._cluster.storage.drop(name)


def _with_cleanup(item: Body) -> list[str]:
    finalizers = [str(one) for one in sequence(metadata_of(item).get("finalizers"))]
    return finalizers if CLEANUP in finalizers else [*finalizers, CLEANUP]


_CRD = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    store=STORE,
    namespaced=False,
)


def kind_of(definition: Body, version: Body, since: int) -> Kind:
    """Return the kind that a version of a definition is."""
    spec = mapping(definition.get("spec"))
    names = mapping(spec.get("names"))
    below = mapping(version.get("subresources"))
    fields = {
        text_at(one, "jsonPath").lstrip("."): tuple(text_at(one, "jsonPath").strip(".").split("."))
        for one in sequence(version.get("selectableFields"))
    }
    schema = mapping(mapping(version.get("schema")).get("openAPIV3Schema"))
    return Kind(
        group=text_at(spec, "group"),
        version=text_at(version, "name"),
        plural=text_at(names, "plural"),
        kind=text_at(names, "kind"),
        store=text_at(definition, "metadata", "name"),
        namespaced=spec.get("scope") != "Cluster",
        short=tuple(sequence(names.get("shortNames"))),
        singular=text_at(names, "singular") or text_at(names, "kind").lower(),
        categories=tuple(sequence(names.get("categories"))),
        subresources=frozenset(below),
        custom=True,
        unconditional=False,
        since=since,
        fields=fields,
        schema=schema,
        scale=mapping(below.get("scale")) or None,
    )
