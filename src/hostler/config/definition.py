"""Definition: a fleet's table as text that a store keeps, for when the file has it no longer."""

import json
from datetime import date, time

from hostler.domain.ids import AccountName

from .decode import Raw, is_table, table

PROVIDER = "provider"


def definition_of(raw: Raw, account: AccountName) -> str:
    """Return the table as JSON, with its provider by name: the file may get others."""
    named = {**raw, PROVIDER: str(account)}
    return json.dumps(named, sort_keys=True, ensure_ascii=False, default=_as_text)


def table_of(definition: str) -> Raw:
    """Return the table of a definition; ValueError where it is none."""
    raw: object = json.loads(definition)
    if not is_table(raw):
        raise ValueError("no table")
    return table(raw)


def _as_text(value: object) -> str:
    """Return a date or time, which only TOML has, as it would be written there."""
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} is no value of a fleet file")
