"""Place: the private folder and Unix socket of a plugin, and the folders that killed ones left."""

import grp
import os
import secrets
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from .launch import Launch

PREFIX = "hostler-plugin-"

_LONGEST = 100
"""Bytes that the path of a socket may have; Linux ends at 107."""

_BACKLOG = 128


class Place(Struct, frozen=True):
    """A socket that is bound and listening, and the folder (0700) for what nobody else may see."""

    socket: socket.socket
    path: Path
    folder: Path

    def remove(self) -> None:
        """Take the socket and the folder away; what is gone already is no fault."""
        self.socket.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def listening(launch: Launch) -> Place:
    """Make the folder and the socket, and listen: connections queue until they are accepted.

    A host that names a folder finds the socket right in it: it may see that folder under another
    path, and looks for the base name there (go-plugin, runner.PluginToHost).
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent()))
    path = (launch.socket_folder or folder) / f"plugin{secrets.token_hex(6)}"
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    place = Place(bound, path, folder)
    try:
        bound.bind(str(path))
        _permit(place, launch.socket_group)
        bound.listen(_BACKLOG)
        bound.setblocking(False)
    except BaseException:
        place.remove()
        raise
    return place


def parent() -> Path:
    """Return where temporary folders go, unless its path is too long for a socket in it."""
    usual = tempfile.gettempdir()
    longest = len(os.fsencode(usual)) + len(f"/{PREFIX}12345678/plugin123456789012")
    return Path("/tmp" if longest > _LONGEST else usual)  # noqa: S108 - mkdtemp makes it 0700


def _permit(place: Place, group: str) -> None:
    """Let the group of the host's choice in, where it names one, and nobody else."""
    if not group:
        place.path.chmod(0o600)
        return
    number = int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    os.chown(place.path, -1, number)
    place.path.chmod(0o660)
    if place.path.parent == place.folder:
        os.chown(place.folder, -1, number)
        place.folder.chmod(0o710)


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
    stats = folder.lstat()
    ours = stat.S_ISDIR(stats.st_mode) and stats.st_uid == os.geteuid()
    if not ours or now.timestamp() - stats.st_mtime < _AGE.total_seconds():
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
