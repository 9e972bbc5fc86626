"""Stores: the kinds of store by the scheme of their URL; a new kind is one more entry in STORES."""

import asyncio
import os
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from hostler.config.store_url import StoreUrl
from hostler.domain.errors import ConfigError, HostlerError, RequestRefused, StoreMissing
from hostler.domain.ids import InstallationId
from hostler.frontends.cli.context import Purpose
from hostler.ports.store import Store

if TYPE_CHECKING:
    from hostler.stores.kubernetes.kinds import JournalSpec
    from hostler.stores.kubernetes.opening import ClusterPlace, Surroundings


class StoreKind(Protocol):
    """One scheme: how its places are read and its stores opened; adapters are imported in use."""

    def place(self, written: str, folder: Path) -> str:
        """Return the place that is written behind the scheme; ValueError says what was expected."""
        ...

    def open(self, url: StoreUrl, purpose: Purpose) -> Store:
        """Open the store for a purpose; StoreError or ConfigError say why it cannot be."""
        ...

    def exists(self, url: StoreUrl) -> bool:
        """Tell whether there is a store yet."""
        ...

    def is_held(self, url: StoreUrl) -> bool:
        """Tell whether an engine holds the store now, without disturbing it."""
        ...

    def problem(self, url: StoreUrl) -> str:
        """Return why an engine could make or write no store there; empty where it could."""
        ...

    def holder(self, url: StoreUrl) -> int | None:
        """Return the process id of the engine that holds the store now; None where none does."""
        ...

    def back_up(self, url: StoreUrl, to: Path | None, now: datetime) -> Path:
        """Copy the store beside its engine to a new file, or to one that is named by `now`.

        Returns the file. StoreError says why not; RequestRefused, what does it for this kind.
        """
        ...


class SqliteStores:
    """`sqlite:FILE`, seen from the fleet file's folder, and `sqlite:///FOLDER/FILE`."""

    def place(self, written: str, folder: Path) -> str:
        """Return the path of the file."""
        path = written.removeprefix("//")
        if path in {"", "/"} or (path != written and not path.startswith("/")) or "\0" in path:
            raise ValueError('"sqlite:FILE" or "sqlite:///FOLDER/FILE"')
        return str(folder / path)

    def open(self, url: StoreUrl, purpose: Purpose) -> Store:
        """Open the file; what is only read may be missing, and is not made."""
        from hostler.stores.sqlite.opening import open_beside, open_engine, open_reading

        match purpose:
            case Purpose.ENGINE:
                return open_engine(url.path, fresh_installation())
            case Purpose.REQUEST:
                return open_beside(url.path)
            case Purpose.READ | Purpose.CHECK:
                try:
                    return open_reading(url.path)
                except StoreMissing:
                    return empty_store()

    def exists(self, url: StoreUrl) -> bool:
        """Tell whether a file is there that is more than an empty one."""
        from hostler.stores.sqlite.opening import is_made

        return is_made(url.path)

    def is_held(self, url: StoreUrl) -> bool:
        """Try the lock that an engine holds beside the file."""
        from hostler.stores.sqlite.file import is_held

        return is_held(url.path)

    def problem(self, url: StoreUrl) -> str:
        """Look at the file and its folder."""
        path, folder = url.path, url.path.parent
        if path.is_dir():
            return f"{path} is a folder; name a file in it, such as {path / 'hostler.db'}"
        if not folder.is_dir():
            return f"{folder} is no folder; make it, or name another place"
        if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
            return f"{path} and its folder must be writable by the user that hostler runs as"
        return ""

    def holder(self, url: StoreUrl) -> int | None:
        """Read who holds the lock beside the file."""
        from hostler.stores.sqlite.file import holder

        return holder(url.path)

    def back_up(self, url: StoreUrl, to: Path | None, now: datetime) -> Path:
        """Have SQLite copy it."""
        from hostler.stores.sqlite.backup import back_up

        return back_up(url.path, to, now)


