"""Held: whether an engine holds a store's file, found out without opening the store."""

import fcntl
import os
from pathlib import Path


def is_held(store: Path) -> bool:
    """Tell whether an engine holds the lock beside this store.

    The lock is tried shared, for an instant: commands do not hinder each other, and an engine that
    starts in that very instant is told that another one runs.
    """
    lock = store.resolve().with_name(f"{store.resolve().name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
