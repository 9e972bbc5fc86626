"""The SQL of this package: statements from its .sql files, queries by their names."""

import re
import sqlite3
from collections.abc import Iterator, Mapping
from importlib import resources
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def text(name: str) -> str:
    """Return one .sql file of this package."""
    return resources.files("hostler.stores.sqlite").joinpath(name).read_text(encoding="utf-8")


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one, so that they can share a transaction."""
    gathered = ""
    for line in script.splitlines(keepends=True):
        gathered += line
        if sqlite3.complete_statement(gathered):
            yield gathered.strip()
            gathered = ""


def named(script: str) -> Mapping[str, str]:
    """Return the queries of a script by their names."""
    _, *resources = _NAME.split(script)
    return MappingProxyType(
        {
            name: query.strip().removesuffix(";")
            for name, query in zip(resources[::2], resources[1::2], strict=True)
        }
    )


SQL = named(text("queries.sql"))
"""Every query of this store by its name."""
