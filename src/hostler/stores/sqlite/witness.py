"""Witness: notices that the store's file is no longer the one that was opened."""

import os
from pathlib import Path

from .file import lost


class Witness:
    """Remembers which file lies under a path.

    A process that has a deleted file open can write to it for ever, and all of it is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = {file: _identity(file) for file in (str(path), f"{path}-wal")}

    def check(self) -> None:
        """Raise StoreLost when the file, or the log beside it, was deleted or replaced."""
        for file, identity in self._files.items():
            if _identity(file) != identity:
                raise lost(self._path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        stat = os.stat(path)  # noqa: PTH116 - called for every batch; Path.stat costs twice as much
    except FileNotFoundError:
        return None
    return (stat.st_dev, stat.st_ino)
