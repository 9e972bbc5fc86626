"""Replica: the records in memory as of one version of the journal, brought forward by reading."""

from collections.abc import Iterable

from hostler.domain.errors import StoreDamaged, StoreLost, StoreTooNew
from hostler.domain.ids import InstallationId
from hostler.ports.store import Identity
from hostler.stores.records.rules import Rules
from hostler.stores.records.tables import Tables

from .kinds import FORMAT, Content, Entry, Journal
from .objects import Objects
from .packing import unpack


class Replica:
    """Records and rules, as of `head`; None as long as nothing was read."""

    def __init__(self, objects: Objects, installation: str = "") -> None:
        self._objects = objects
        self.head: Journal | None = None
        self.rules = Rules(Tables(Identity(own=InstallationId(installation))))
        self.foreign = 0
        """How often saves of others were found."""

    @property
    def tables(self) -> Tables:
        """The records."""
        return self.rules.tables

    async def follow(self, head: Journal) -> bool:
        """Bring the records to a version of the journal; False where it is not the newest any more.

        Nothing is changed before everything is read. Raises StoreLost, StoreTooNew, StoreDamaged.
        """
        before = self._checked(head)
        if before is not None and before.metadata == head.metadata:
            return True
        anew = before is None or head.spec.checkpoint > before.spec.sequence
        begin = 0 if before is None or anew else before.spec.sequence
        entries = await self._entries(head, begin, anew=anew)
        if entries is None:
            return False
        rules = _empty(head) if anew else self.rules
        _apply(rules.tables, entries)
        self.rules = rules
        self.foreign += bool(entries) or anew
        self.head = head
        return True

    def _checked(self, head: Journal) -> Journal | None:
        """Return the version before; raise where this one cannot follow it."""
        if head.spec.format > FORMAT:
            raise StoreTooNew(f"{self._objects} was written by a newer hostler; use that one")
        before = self.head
        if before is None:
            return None
        if before.metadata.uid != head.metadata.uid or head.spec.sequence < before.spec.sequence:
            raise StoreLost(
                f"{self._objects} was deleted or replaced while hostler had it open; nothing more "
                "is written. Start hostler again once it is as it should be"
            )
        return before

    async def _entries(self, head: Journal, after: int, *, anew: bool) -> list[Entry] | None:
        """Return what is to be applied, in order; None where a part is deleted by now."""
        found = list[Entry]()
        for named in head.spec.parts:
            if named.content is Content.LOG:
                if named.last <= after:
                    continue
            elif not anew:
                continue
            part = await self._objects.part(named.name)
            if part is None:
                return await self._vanished(head, named.name)
            log = named.content is Content.LOG
            found += [e for e in part.entries if not log or e.sequence > after]
        return [*found, *(entry for entry in head.spec.tail if entry.sequence > after)]

    async def _vanished(self, head: Journal, name: str) -> None:
        """Raise StoreDamaged where the newest journal lacks a part too."""
        newest = await self._objects.journal()
        if newest is not None and newest.metadata == head.metadata:
            raise StoreDamaged(
                f"{self._objects} lacks its part {name}: put it back from a backup of the cluster"
            )


def _apply(tables: Tables, entries: Iterable[Entry]) -> None:
    """Make the changes of entries, once all of them were read."""
    for change in [change for entry in entries for change in unpack(entry.data)]:
        tables.apply(change)


def _empty(head: Journal) -> Rules:
    return Rules(Tables(Identity(own=InstallationId(head.spec.installation))))
