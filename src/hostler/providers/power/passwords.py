"""Passwords: where a method's table says that one is, what it is, and how no text shows it."""

import html
import json
import re
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


def hidden_in(text: str, secret: Secret) -> str:
    """Return a text without a password, however it is written: plain, in a URL, in JSON or HTML.

    Devices send back what they were asked, and a page its address.
    """
    pattern = "".join(f"(?:{'|'.join(_spellings(one))})" for one in secret.reveal())
    return re.sub(pattern, "***", text) if pattern else text


def _spellings(one: str) -> Iterator[str]:
    """Yield the expressions for one character, the longer ones first."""
    yield "(?i:" + "".join(f"%{byte:02x}" for byte in one.encode(errors="replace")) + ")"
    units = one.encode("utf-16-be", errors="replace")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    yield "(?i:" + "".join(rf"\\u{pair}" for pair in pairs) + ")"
    yield f"(?i:&#(?:{ord(one)}|x0*{ord(one):x});)"
    yield from (re.escape(text) for text in (json.dumps(one)[1:-1], html.escape(one)))
    yield re.escape(f"\\{one}")
    yield re.escape(one)
    if one == " ":
        yield re.escape("+")
