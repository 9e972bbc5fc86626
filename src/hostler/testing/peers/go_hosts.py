"""GoHosts: the Go programs of a module of the tests, built once for each state of its sources."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

BUILDING = 300.0
"""Seconds that a build may take; the first one compiles gRPC, about 40 s of processor time."""
_OLDEST = (1, 25)
_VERSION = re.compile(r"go version go(\d+)\.(\d+)")
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


@dataclass(frozen=True, slots=True)
class GoHosts:
    """The programs in `sources`/cmd, built into `cache` when they are first asked for.

    `flags` come after those of the build, and win; `limit` is in seconds. `packages` is what
    STRIPPED builds; "tool" is what go.mod names as tools, where the sources have no programs.
    """

    sources: Path
    cache: Path
    flags: tuple[str, ...] = ()
    limit: float = BUILDING
    oldest: tuple[int, int] = _OLDEST
    packages: str = "./cmd/..."

    def program(self, name: str, build: Build = Build.STRIPPED) -> Path:
        """Return the path of one program; NoGo if it cannot be built.

        PLAIN and PIE build only what is asked for; STRIPPED builds every program at once.
        """
        folder = self.cache / self._digest() / build
        program = folder / name
        with _alone(self.cache):
            if not program.exists():
                self._build(folder, self.packages if build is Build.STRIPPED else f"./cmd/{name}")
        return program

    def _digest(self) -> str:
        found = sorted(path for glob in _SOURCES for path in self.sources.rglob(glob))
        whole = hashlib.sha256()
        for path in found:
            content = path.read_bytes()
            whole.update(f"{path.relative_to(self.sources)} {len(content)}\n".encode() + content)
        return whole.hexdigest()[:16]

    def _build(self, folder: Path, packages: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        go = go_program(self.oldest)
        done = subprocess.run(  # noqa: S603 - the go that was found, and our own flags
            [go, "build", *FLAGS[Build(folder.name)], *self.flags, "-o", folder, packages],
            cwd=self.sources,
            env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
            capture_output=True,
            text=True,
            timeout=self.limit,
            check=False,
        )
        if done.returncode != 0:
            raise NoGo(f"{go} build {packages}: {done.stdout}{done.stderr}")


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Hold the folder's lock: two test processes must not build at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
