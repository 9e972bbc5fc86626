"""Programs: one is run without a shell, sees what it is given and nothing else, and is ended."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from hostler.domain.model.calls import Refusal

from .switch import refused

PASSED = ("PATH", "HOME", "LANG")
"""What every program sees of the environment."""

NOT_RUN = frozenset({126, 127})
"""Exit statuses by which `env`, `sudo` and shells say that there was nothing to run."""

_READ = 4096
_SLICE = 0.5
"""Seconds after which a silent program is asked whether it has ended: what it left in the
background may hold its output open for ever."""


async def run(words: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a program; return its exit status and the beginning of what it printed.

    It is killed, with all that it started, where nobody waits for it any longer; what it leaves in
    the background when it ends is not waited for. Raises Failed where it cannot be started.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise refused(Refusal.INVALID, f"{words[0]}: {error.strerror}") from None
    try:
        output = await _beginning(process)
        return await process.wait(), output
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        _let_go(process)


async def _beginning(process: asyncio.subprocess.Process) -> bytes:
    """Return the beginning of a program's output; the rest is read and left."""
    beginning = b""
    while piece := await _more(process):
        beginning = (beginning + piece)[:_READ]
    return beginning


async def _more(process: asyncio.subprocess.Process) -> bytes:
    """Return more output; nothing once it has all come, or none comes after the end."""
    while process.stdout is not None:
        over = process.returncode is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(_SLICE):
                return await process.stdout.read(_READ)
        if over:
            break
    return b""


def _let_go(process: asyncio.subprocess.Process) -> None:
    """Close our end of the output: what runs in the background would keep it open."""
    transport = cast("asyncio.SubprocessTransport", process._transport)  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue] - no other way
    if (pipe := transport.get_pipe_transport(1)) is not None:
        pipe.close()
