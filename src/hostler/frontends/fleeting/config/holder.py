"""Holder: which plugin has a group's folder, and whether the host that launched it is still there.

A plugin whose host is gone ends within seconds, so that waiting for it is worth while; one whose
host lives stays.
"""

from contextlib import suppress
from pathlib import Path

from .state import write_private

_NAME = "holder"
_PROC = Path("/proc")


def write_holder(folder: Path, pid: int, host: int) -> None:
    """Write down that the plugin `pid` has the folder, launched by the process `host`."""
    with suppress(OSError):  # a later plugin then waits longer, and no more
        write_private(folder / _NAME, f"{pid} {host}\n")


def host_lives(folder: Path, proc: Path = _PROC) -> bool:
    """Tell whether the plugin that has a folder is known to be still under the host it began with.

    Where the system does not tell, it is not known.
    """
    try:
        pid, host = (folder / _NAME).read_text(encoding="ascii").split()
        fields = (proc / pid / "stat").read_bytes().rpartition(b")")[2].split()
    except (OSError, ValueError):
        return False
    return len(fields) > 1 and fields[1] == host.encode()
