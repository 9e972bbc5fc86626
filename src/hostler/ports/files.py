"""Files that settings name: whether they can be read on this computer, and what they hold."""

import os
import stat
from pathlib import Path

LARGEST = 1_000_000
"""Bytes that a file of settings may hold."""


FOLDER = "a folder"

_INHERITED = frozenset({Path("/dev/fd"), Path("/proc/self/fd")})
"""Where the files are that a process was given open."""


def other_than_file(path: Path) -> str:
    """Return what a path is that is no file, before it is opened; empty for a file. OSError: none.

    To open a named pipe waits for its writer, and no signal ends that. What was opened before us
    counts as a file: standard input, or what a shell puts there for `<(…)`.
    """
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or path == Path("/dev/stdin") or path.parent in _INHERITED:
        return ""
    if stat.S_ISDIR(mode):
        return FOLDER
    return "a named pipe" if stat.S_ISFIFO(mode) else "a device or a socket"


def unreadable(path: Path) -> str:
    """Return why a file cannot be read, in a few words; empty where it can."""
    try:
        if what := other_than_file(path):
            return f"it is {what}"
    except FileNotFoundError:
        return "there is no such file"
    except OSError as error:
        return error.strerror or type(error).__name__
    return "" if os.access(path, os.R_OK) else "this user may not"


def read_text(path: Path) -> str:
    """Return the text of a file that is not large; OSError or ValueError where it is none."""
    if (what := other_than_file(path)) and what != FOLDER:
        raise ValueError(f"it is {what}")
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    return content.decode()


def why_not_read(error: Exception) -> str:
    """Return why `read_text` failed, without the file's name."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
