"""Named files: what is in the files that an account's table names: passwords, keys, certificates.

They are read when an account is opened. One that was changed since is noticed when the fleet file
is read again, so that a password can be changed without a restart.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec

from .structure import fields_of, names_file
from .values import Config

_MOST = 1 << 20
"""Bytes of a file that are compared: no password, key or certificate has more."""


def digest_of_files(config: Config) -> str:
    """Return a digest of what all these files hold now; one that cannot be read holds nothing.

    It is for comparing within one process, and stands on no record.
    """
    whole = hashlib.sha256()
    for path in _paths(config):
        whole.update(hashlib.sha256(str(path).encode()).digest())
        whole.update(hashlib.sha256(_content(path)).digest())
    return whole.hexdigest()


def _paths(config: Config) -> Iterator[Path]:
    for account in config.accounts:
        for name in _named(account.settings):
            yield config.folder / Path(name).expanduser()


def _named(value: object) -> Iterator[str]:
    """Yield the files that a table names, and those of the tables in it."""
    if isinstance(value, tuple):
        for entry in cast("tuple[object, ...]", value):
            yield from _named(entry)
    if not isinstance(value, msgspec.Struct):
        return
    for field in fields_of(type(value)):
        inner = getattr(value, field.name)
        if names_file(field) and isinstance(inner, str):
            yield inner
        yield from _named(inner)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST)
    except (OSError, ValueError):
        return b""
