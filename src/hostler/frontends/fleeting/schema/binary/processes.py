"""Processes: our ancestors, as far as the system tells of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Process(Struct, frozen=True, kw_only=True):
    """One ancestor: its number, its name, its command line, and where its executable is opened."""

    pid: int
    name: str
    command: tuple[str, ...]
    executable: Path


class Processes(Protocol):
    """Tells of the processes above this one."""

    def ancestors(self) -> Sequence[Process]:
        """Return the parent and up, at most eight; nothing where the system does not tell."""
        ...


_MOST = 8


class ProcFolder(Struct, frozen=True):
    """Reads Linux's /proc: `pid` is this process, `root` the folder."""

    pid: int
    root: Path = Path("/proc")

    def ancestors(self) -> Sequence[Process]:
        """Return the parent and up: `/proc/<pid>/exe` is the running image, even when deleted."""
        found, pid = list[Process](), self._parent(self.pid)
        while pid and len(found) < _MOST and all(one.pid != pid for one in found):
            found.append(self._process(pid))
            pid = self._parent(pid)
        return found

    def _process(self, pid: int) -> Process:
        command = self._read(pid, "cmdline").split(b"\0")
        return Process(
            pid=pid,
            name=self._read(pid, "comm").decode(errors="replace").strip(),
            command=tuple(part.decode(errors="surrogateescape") for part in command if part),
            executable=self.root / str(pid) / "exe",
        )

    def _parent(self, pid: int) -> int:
        """Return the number of a process's parent, or 0: it stands behind the name's bracket."""
        fields = self._read(pid, "stat").rpartition(b")")[2].split()
        return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0

    def _read(self, pid: int, name: str) -> bytes:
        try:
            with (self.root / str(pid) / name).open("rb") as file:
                return file.read(65_536)
        except OSError:
            return b""
