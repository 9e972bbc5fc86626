"""Processes: programs of a control plane, each ended by whoever began it."""

import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

UP = 120.0
"""Seconds that a program may take until it serves; about four on two cores."""

Running = tuple["subprocess.Popen[bytes]", Path]
"""A process, and its log."""


@contextmanager
def process(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Generator[Running]:
    """Run a program, and end exactly it. Without an environment it has ours."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env=environment) as one,
    ):
        try:
            yield one, log
        finally:
            one.kill()


def wait(program: Running, ready: Callable[[], bool]) -> None:
    """Wait until a program serves; it must not have ended by then."""
    running, log = program
    end = time.monotonic() + UP
    while not ready():
        if running.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{log.stem} does not serve:\n{log.read_text()[-3000:]}")
        time.sleep(0.1)


def answers(url: str, authority: Path | None = None, token: str = "") -> bool:
    """Return whether a page is served there."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - loopback only
    try:
        trusted = ssl.create_default_context(cafile=authority) if authority else None
        with urllib.request.urlopen(request, timeout=2, context=trusted):  # noqa: S310 - loopback only
            return True
    except OSError:
        return False


def free_port() -> int:
    """Return a port that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found: int = taken.getsockname()[1]
        return found
