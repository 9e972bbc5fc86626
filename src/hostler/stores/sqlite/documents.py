"""Records as JSON documents: written and read by msgspec, and proved to read back as they are."""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Generic, TypeVar

import msgspec

from hostler.domain.errors import StoreError
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord

Connection = sqlite3.Connection
Value = str | int | None
Columns = Mapping[str, Value]

NOTHING: Columns = MappingProxyType({})
"""The columns of a query that has no parameters."""

RecordT = TypeVar(
    "RecordT", bound=FleetRow | Machine | Host | Orphan | Request | Event | EngineRecord
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
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

    def read(self, document: str) -> RecordT:
        """Return the record of a document; msgspec's errors mean that the store is damaged."""
        return self._decode(document)

    def read_all(self, rows: sqlite3.Cursor) -> tuple[RecordT, ...]:
        """Return the records of rows whose only column is the document."""
        decode = self._decode
        return tuple([decode(row[0]) for row in rows])


FLEET = Sheet(FleetRow)
MACHINE = Sheet(Machine)
HOST = Sheet(Host)
ORPHAN = Sheet(Orphan)
REQUEST = Sheet(Request)
EVENT = Sheet(Event)
ENGINE = Sheet(EngineRecord)


def microseconds(at: datetime) -> int:
    """Return a time as microseconds since 1970, exactly: columns compare it as a number."""
    return (at - _EPOCH) // _MICROSECOND


def moment(since: int) -> datetime:
    """Return the time, in UTC, of a number that `microseconds` returned."""
    return _EPOCH + since * _MICROSECOND
