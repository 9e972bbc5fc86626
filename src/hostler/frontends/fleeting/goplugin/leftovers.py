"""Leftovers: the folders of plugins that were killed, which nobody else takes away."""

import os
import socket
import stat
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from .place import PREFIX, parent

_AGE = timedelta(hours=1)
"""Younger ones may belong to a plugin that is about to listen."""


def sweep(now: datetime) -> tuple[Path, ...]:
    """Remove the folders that are ours, old, and hold no socket at which anybody listens."""
    swept = list[Path]()
    for folder in parent().glob(f"{PREFIX}*"):
        with suppress(OSError):  # another one sweeps too, or it is not ours after all
            if _is_left(folder, now):
                for entry in folder.iterdir():
                    entry.unlink()
                folder.rmdir()
                swept.append(folder)
    return tuple(swept)


def _is_left(folder: Path, now: datetime) -> bool:
    told = folder.lstat()
    ours = stat.S_ISDIR(told.st_mode) and told.st_uid == os.geteuid()
    if not ours or now.timestamp() - told.st_mtime < _AGE.total_seconds():
        return False
    return all(_is_deaf(entry) for entry in folder.iterdir())


def _is_deaf(path: Path) -> bool:
    """Tell whether this is a socket of which the listener is gone."""
    if not stat.S_ISSOCK(path.lstat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            return True
    return False
