"""Files that settings name: whether they can be read on this computer, and what they hold."""

import os
from pathlib import Path

LARGEST = 1_000_000
"""Bytes that a file of settings may hold."""


def unreadable(path: Path) -> str:
    """Return why a file cannot be read, in a few words; empty where it can."""
    try:
        if path.is_dir():
            return "it is a folder"
        if not path.exists():
            return "there is no such file"
    except OSError as error:
        return error.strerror or type(error).__name__
    return "" if os.access(path, os.R_OK) else "this user may not"


def read_text(path: Path) -> str:
    """Return the text of a file that is not large; OSError or ValueError where it is none."""
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
