"""Where: the files in which the runner's schema may be, in the order in which they are asked."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from .binary.processes import Process, Processes
from .binary.scan import Unreadable
from .candidates import Found, NoSchema, look_into
from .mapping.override import Override

VARIABLE = "HOSTLER_FLEETING_SCHEMA"
RUNNER = "gitlab-runner"
_NEWER = "it may be newer on disk than what runs"


class Candidate(Struct, frozen=True, kw_only=True):
    """One file to look into: what it is to us, and what is to be warned of if it is used."""

    path: Path
    description: str
    warning: str = ""


class Place(Struct, frozen=True, kw_only=True):
    """The file in which the schema was found."""

    candidate: Candidate
    found: Found


_FOLDER = (
    "it is a folder; name the runner's executable (where `command -v gitlab-runner` prints "
    "nothing, it is not on the PATH)"
)


class Nowhere(Struct, frozen=True, kw_only=True):
    """No file has it: why each has not, and whether some could not be read at all.

    `lines` are those of an override file that would make a service of what was found.
    """

    reasons: tuple[str, ...]
    unreadable: bool
    lines: tuple[str, ...] = ()


def chosen(path: Path, override: Override) -> Place | Nowhere:
    """Return what the operator's own choice holds; if that fails, nothing else is tried."""
    description = f"the file that was chosen, {path}"
    if path.is_dir():
        return Nowhere(reasons=(f"{description}: {_FOLDER}",), unreadable=True)
    return first([Candidate(path=path, description=description)], override)


def discovered(processes: Processes, search: str | None, override: Override) -> Place | Nowhere:
    """Return the schema of the runner among our ancestors, or of one on the search path."""
    above = processes.ancestors()
    place = first([*map(_running, above)], override)
    if isinstance(place, Place):
        return place
    rest = first([*_named(above, place, search), *_installed(search)], override)
    if isinstance(rest, Place):
        return rest
    none = () if above else ("no process above this one could be inspected",)
    return Nowhere(
        reasons=(*none, *place.reasons, *rest.reasons),
        unreadable=place.unreadable or not above,
        lines=place.lines or rest.lines,
    )


def first(candidates: Sequence[Candidate], override: Override) -> Place | Nowhere:
    """Return the first file that has a schema, or what is wrong with each."""
    reasons, unreadable, lines = list[str](), False, tuple[str, ...]()
    for candidate in candidates:
        try:
            found = look_into(candidate.path, override)
        except Unreadable as error:
            reasons.append(f"{candidate.description}: cannot be read: {error}")
            unreadable = True
        except NoSchema as error:
            reasons.append(f"{candidate.description}: {error}")
            lines = lines or error.lines
        else:
            return Place(candidate=candidate, found=found)
    return Nowhere(reasons=tuple(reasons), unreadable=unreadable, lines=lines)


def _running(process: Process) -> Candidate:
    description = f"process {process.pid} ({process.name or 'unnamed'})"
    return Candidate(path=process.executable, description=description)


def _named(above: Sequence[Process], place: Nowhere, search: str | None) -> Iterator[Candidate]:
    """Go through the files of ancestors that look like a runner and could not be read."""
    for process in above:
        prefix = f"process {process.pid} ("
        closed = any(r.startswith(prefix) and "cannot be read" in r for r in place.reasons)
        file = _which(process.command[0], search) if process.command else None
        if closed and file and _is_runner(process):
            description = f"{file}, by the command line of process {process.pid}"
            yield Candidate(path=file, description=description, warning=f"{description}: {_NEWER}")


def _is_runner(process: Process) -> bool:
    return any(RUNNER in Path(word).name for word in (process.name, *process.command[:1]))


def _installed(search: str | None) -> Iterator[Candidate]:
    if file := _which(RUNNER, search):
        description = f"{file}, found on the search path"
        yield Candidate(
            path=file, description=description, warning=f"{description}: {_NEWER}, or another one"
        )


def _which(name: str, search: str | None) -> Path | None:
    found = shutil.which(name, path=search)
    return Path(found) if found else None
