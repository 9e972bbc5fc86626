"""Cloud: the far side, as far as a folder can play one. It knows nothing of hostler.

A server is a folder `servers/ID` with the files `tags`, `state` and `address`; an address is a file
`addresses/ID` with its tags. A server that was started boots for three seconds.
"""

import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
BOOT = timedelta(seconds=3)


class CloudError(Exception):
    """The cloud did not answer as it should: nobody can say what it did."""


class Busy(CloudError):
    """The cloud did nothing; asked again a little later, it will."""


class NotThere(CloudError):
    """There is nothing of this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A server or an address, as the cloud tells of it. `uses` is the address of a server."""

    id: str
    tags: str
    state: str
    uses: str = ""


class Cloud:
    """One account, kept in a folder. Every method may raise CloudError."""

    page = 3

    def __init__(self, folder: Path, key: str, now: Callable[[], datetime]) -> None:
        self._servers, self._addresses = folder / "servers", folder / "addresses"
        self._key, self._now = key, now
        self._servers.mkdir(parents=True, exist_ok=True)
        self._addresses.mkdir(exist_ok=True)

    def change(self, item: str, act: Callable[[], T]) -> T:
        """Do what changes something; tests put weather here. `item` is an id, or empty."""
        del item
        return act()

    def create_address(self, tags: str) -> Item:
        """Return a new address."""

        def act() -> Item:
            name = f"ip-{secrets.token_hex(4)}"
            (self._addresses / name).write_text(tags)
            return self.address(name)

        return self.change("", act)

    def create_server(self, tags: str, address: str) -> Item:
        """Return a new server that is off, with this address."""

        def act() -> Item:
            folder = self._servers / f"srv-{secrets.token_hex(4)}"
            folder.mkdir()
            (folder / "tags").write_text(tags)
            (folder / "address").write_text(address)
            (folder / "state").write_text("off")
            return self.server(folder.name)

        return self.change("", act)

    def start(self, server: str) -> Item:
        """Switch a server on; one that is on stays so."""

        def act() -> Item:
            if self.server(server).state == "off":
                up = (self._now() + BOOT).isoformat()
                (self._servers / server / "state").write_text(f"booting {up}")
            return self.server(server)

        return self.change(server, act)

    def delete_server(self, server: str) -> None:
        """Remove a server; its address stays."""

        def act() -> None:
            self.server(server)
            shutil.rmtree(self._servers / server)

        self.change(server, act)

    def delete_address(self, address: str) -> None:
        """Remove an address."""

        def act() -> None:
            self.address(address)
            (self._addresses / address).unlink()

        self.change(address, act)

    def server(self, name: str) -> Item:
        """Return one server."""
        folder = self._servers / name
        if not folder.is_dir():
            raise NotThere(name)
        return Item(
            id=name,
            tags=(folder / "tags").read_text(),
            state=self._state((folder / "state").read_text()),
            uses=(folder / "address").read_text(),
        )

    def _state(self, text: str) -> str:
        word, _, until = text.partition(" ")
        if word != "booting":
            return text
        return "on" if self._now() >= datetime.fromisoformat(until) else "booting"

    def address(self, name: str) -> Item:
        """Return one address."""
        file = self._addresses / name
        if not file.is_file():
            raise NotThere(name)
        return Item(id=name, tags=file.read_text(), state="reserved")

    def servers(self, number: int) -> tuple[Item, ...]:
        """Return one page of the servers; the first page is 1, and the one after the last empty."""
        return tuple(self.server(name) for name in self._names(self._servers, number))

    def addresses(self, number: int) -> tuple[Item, ...]:
        """Return one page of the addresses."""
        return tuple(self.address(name) for name in self._names(self._addresses, number))

    def _names(self, folder: Path, number: int) -> Iterator[str]:
        names = sorted(entry.name for entry in folder.iterdir())
        yield from names[(number - 1) * self.page : number * self.page]
