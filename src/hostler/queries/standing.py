"""Standing: how a fleet file stands to its store and engine; what every reading command says."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.digests import differing, digests_of_file
from hostler.config.values import Config
from hostler.ports.engine_record import EngineRecord, engine_record_of
from hostler.ports.store import Store

from .removed import removed_fleets


class Standing(Struct, frozen=True, kw_only=True):
    """Whether there is a store, whether an engine runs, and in what its file is another than ours.

    `differs` has the paths of tables (`fleet.web`); it is empty where no engine runs, for the next
    one will run the file as it is. `removed` has a sentence for each fleet that only the store
    knows any more. `file` is the file that the engine runs, where it is another. `unread` says
    which objects of a cluster it runs that cannot be read here.
    """

    store: str
    exists: bool
    runs: bool
    differs: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    file: str = ""
    refused: str = ""
    unread: str = ""

    @property
    def document(self) -> dict[str, object]:
        """How the file stands, as the JSON object beside each result."""
        return {
            "store": self.exists,
            "engine": self.runs,
            "differs": self.differs,
            "notices": self.notices,
        }

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person must know who reads a result, in sentences."""
        if not self.exists:
            missing = f"there is no store yet ({self.store}): nothing is known of any machine"
            return (missing,)
        unread = (self.unread,) if self.unread else ()
        if self.file:
            return (f"the engine of this store runs another file: {self.file}", *unread)
        if not self.differs:
            return (*unread, *self.removed)
        tables = ", ".join(self.differs)
        why = f"; it was refused: {self.refused}" if self.refused else ""
        differ = (
            f"the file is not what the engine runs (changed: {tables}): what is said here is by "
            f"the file; hostler reload makes the engine run it{why}"
        )
        return (differ, *unread, *self.removed)


async def standing(
    config: Config, store: Store, now: datetime, *, exists: bool, runs: bool
) -> Standing:
    """Return how a file stands to the store that it names."""
    removed = await removed_fleets(store, config, now) if exists else ()
    sentences = tuple(one.sentence(config.unreadable, now) for one in removed)
    found = Standing(
        store=str(config.store), exists=exists, runs=runs, removed=sentences, unread=config.unread
    )
    record = await engine_record_of(store) if exists and runs else None
    return found if record is None else _compared(found, config, record)


def _compared(found: Standing, config: Config, record: EngineRecord) -> Standing:
    changed = differing(record.of_file, digests_of_file(config))
    if config.objects is not None:  # an address may be written otherwise than the engine has it
        changed = tuple(path for path in changed if path != "store")
    elsewhere = Path(record.file) != config.path.resolve()
    return replace(
        found,
        differs=changed,
        file=record.file if changed and elsewhere else "",
        refused=record.refused,
    )
