"""Programs: one is run without a shell, sees what it is given and nothing else, and is ended."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

from hostler.domain.model.calls import Refusal

from .switch import refused

PASSED = ("PATH", "HOME", "LANG")
"""What every program sees of the environment."""

_READ = 4096


async def run(words: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a program; return its exit status and the beginning of what it printed.

    It is killed, with all that it started, where nobody waits for it any longer. Raises Failed
    where it cannot be started.
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


async def _beginning(process: asyncio.subprocess.Process) -> bytes:
    """Return the beginning of a program's output; the rest is read and left."""
    beginning = b""
    while process.stdout is not None and (piece := await process.stdout.read(_READ)):
        beginning = (beginning + piece)[:_READ]
    return beginning
