"""Processes: programs of a control plane, each ended by whoever began it."""

import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from hostler.domain.errors import HostlerError

UP = 120.0
"""Seconds that a program may take until it serves; about four on two cores."""
_LOOK = 0.1

Running = tuple["subprocess.Popen[bytes]", Path]
"""A process, and its log."""

NEVER = Event()
"""What nobody sets: whoever waits with it waits to the end."""


class NotServing(HostlerError):
    """A program ended, or did not serve in time; the text has the end of its log."""


class Ended(HostlerError):
    """Nobody waits any more for a program to serve, or to be built."""


@contextmanager
def process(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Generator[Running]:
    """Run a program, and end exactly it. Without an environment it has ours.

    Ctrl-C does not reach it: whoever began it ends it, after what needs it.
    """
    with (
        log.open("wb") as output,
        subprocess.Popen(  # noqa: S603 - programs of ours
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        ) as one,
    ):
        try:
            yield one, log
        finally:
            one.kill()


def wait(program: Running, ready: Callable[[], bool], ended: Event = NEVER) -> None:
    """Wait until a program serves; NotServing, or Ended as soon as nobody waits any more."""
    running, log = program
    for _ in range(int(UP / _LOOK)):
        if ready():
            return
        if running.poll() is not None:
            break
        if ended.wait(_LOOK):
            raise Ended(f"{log.stem} was still being started")
    raise NotServing(f"{log.stem} does not serve:\n{log.read_text()[-3000:]}")


def answers(url: str, authority: Path | None = None, token: str = "") -> bool:
    """Return whether a page is served there."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - loopback only
    try:
        trusted = ssl.create_default_context(cafile=authority) if authority else None
        with urllib.request.urlopen(request, timeout=2, context=trusted):  # noqa: S310 - loopback only
            return True
    except OSError:
        return False


def naming(folder: Path) -> list[str]:
    """Return the command lines of the processes that name something in a folder; on Linux."""
    found = list[str]()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_text()
        except OSError:
            continue  # it has ended meanwhile
        found += [text] if str(folder) in text else []
    return found
