"""Store URL: where records are kept, as a fleet file names it: a scheme, and a place."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from .errors import Faults, did_you_mean

KEY = "store"
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.ASCII | re.DOTALL)


class StoreUrl(Struct, frozen=True):
    """A store's scheme, and the place as that scheme understands it: a path, or nothing."""

    scheme: str
    place: str = ""

    def __str__(self) -> str:
        """Return the URL as a fleet file would have it."""
        slashes = "//" if self.place.startswith("/") else ""
        return f"{self.scheme}:{slashes}{self.place}"

    @property
    def path(self) -> Path:
        """The place as a path, for schemes whose places are files."""
        return Path(self.place)


class ReadsPlace(Protocol):
    """What reading a fleet file needs to know of one scheme."""

    def place(self, written: str, folder: Path) -> str:
        """Return the place that is written behind the scheme, seen from the fleet file's folder.

        Raises ValueError, saying what was expected, for what cannot be a place.
        """
        ...


Stores = Mapping[str, ReadsPlace]
"""The schemes that a store's URL may have, each with what reads its places."""


def store_url(text: str, folder: Path, stores: Stores, faults: Faults) -> StoreUrl | None:
    """Return the store that a text names; where it names none, a fault says what to write instead.

    Places of unknown schemes are not printed: they may hold a password.
    """
    match = _URL.fullmatch(text)
    if match is None:
        faults.add(KEY, text, f"a URL that begins with {_schemes(stores)}", _cure(text, stores))
        return None
    scheme, written = match[1].lower(), match[2]
    if scheme not in stores:
        faults.add(KEY, f"{scheme}:…", _known(stores), did_you_mean(scheme, stores))
        return None
    try:
        return StoreUrl(scheme, stores[scheme].place(written, folder))
    except ValueError as error:
        faults.add(KEY, text, str(error))
        return None


def _schemes(stores: Stores) -> str:
    return " or ".join(f"{scheme}:" for scheme in stores)


def _known(stores: Stores) -> str:
    return f"a store that this version has: {_schemes(stores)}"


def _cure(text: str, stores: Stores) -> str:
    """Return the line to write instead of a bare word or path."""
    if text in stores:
        return f'write {KEY} = "{text}:"'
    slashes = "//" if text.startswith("/") else ""
    return f'write {KEY} = "sqlite:{slashes}{text}"'
