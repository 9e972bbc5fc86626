"""GoHosts: the Go programs of a module of the tests, built once for each state of its sources."""

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from threading import Event

from msgspec import Struct

BUILDING = 300.0
"""Seconds that a build may take; the first one compiles gRPC, about 40 s of processor time."""
_OLDEST = (1, 25)
_VERSION = re.compile(r"go version go(\d+)\.(\d+)")
_LOOK = 0.1
_SHOWN = 3000
_SOURCES = ("*.go", "go.mod", "go.sum")


class Build(StrEnum):
    """How a program is built. Runners are released stripped; some systems want PIE."""

    PLAIN = "plain"
    STRIPPED = "stripped"
    PIE = "pie"


FLAGS: Mapping[Build, tuple[str, ...]] = {
    Build.PLAIN: (
        "-trimpath",
        "-buildvcs=false",
    ),
    Build.STRIPPED: ("-trimpath", "-buildvcs=false", "-ldflags=-s -w"),
    Build.PIE: ("-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-buildmode=pie"),
}


class NoGo(Exception):
    """No Go that is new enough was found, or it did not build; the text says what to do."""


def go_program(oldest: tuple[int, int] = _OLDEST) -> Path:
    """Return the go of the PATH, else the one that `make setup` put into .venv from PyPI."""
    packaged = Path(sysconfig.get_path("purelib")) / "go" / "bin" / "go"
    found = shutil.which("go")
    for candidate in (Path(found) if found else packaged, packaged):
        if candidate.exists() and _version(candidate) >= oldest:
            return candidate
    wanted = ".".join(str(number) for number in oldest)
    raise NoGo(f"no go of {wanted} or later on the PATH; `make setup` puts one into .venv")


def _version(go: Path) -> tuple[int, int]:
    version = subprocess.run([go, "version"], capture_output=True, text=True, check=False)  # noqa: S603 - the go that was found
    match = _VERSION.match(version.stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


class Building(Struct, frozen=True, kw_only=True):
    """Who watches a build: `progress` gets the number of packages so far; `ended` breaks it off."""

    progress: Callable[[int], None]
    ended: Event


def _ignore(packages: int) -> None:
    del packages


UNWATCHED = Building(progress=_ignore, ended=Event())


class GoHosts(Struct, frozen=True):
    """The programs in `sources`/cmd, built into `cache` when they are first asked for.

    `flags` come after those of the build, and win; `limit` is in seconds. `packages` is what
    STRIPPED builds: those of the sources, or of a module that go.mod names.
    """

    sources: Path
    cache: Path
    flags: tuple[str, ...] = ()
    limit: float = BUILDING
    oldest: tuple[int, int] = _OLDEST
    packages: str = "./cmd/..."

    def program(
        self, name: str, build: Build = Build.STRIPPED, building: Building = UNWATCHED
    ) -> Path:
        """Return the path of one program; NoGo if it cannot be built, or its build was ended.

        PLAIN and PIE build only what is asked for; STRIPPED builds every program at once.
        """
        folder = self.cache / self._digest() / build
        program = folder / name
        with _alone(self.cache):
            if not program.exists():
                whole = build is Build.STRIPPED
                self._build(folder, self.packages if whole else f"./cmd/{name}", building)
        return program

    def has(self, name: str) -> bool:
        """Tell whether a program is built already, as STRIPPED."""
        return (self.cache / self._digest() / Build.STRIPPED / name).exists()

    def _digest(self) -> str:
        found = sorted(path for glob in _SOURCES for path in self.sources.rglob(glob))
        whole = hashlib.sha256()
        for path in found:
            content = path.read_bytes()
            whole.update(f"{path.relative_to(self.sources)} {len(content)}\n".encode() + content)
        return whole.hexdigest()[:16]

    def _build(self, folder: Path, packages: str, building: Building) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        go = go_program(self.oldest)
        flags = (*FLAGS[Build(folder.name)], *self.flags)
        log = folder / "build.log"
        with (
            log.open("wb") as output,
            subprocess.Popen(  # noqa: S603 - the go that was found, and our own flags
                [go, "build", "-v", *flags, "-o", folder, packages],
                cwd=self.sources,
                env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
                stdout=output,
                stderr=output,
                start_new_session=True,
            ) as process,
        ):
            try:
                _follow(process, log, building, self.limit)
            finally:
                _end(process)
        if process.returncode != 0:
            text = log.read_text(errors="replace")[-_SHOWN:]
            raise NoGo(f"{go} build {packages}: {text or 'it was ended'}")
        log.unlink()


def _follow(
    process: "subprocess.Popen[bytes]", log: Path, building: Building, limit: float
) -> None:
    """Wait until a build is over, for so many seconds at most, and say how far it is."""
    for _ in range(int(limit / _LOOK)):
        if process.poll() is not None or building.ended.wait(_LOOK):
            return
        building.progress(log.read_bytes().count(b"\n"))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a build, with the compilers that it began."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Hold the folder's lock: two test processes must not build at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
