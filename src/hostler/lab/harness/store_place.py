"""The place of a store: what engines, and whoever stands beside them, can do to it as a whole."""

from pathlib import Path
from typing import Protocol

from hostler.domain.ids import MachineId
from hostler.ports.store import Store

from .process_run import ProcessRun


class StorePlace(Protocol):
    """Where one installation's store lies, and what somebody may do to it beside the engines.

    `put_back` and `remove_record` need that nobody has the store open.
    """

    def open(self, run: ProcessRun | None = None) -> Store:
        """Open the store as an engine does, in a run of it; make it where there is none."""
        ...

    def open_beside(self) -> Store:
        """Open it beside the engines, as the command line does."""
        ...

    def copy(self) -> None:
        """Make a backup of the store as it is, in place of an earlier one."""
        ...

    def twin(self, path: Path | None) -> "StorePlace":
        """Return the place of a copy of the store as it is, which goes on apart."""
        ...

    def put_back(self) -> None:
        """Put the backup in the place of the store."""
        ...

    def remove_record(self, machine: MachineId) -> None:
        """Remove a machine's record by force; that its id was issued stays known."""
        ...
