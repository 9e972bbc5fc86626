"""Kinds: what the store's objects hold. One Journal orders all saves; its parts never change."""

from enum import StrEnum

import msgspec

from hostler.kubernetes.objects import Metadata, Owner
from hostler.kubernetes.resources import Resource

GROUP, VERSION = "hostler.dev", "v1alpha1"
LABEL = "hostler.dev/journal"
"""The label of every part: whose it is."""

FORMAT = 1
"""How journals are written; one with a larger number was written by a newer hostler."""


class Content(StrEnum):
    """What a part holds: the records of a checkpoint, their past, or saves since."""

    STATE = "state"
    PAST = "past"
    LOG = "log"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Changes of the save of one number, packed; a large save has several entries of its number."""

    sequence: int = 0
    data: str = msgspec.field(default="")


class PartEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part that a journal names.

    `first` and `last` are numbers of saves for a log, of events for a past; `size` is in bytes of
    packed text, `count` the number of events.
    """

    name: str
    content: Content
    first: int = 0
    last: int = 0
    size: int = 0
    count: int = 0


class JournalSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that was saved: parts of a checkpoint, parts of the log since, and its tail.

    `sequence` is the number of the newest save; `checkpoint` that of the newest one in the parts
    of the checkpoint. `machines` and `engines`, the holders of leases, are for people.
    """

    installation: str
    format: int = FORMAT
    sequence: int = 0
    checkpoint: int = 0
    machines: int = 0
    engines: tuple[str, ...] = ()
    parts: tuple[PartEntry, ...] = ()
    tail: tuple[Entry, ...] = ()


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The object whose versions order all saves."""

    metadata: Metadata
    spec: JournalSpec


class PartSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a part holds."""

    content: Content
    entries: tuple[Entry, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part: written once, never changed, deleted when no journal names it."""

    metadata: Metadata
    spec: PartSpec


class PartName(msgspec.Struct, frozen=True, kw_only=True):
    """A part, or a journal, of which only the metadata are read."""

    metadata: Metadata


JOURNALS = Resource(group=GROUP, version=VERSION, plural="journals", kind="Journal", model=Journal)
JOURNAL_NAMES = Resource(
    group=GROUP, version=VERSION, plural="journals", kind="Journal", model=PartName
)
PARTS = Resource(
    group=GROUP, version=VERSION, plural="journalparts", kind="JournalPart", model=Part
)
PART_NAMES = Resource(
    group=GROUP, version=VERSION, plural="journalparts", kind="JournalPart", model=PartName
)


def owner(journal: Journal) -> Owner:
    """Return the reference by which parts end with their journal."""
    return Owner(
        api_version=JOURNALS.api_version,
        kind=JOURNALS.kind,
        name=journal.metadata.name,
        uid=journal.metadata.uid,
        controller=True,
    )
