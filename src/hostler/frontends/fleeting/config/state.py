"""State: the folder in which a group keeps its records, its key and its fleet file."""

import os
from collections.abc import Mapping
from contextlib import suppress
from errno import EACCES, ENOTDIR
from pathlib import Path
from tempfile import mkstemp

PRIVATE = 0o700
STORE = "hostler.db"
FLEET_FILE = "group.toml"
USER_DATA = "user-data"
VARIABLE = "HOSTLER_STATE_DIR"


def base_of(folder: str | None, environment: Mapping[str, str], *, root: bool) -> Path | None:
    """Return where groups are kept: as given, as the environment says, or the system's place.

    None where this user has no place of that kind.
    """
    named = folder or environment.get(VARIABLE, "")
    if named:
        return Path(named)
    if root:
        return Path("/var/lib/hostler")
    if own := environment.get("XDG_STATE_HOME", ""):
        return Path(own) / "hostler"
    home = environment.get("HOME", "")
    return Path(home) / ".local" / "state" / "hostler" if home else None


def folder_of(base: Path, name: str) -> Path:
    """Return the folder of one group."""
    return base / "fleeting" / name


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter, and try it; OSError where it cannot be used."""
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(PRIVATE)
    descriptor, name = mkstemp(prefix=".try-", dir=folder)
    os.close(descriptor)
    Path(name).unlink()


def try_private(folder: Path) -> None:
    """Tell whether a folder could be made and used, making nothing; OSError where it could not."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise NotADirectoryError(ENOTDIR, "Not a directory", str(nearest))
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, "Permission denied", str(nearest))


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read: whole, or not at all."""
    descriptor, name = mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
