"""Errors: what is wrong in a fleet file, each with its path, its value and what was expected."""

import difflib
import re
from collections.abc import Iterable

from msgspec import Struct, field

_PLAIN = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SECRET = re.compile(r"secret|password|token|passphrase|private_key|cloud_init", re.IGNORECASE)
_LOOKS_SECRET = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE
)
_LOGIN = re.compile(r"(?://|:)[^\s/]*@")
"""What an address has that holds a login: `https://user:password@host`."""
_LONGEST = 60
HIDDEN = "(not shown)"


class Fault(Struct, frozen=True, kw_only=True):
    """One thing that is wrong: where, what stands there ("" for nothing), and what should."""

    path: str
    value: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the fault in a line or two."""
        found = f"{self.path} = {self.value}" if self.value else self.path
        cure = f"\n      {self.hint}" if self.hint else ""
        return f"{found}\n      expected {self.expected}{cure}"


class Faults(Struct, frozen=True):
    """The faults found so far; the only thing that decoding adds to."""

    found: list[Fault] = field(default_factory=list[Fault])

    def add(self, path: str, value: object, expected: str, hint: str = "") -> None:
        """Add a fault; the value of what could be a secret is left out."""
        displayed = "" if value is None else show(path, value)
        self.note(path, expected, value=displayed, hint=hint)

    def note(self, path: str, expected: str, *, value: str = "", hint: str = "") -> None:
        """Add a fault whose value is given as it may be shown."""
        self.found.append(Fault(path=path, value=value, expected=expected, hint=hint))


def show(path: str, value: object) -> str:
    """Return a value as it may be printed: in short, and never where it could be a secret."""
    key = path.rpartition(".")[2]
    if _SECRET.search(key):
        return HIDDEN
    text = _toml(value)
    secret = _LOOKS_SECRET.search(text) or _LOGIN.search(str(value))
    if secret and not key.startswith(("project", "image")):
        return HIDDEN
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(c if c.isprintable() else repr(c)[1:-1] for c in value[:200]) + '"'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    return str(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge number"


def join(path: str, key: str) -> str:
    """Return the path of a key in the table at a path; odd keys are quoted."""
    plain = key if _PLAIN.fullmatch(key) else _toml(key)
    return f"{path}.{plain}" if path else plain


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion where a word nearly is a known one, else an empty string."""
    near = difflib.get_close_matches(word[:_LONGEST], tuple(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""
