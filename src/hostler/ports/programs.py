"""Programs: one is run without a shell, with what it is given, and is ended with all it started.

What it leaves in the background may hold its output open for ever, and is not waited for.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

_PIECE = 65536
_SLICE = 0.5
"""Seconds after which a silent program is asked whether it has ended."""

_ENDING = 1.0
"""Seconds that a program which was killed may take until its end is heard of."""


class Program:
    """One that runs, or ran."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield what it prints, until all has come, or none comes after its end."""
        while piece := await self._more():
            yield piece

    async def _more(self) -> bytes:
        while self._process.stdout is not None:
            over = self._process.returncode is not None
            with suppress(TimeoutError):
                async with asyncio.timeout(_SLICE):
                    return await self._process.stdout.read(_PIECE)
            if over:
                break
        return b""

    async def status(self) -> int:
        """Return its exit status, once it has ended; below zero where a signal ended it."""
        return await self._process.wait()

    async def end(self) -> None:
        """Kill it and its process group, unless it has ended, and close its output."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        transport = cast("asyncio.SubprocessTransport", self._process._transport)  # noqa: SLF001  # pyright: ignore[reportAttributeAccessIssue] - no other way
        if (pipe := transport.get_pipe_transport(1)) is not None:
            pipe.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._process.wait()


def killed(status: int) -> str:
    """Return which signal ended a program, by its exit status; empty where none did."""
    if status >= 0:
        return ""
    known = -status in set(signal.Signals)
    return f"killed by {signal.Signals(-status).name if known else f'signal {-status}'}"


@asynccontextmanager
async def started(
    words: Sequence[str], environment: Mapping[str, str], *, errors: bool = True
) -> AsyncGenerator[Program]:
    """Start a program, and end it when the block is left; `errors` are among its output, or gone.

    OSError or ValueError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *words,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT if errors else asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    program = Program(process)
    try:
        yield program
    finally:
        await program.end()
