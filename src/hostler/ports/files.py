"""Files: whether a file that settings name can be read on this computer."""

import os
from pathlib import Path


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
