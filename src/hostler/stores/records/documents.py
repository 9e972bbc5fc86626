"""Records as JSON documents: written and read by msgspec, and proved to read back as they are."""

from typing import Generic, TypeVar

import msgspec

from hostler.domain.errors import StoreError
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord

RecordT = TypeVar(
    "RecordT", bound=FleetRow | Machine | Host | Orphan | Request | Event | EngineRecord
)

_encode = msgspec.json.Encoder().encode


class Sheet(Generic[RecordT]):
    """How one type of record is written and read."""

    def __init__(self, kind: type[RecordT]) -> None:
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def write(self, record: RecordT) -> str:
        """Return the document; raise StoreError when it would not read back as this very record.

        That refuses NaN, lone surrogates and their like before they can spoil a whole fleet.
        """
        try:
            written = _encode(record)
            same = self._decode(written) == record
        except (msgspec.MsgspecError, UnicodeEncodeError) as error:
            raise StoreError(f"a {self._kind.__name__} cannot be stored: {error}") from error
        if not same:
            raise StoreError(f"a {self._kind.__name__} cannot be stored: it would not read back")
        return written.decode()

    def storable(self, record: RecordT) -> RecordT:
        """Return the record itself where `write` would not refuse it."""
        self.write(record)
        return record

    def read(self, document: str) -> RecordT:
        """Return the record of a document; msgspec's errors mean that the store is damaged."""
        return self._decode(document)


FLEET = Sheet(FleetRow)
MACHINE = Sheet(Machine)
HOST = Sheet(Host)
ORPHAN = Sheet(Orphan)
REQUEST = Sheet(Request)
EVENT = Sheet(Event)
ENGINE = Sheet(EngineRecord)
