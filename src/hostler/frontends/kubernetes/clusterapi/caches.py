"""Caches: what is watched of Cluster API and of ours, and which objects a change concerns."""

import asyncio
from collections.abc import Callable, Iterator

from msgspec import Struct

from hostler.frontends.kubernetes.namespaces import Namespaces
from hostler.kubernetes.cache import Change
from hostler.kubernetes.informer import Informers, Reader, Surroundings
from hostler.kubernetes.objects import HasMetadata, Key, Metadata, Owner, key_of

from .names import CLUSTER_LABEL, CORE
from .objects import (
    CLUSTERS,
    CORE_MACHINES,
    MACHINES,
    Cluster,
    CoreMachine,
    HostlerMachine,
)

BY_OWNER, BY_CLUSTER, BY_MACHINE = "owner", "cluster", "machine"
BY_PROVIDER_ID = "providerID"


class Caches(Struct, frozen=True, kw_only=True):
    """The informers of one controller; `run` them until it ends."""

    items: Informers[HostlerMachine]
    owners: Informers[CoreMachine]
    clusters: Informers[Cluster]

    async def run(self) -> None:
        """Follow all of them for ever."""
        async with asyncio.TaskGroup() as group:
            for informer in (self.items, self.owners, self.clusters):
                group.create_task(informer.run())

    async def synced(self) -> None:
        """Return once each has a whole list."""
        for informer in (self.items, self.owners, self.clusters):
            await informer.synced()

    def on_change(self, look: Callable[[Key], None]) -> None:
        """Call with the key of each HostlerMachine that a change may concern."""

        def item(change: Change[HostlerMachine]) -> None:
            look(change.key)

        def owner(change: Change[CoreMachine]) -> None:
            for found in self.items.cache.find(BY_OWNER, str(change.key)):
                look(key_of(found))

        def cluster(change: Change[Cluster]) -> None:
            if _says_the_same(change.old, change.new):
                return
            for found in self.items.cache.find(BY_CLUSTER, str(change.key)):
                look(key_of(found))

        self.items.on_change(item)
        self.owners.on_change(owner)
        self.clusters.on_change(cluster)

    def of_machine(self, machine: str) -> Iterator[Key]:
        """Return the keys of the objects that name a machine of the engine."""
        yield from (key_of(found) for found in self.items.cache.find(BY_MACHINE, machine))

    def rival(self, provider_id: str, key: Key) -> str:
        """Return another object that has this providerID already; empty where none does.

        It is one of the same namespace: others are of other clusters, and hold up nothing here.
        """
        found = self.items.cache.find(BY_PROVIDER_ID, provider_id) if provider_id else ()
        others = (key_of(one) for one in found if one.metadata.namespace == key.namespace)
        return next((str(other) for other in others if other != key), "")

    def asker(self, machine: str, uid: str) -> str:
        """Return the object of this uid that names a machine; empty where there is none."""
        found = self.items.cache.find(BY_MACHINE, machine)
        return next((str(key_of(one)) for one in found if one.metadata.uid == uid), "")

    def owner(self, metadata: Metadata) -> CoreMachine | None:
        """Return the Machine that owns an object, and not another one under its name."""
        reference = owner_of(metadata, "Machine")
        if reference is None:
            return None
        found = self.owners.cache.get(Key(metadata.namespace, reference.name))
        return found if found is not None and found.metadata.uid == reference.uid else None

    def cluster(self, metadata: Metadata, owner: CoreMachine | None) -> Cluster | None:
        """Return the Cluster that an object belongs to."""
        name = (metadata.labels or {}).get(CLUSTER_LABEL, "")
        if not name and owner is not None and owner.spec is not None:
            name = owner.spec.cluster_name
        return self.clusters.cache.get(Key(metadata.namespace, name)) if name else None


def watched(reader: Reader, around: Surroundings, namespaces: Namespaces) -> Caches:
    """Return what is watched in the namespaces that are read."""
    selections = namespaces.selections
    indexes = {
        BY_OWNER: _owners,
        BY_CLUSTER: _clusters,
        BY_MACHINE: _machines,
        BY_PROVIDER_ID: _provider_ids,
    }
    return Caches(
        items=Informers(reader, MACHINES, around, selections, indexes),
        owners=Informers(reader, CORE_MACHINES, around, selections),
        clusters=Informers(reader, CLUSTERS, around, selections),
    )


def owner_of(metadata: Metadata, kind: str) -> Owner | None:
    """Return the owner of this kind of core's, whether it controls the object or not."""
    for owner in metadata.owner_references or ():
        if owner.kind == kind and owner.api_version.partition("/")[0] == CORE:
            return owner
    return None


def _owners(item: HasMetadata) -> Iterator[str]:
    owner = owner_of(item.metadata, "Machine")
    if owner is not None:
        yield str(Key(item.metadata.namespace, owner.name))


def _clusters(item: HasMetadata) -> Iterator[str]:
    name = (item.metadata.labels or {}).get(CLUSTER_LABEL)
    if name:
        yield str(Key(item.metadata.namespace, name))


def _machines(item: HostlerMachine) -> Iterator[str]:
    if item.spec is not None and item.spec.machine_id:
        yield item.spec.machine_id


def _provider_ids(item: HostlerMachine) -> Iterator[str]:
    if item.spec is not None and item.spec.provider_id:
        yield item.spec.provider_id


def _says_the_same(old: Cluster | None, new: Cluster | None) -> bool:
    """Tell whether nothing changed that a machine asks its cluster for."""
    if old is None or new is None:
        return False
    return (old.spec, old.status, old.metadata.annotations) == (
        new.spec,
        new.status,
        new.metadata.annotations,
    )
