"""Store: a copy of the records, taken beside the engine."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from msgspec import Struct

from hostler.frontends.cli.console.exits import Exit
from hostler.frontends.cli.console.format import clean
from hostler.frontends.cli.console.guard import Guard
from hostler.frontends.cli.console.options import File, Json
from hostler.frontends.cli.console.screen import Screen
from hostler.frontends.cli.context import Services

_BACK = "to put it back: stop the engine, remove {0}-wal and {0}-shm, copy it to {0}, start again"


class StoreCommands(Struct, frozen=True):
    """The commands about the store itself."""

    services: Services
    guard: Guard

    def backup(
        self,
        file: File,
        to: Annotated[
            Path | None,
            Parameter(
                help="a file that is not there yet, or a folder; default: beside the store, "
                "named by the time"
            ),
        ] = None,
        /,
        *,
        json: Json = False,
    ) -> int:
        """Copy the store to a file, whole, beside a running engine or without one."""
        return self.guard(json, lambda screen: self._backup(file, to, screen))

    async def _backup(self, file: Path, to: Path | None, screen: Screen) -> int:
        config = self.services.load(file, partial=True)
        with screen.waiting("copying the store"):
            copy = self.services.back_up(config, to)
        size = copy.stat().st_size
        text = f"{copy} ({size / 1e6:.1f} MB) is a whole copy of {config.store}"
        screen.show(clean(text), {"file": str(copy), "bytes": size, "store": str(config.store)})
        screen.note(_BACK.format(config.store.path))
        return Exit.OK
