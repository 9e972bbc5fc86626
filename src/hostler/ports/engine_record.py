"""Engine record: which fleet file the engine of a store runs, for those who read beside it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct, field


class EngineRecord(Struct, frozen=True, kw_only=True):
    """What the newest engine of a store runs: a fleet file as it was read at a time.

    `tables` has a digest of each of its tables by path (`fleet.web`). `refused` says why the newest
    attempt to read the file again was refused, at `refused_at`; empty where the file was taken.
    `objects` are those of the tables that are objects of a cluster, beside those of the file; None
    where the file is alone. `home` is the namespace whose objects have their own names there.
    """

    file: str
    since: datetime
    tables: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: str = ""
    refused_at: datetime | None = None
    objects: tuple[str, ...] | None = None
    home: str = ""

    @property
    def of_file(self) -> Mapping[str, str]:
        """Return the digests of the file's own tables."""
        theirs = self.objects or ()
        return {path: digest for path, digest in self.tables.items() if path not in theirs}


@runtime_checkable
class KeepsEngineRecord(Protocol):
    """A store that others read while its engine runs."""

    async def engine_record(self) -> EngineRecord | None:
        """Return what the newest engine runs; None where none ever said so."""
        ...

    async def save_engine_record(self, record: EngineRecord) -> None:
        """Write what this process runs, unfenced: only one process is the store's engine."""
        ...


async def engine_record_of(store: object) -> EngineRecord | None:
    """Return what the newest engine of a store runs; None where that is not kept, or none ran."""
    return await store.engine_record() if isinstance(store, KeepsEngineRecord) else None
