"""Columns beside documents in SQL: times as numbers, and rows that are one document each."""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from hostler.stores.records.documents import RecordT, Sheet

Connection = sqlite3.Connection
Value = str | int | None
Columns = Mapping[str, Value]

NOTHING: Columns = MappingProxyType({})
"""The columns of a query that has no parameters."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def read_all(sheet: Sheet[RecordT], rows: sqlite3.Cursor) -> tuple[RecordT, ...]:
    """Return the records of rows whose only column is the document."""
    read = sheet.read
    return tuple([read(row[0]) for row in rows])


def microseconds(at: datetime) -> int:
    """Return a time as microseconds since 1970, exactly: columns compare it as a number."""
    return (at - _EPOCH) // _MICROSECOND


def moment(since: int) -> datetime:
    """Return the time, in UTC, of a number that `microseconds` returned."""
    return _EPOCH + since * _MICROSECOND
