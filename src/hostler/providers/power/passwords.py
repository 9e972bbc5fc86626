"""Passwords: where a method's table says that one is, whether it is there, and what it is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from hostler.domain.errors import ConfigError
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack
from hostler.ports.power import PowerOpening
from hostler.ports.secret import Secret, read_secret


class NamesPassword(Protocol):
    """A table that names the environment variable, or the file, which holds a password."""

    @property
    def password_env(self) -> str | None:
        """The variable."""
        ...

    @property
    def password_file(self) -> str | None:
        """The file, seen from the fleet file."""
        ...


def lacking(table: NamesPassword, folder: Path, environment: Mapping[str, str]) -> Iterator[Lack]:
    """Yield that the password is not here, if it is not."""
    file = table.password_file
    if file is not None and (why := unreadable(folder / file)):
        yield Lack(key="password_file", text=f"{folder / file} cannot be read: {why}")
    if table.password_env is not None and not environment.get(table.password_env):
        text = f"{table.password_env} is not set in this environment"
        yield Lack(key="password_env", text=text, environment=True)


def password_of(table: NamesPassword, opening: PowerOpening) -> Secret:
    """Return the password, empty where none is named; ConfigError where it is not there."""
    file = opening.folder / table.password_file if table.password_file else None
    try:
        return read_secret(table.password_env, file, opening.environment)
    except ValueError as error:
        raise ConfigError(f"password: {error}") from None