class MemoryStores:
    """`memory:`, which keeps nothing and is known to its engine alone."""

    def place(self, written: str, folder: Path) -> str:
        """Return nothing: there is no place to name."""
        del folder
        if written:
            raise ValueError('"memory:" with nothing behind it')
        return ""

    def open(self, url: StoreUrl, purpose: Purpose) -> Store:
        """Return an empty store to an engine, and to a check; others would need records."""
        from hostler.stores.memory import MemoryStore

        match purpose:
            case Purpose.ENGINE:
                return MemoryStore(InstallationId(fresh_installation()))
            case Purpose.CHECK:
                return empty_store()
            case Purpose.READ | Purpose.REQUEST:
                raise ConfigError(
                    f'store = "{url}" is known only to the engine itself: write store = '
                    '"sqlite:FILE"'
                )

    def exists(self, url: StoreUrl) -> bool:
        """There is nothing to be found."""
        del url
        return False

    def is_held(self, url: StoreUrl) -> bool:
        """Nobody else can hold it."""
        del url
        return False

    def problem(self, url: StoreUrl) -> str:
        """Nothing is written."""
        del url
        return ""

    def holder(self, url: StoreUrl) -> int | None:
        """Nobody can be found."""
        del url
        return None

    def back_up(self, url: StoreUrl, to: Path | None, now: datetime) -> Path:
        """There is nothing that could be copied."""
        del to, now
        raise RequestRefused(f'store = "{url}" keeps nothing: there is nothing to copy')


class KubernetesStores:
    """`kubernetes:NAMESPACE/NAME?context=…&kubeconfig=…`, of which every piece may be left out."""

    def place(self, written: str, folder: Path) -> str:
        """Return the place, with the kubeconfig's path seen from the fleet file's folder."""
        from hostler.stores.kubernetes.opening import ClusterPlace

        place = ClusterPlace.read(written)
        if place.kubeconfig:
            place = replace(place, kubeconfig=str(folder / place.kubeconfig))
        return str(place)

    def open(self, url: StoreUrl, purpose: Purpose) -> Store:
        """Open the journal; only an engine makes one."""
        from hostler.stores.kubernetes.opening import open_store

        fresh = None if purpose is Purpose.REQUEST else fresh_installation()
        place, around = self._place(url)
        reading = purpose in {Purpose.READ, Purpose.CHECK}
        return open_store(place, around, fresh, reading=reading)

    def exists(self, url: StoreUrl) -> bool:
        """Read the journal; where that fails, whoever opens it learns why."""
        try:
            return self._journal(url) is not None
        except HostlerError:
            return True

    def is_held(self, url: StoreUrl) -> bool:
        """Tell whether an engine has a lease in it; one that died has it until another comes."""
        try:
            journal = self._journal(url)
        except HostlerError:
            return False
        return journal is not None and bool(journal.engines)

    def problem(self, url: StoreUrl) -> str:
        """Read the journal, and say what hindered that."""
        try:
            self._journal(url)
        except HostlerError as error:
            return str(error)
        return ""

    def holder(self, url: StoreUrl) -> int | None:
        """No process of a cluster can be found from here."""
        del url
        return None

    def back_up(self, url: StoreUrl, to: Path | None, now: datetime) -> Path:
        """Its records are objects, which are backed up with the others of their cluster."""
        del to, now
        raise RequestRefused(
            f"the records of {url} are objects of its cluster: they are backed up with it (etcd, "
            "or what copies the objects of a namespace)"
        )

    def _place(self, url: StoreUrl) -> tuple["ClusterPlace", "Surroundings"]:
        from hostler.stores.kubernetes.opening import ClusterPlace, Surroundings

        from .clock import SystemClock

        return ClusterPlace.read(url.place), Surroundings(os.environ, SystemClock())

    def _journal(self, url: StoreUrl) -> "JournalSpec | None":
        """Read the journal in a thread with a loop of its own: whoever asks may be in one."""
        from concurrent.futures import ThreadPoolExecutor

        from hostler.stores.kubernetes.opening import journal_at

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(asyncio.run, journal_at(*self._place(url))).result()


STORES: Mapping[str, StoreKind] = {
    "sqlite": SqliteStores(),
    "memory": MemoryStores(),
    "kubernetes": KubernetesStores(),
}
"""Every scheme that a fleet file may name."""


def empty_store() -> Store:
    """Return a store without records, that is not kept: for those who read before there is one."""
    from hostler.stores.memory import MemoryStore

    return MemoryStore(InstallationId(fresh_installation()), exclusive=False)


def fresh_installation() -> str:
    """Return a new installation's id: random, and fit for a tag."""
    return f"h{secrets.token_hex(6)}"
