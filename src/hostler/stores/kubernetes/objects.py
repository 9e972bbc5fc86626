"""Objects: the journal and its parts in a cluster, read and written by four verbs."""

from typing import Protocol

from msgspec import Struct

from hostler.kubernetes.errors import AlreadyExists, Conflict, KindNotServed, NotFound
from hostler.kubernetes.objects import HasMetadata, Key, Listing, M, Metadata
from hostler.kubernetes.requests import Deletion, Selection
from hostler.kubernetes.resources import Resource

from .kinds import (
    JOURNALS,
    LABEL,
    PART_NAMES,
    PARTS,
    Journal,
    JournalSpec,
    Part,
    PartEntry,
    PartSpec,
    owner,
)


class Writer(Protocol):
    """What the store needs of a client."""

    async def get(self, resource: Resource[M], key: Key) -> M:
        """Return an object."""
        ...

    async def list_all(self, resource: Resource[M], selection: Selection) -> Listing[M]:
        """Return all objects of a selection."""
        ...

    async def create(self, resource: Resource[M], item: M) -> M:
        """Create an object."""
        ...

    async def replace(self, resource: Resource[M], item: M) -> M:
        """Replace the version that was read."""
        ...

    async def delete(
        self, resource: Resource[HasMetadata], key: Key, deletion: Deletion | None = None
    ) -> None:
        """Delete an object."""
        ...


class Objects(Struct, frozen=True, kw_only=True):
    """The objects of one journal, by the names of its namespace."""

    client: Writer
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return the journal as messages name it."""
        return f"journal {self.namespace}/{self.name}"

    async def journal(self) -> Journal | None:
        """Return the journal as it is now, or None; every error of the API is passed on."""
        try:
            return await self.client.get(JOURNALS, Key(self.namespace, self.name))
        except KindNotServed:
            raise
        except NotFound:
            return None

    async def make(self, installation: str) -> Journal | None:
        """Make an empty journal of an installation; None where somebody else just did."""
        made = Journal(
            metadata=Metadata(name=self.name, namespace=self.namespace),
            spec=JournalSpec(installation=installation),
        )
        try:
            return await self.client.create(JOURNALS, made)
        except AlreadyExists:
            return None

    async def replace(self, journal: Journal, spec: JournalSpec) -> Journal | None:
        """Write over the version that was read; None where somebody wrote since, or removed it."""
        try:
            return await self.client.replace(
                JOURNALS, Journal(metadata=journal.metadata, spec=spec)
            )
        except (Conflict, NotFound):
            return None

    async def add(self, journal: Journal, entry: PartEntry, spec: PartSpec) -> None:
        """Write a part of a journal; one that is there already was written by us."""
        metadata = Metadata(
            name=entry.name,
            namespace=self.namespace,
            labels={LABEL: self.name},
            owner_references=(owner(journal),),
        )
        try:
            await self.client.create(PARTS, Part(metadata=metadata, spec=spec))
        except AlreadyExists:
            return

    async def part(self, name: str) -> PartSpec | None:
        """Return what a part holds; None where it was deleted, as after a newer checkpoint."""
        try:
            return (await self.client.get(PARTS, Key(self.namespace, name))).spec
        except NotFound:
            return None

    async def part_names(self) -> tuple[str, ...]:
        """Return the names of all parts, of those too that no journal names."""
        selection = Selection(namespace=self.namespace, labels=f"{LABEL}={self.name}")
        listing = await self.client.list_all(PART_NAMES, selection)
        return tuple(item.metadata.name for item in listing.items)

    async def remove(self, name: str) -> None:
        """Delete a part that no journal names any more."""
        try:
            await self.client.delete(PARTS, Key(self.namespace, name))
        except NotFound:
            return
