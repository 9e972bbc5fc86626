"""Collector: dependents whose owners are no longer there are deleted, and namespaces emptied."""

from collections.abc import Iterator

from hostler.simulators.kubernetes.kinds.kind import Kind
from hostler.simulators.kubernetes.state.body import (
    Body,
    metadata_of,
    sequence,
    text_at,
    with_metadata,
)
from hostler.simulators.kubernetes.state.cluster import Cluster
from hostler.simulators.kubernetes.state.storage import Change, Place, place_of
from hostler.simulators.kubernetes.writes.change import written_or_ended
from hostler.simulators.kubernetes.writes.deletion import FOREGROUND, ORPHAN, Terms, delete

Address = tuple[str, Place]


class Collector:
    """Follows owner references, each by its uid."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._alive: dict[str, Address] = {}
        self._dependents: dict[str, set[Address]] = {}
        self._due: dict[Address, None] = {}
        cluster.storage.listeners.append(self._take)

    def _take(self, change: Change) -> None:
        address = (change.store, place_of(change.item))
        uid = text_at(change.item, "metadata", "uid")
        owners, before = _owners(change.item), _owners(change.before or {})
        for owner in before:
            self._dependents.get(owner, set()).discard(address)
        if change.deleted:
            self._alive.pop(uid, None)
            for each in self._dependents.get(uid, ()):
                self._due[each] = None
            self._due.update((self._alive[one], None) for one in owners if one in self._alive)
            return
        self._alive[uid] = address
        for owner in owners:
            self._dependents.setdefault(owner, set()).add(address)
        if owners or sequence(metadata_of(change.item).get("finalizers")):
            self._due[address] = None

    def settle(self) -> bool:
        """Do what was found to be done; tell whether there was something."""
        due, self._due = self._due, {}
        for address in due:
            self._visit(address)
        return bool(due)

    def _visit(self, address: Address) -> None:
        store, place = address
        item, kind = self._cluster.storage.find(store, place), self._cluster.kinds.stored(store)
        if item is None or kind is None:
            return
        owners = _owners(item)
        ending = bool(metadata_of(item).get("deletionTimestamp"))
        if owners and not owners & self._alive.keys() and not ending:
            delete(self._cluster, kind, item, Terms(policy="Background"))
        elif ending:
            self._finalize(kind, item)

    def _finalize(self, kind: Kind, item: Body) -> None:
        """Do what a deletion's policy asks for the dependents first."""
        finalizers = sequence(metadata_of(item).get("finalizers"))
        uid = text_at(item, "metadata", "uid")
        dependents = list(self._found(uid))
        if ORPHAN in finalizers:
            for owned, each in dependents:
                self._release(owned, each, uid)
            self._let_go(kind, item, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = [(owned, each) for owned, each in dependents if _blocks(each, uid)]
            for owned, each in dependents:
                if not metadata_of(each).get("deletionTimestamp"):
                    delete(self._cluster, owned, each, Terms(policy="Foreground"))
            if not blocking:
                self._let_go(kind, item, FOREGROUND)

    def _found(self, uid: str) -> Iterator[tuple[Kind, Body]]:
        for store, place in sorted(self._dependents.get(uid, ())):
            item, kind = self._cluster.storage.find(store, place), self._cluster.kinds.stored(store)
            if item is not None and kind is not None:
                yield kind, item

    def _release(self, kind: Kind, item: Body, uid: str) -> None:
        owners = sequence(metadata_of(item).get("ownerReferences"))
        left = [owner for owner in owners if text_at(owner, "uid") != uid]
        after = with_metadata(item, ownerReferences=left or None)
        written_or_ended(self._cluster, kind, after)

    def _let_go(self, kind: Kind, item: Body, finalizer: str) -> None:
        left = [each for each in sequence(metadata_of(item).get("finalizers")) if each != finalizer]
        written_or_ended(self._cluster, kind, with_metadata(item, finalizers=left or None))


def _owners(item: Body) -> frozenset[str]:
    owners = sequence(metadata_of(item).get("ownerReferences"))
    return frozenset(text_at(owner, "uid") for owner in owners)


def _blocks(item: Body, uid: str) -> bool:
    owners = sequence(metadata_of(item).get("ownerReferences"))
    return any(
        text_at(owner, "uid") == uid and text_at(owner, "blockOwnerDeletion") == "true"
        for owner in owners
    )
