"""The stores of simulated installations: in memory, or in a file of their own."""

from collections.abc import Callable
from pathlib import Path

from hostler.domain.ids import InstallationId
from hostler.ports.store import Store
from hostler.stores.memory import MemoryStore
from hostler.stores.sqlite.opening import open_engine, open_shared
from hostler.stores.sqlite.worker import Inline


def opener(own: InstallationId, path: Path | None, *, exclusive: bool) -> Callable[[], Store]:
    """Return what opens an installation's store; without a path it is in memory."""
    if path is None:
        memory = MemoryStore(own, exclusive=exclusive)
        return lambda: memory
    if exclusive:
        return lambda: open_engine(path, own, runner=Inline)
    return lambda: open_shared(path, own)
