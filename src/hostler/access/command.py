"""Command: one command through a login that is there, with its output, its bound and its end."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

import asyncssh
from msgspec import Struct

from hostler.ports.preparer import Hides

from .connection import reason_of

Feed = Callable[[bytes], None]

_CHUNK = 65536
_SLICE = 0.5
"""Seconds after which a silent command is asked whether it has ended: what it left in the
background may hold its output open for ever."""


class Prompt:
    """The words by which sudo asks for a password; finds them however the output was cut.

    They are drawn again for each command, so that nothing else that it prints is taken for them.
    """

    def __init__(self, password: Hides | None) -> None:
        self.words = f"hostler-{secrets.token_hex(12)}: "
        self.password = password
        self.seen = 0
        self._last = b""

    def finds(self, data: bytes) -> bool:
        """Take some output; tell whether the words were in it for the first time."""
        sought, before = self.words.encode(), self.seen
        whole = self._last + data
        self.seen += whole.count(sought)
        self._last = whole.rpartition(sought)[2][1 - len(sought) :]
        return before == 0 < self.seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, how long it may take, and how sudo asks in it; else its input is its `content`.

    The password is its input when it is asked for the first time, and nothing follows: a second
    time means that it is wrong, and trying on could lock the account.
    """

    text: str
    within: timedelta
    prompt: Prompt | None = None
    content: bytes = field(default=b"", repr=False)


class Ended(Struct, frozen=True, kw_only=True):
    """How a command ended: its exit status, or else a signal's name, or that it was late, or lost.

    `error` says in the library's words how the connection went away.
    """

    status: int | None = None
    signal: str = ""
    late: bool = False
    error: str = ""


async def run(connection: asyncssh.SSHClientConnection, command: Command, feed: Feed) -> Ended:
    """Run a command and feed on what it prints; never raises for what the outside does."""
    running = _Running(connection, command, feed)
    try:
        async with asyncio.timeout(command.within.total_seconds()):
            await running.go()
    except TimeoutError:
        running.kill()
        return Ended(late=True)
    except (asyncssh.Error, OSError) as error:
        return Ended(error=reason_of(error))
    return running.ended()


async def output_of(
    connection: asyncssh.SSHClientConnection, command: Command, most: int
) -> tuple[Ended, str]:
    """Run a command; return how it ended, and at most so many bytes of the end of its output."""
    output = bytearray()

    def feed(data: bytes) -> None:
        output.extend(data)
        del output[:-most]

    ended = await run(connection, command, feed)
    return ended, output.decode(errors="replace")


@dataclass(slots=True)
class _Running:
    """One command on its way."""

    connection: asyncssh.SSHClientConnection
    command: Command
    feed: Feed
    process: asyncssh.SSHClientProcess[bytes] | None = field(default=None, init=False)

    async def go(self) -> None:
        """Run it to its end."""
        process: asyncssh.SSHClientProcess[bytes] = await self.connection.create_process(
            self.command.text, stderr=asyncssh.STDOUT, encoding=None
        )
        self.process = process
        if self.command.prompt is None:
            with suppress(BrokenPipeError):  # it ended already: its end says how
                process.stdin.write(self.command.content)
            process.stdin.write_eof()
        while data := await self._more(process):
            self.feed(data)
            if self.command.prompt and self.command.prompt.finds(data):
                self._answer(process, self.command.prompt.password)
        if not _is_over(process):
            await process.wait_closed()

    @staticmethod
    def _answer(process: asyncssh.SSHClientProcess[bytes], password: Hides | None) -> None:
        if password is not None:
            process.stdin.write(f"{password.reveal()}\n".encode())
        process.stdin.write_eof()

    @staticmethod
    async def _more(process: asyncssh.SSHClientProcess[bytes]) -> bytes:
        """Return more output; nothing once it has all come, or none comes after the end."""
        while True:
            over = _is_over(process)
            try:
                async with asyncio.timeout(_SLICE):
                    return await process.stdout.read(_CHUNK)
            except TimeoutError:
                if over:
                    return b""

    def kill(self) -> None:
        """Ask the far side to end it; whether it does is not waited for."""
        try:
            if self.process is not None:
                self.process.kill()
        except OSError:  # the channel is closed: there is nothing to end
            return

    def ended(self) -> Ended:
        """Return how it ended."""
        if self.process is None or not _is_over(self.process):
            return Ended(error="the connection went away")
        if self.process.exit_signal is not None:
            return Ended(signal=self.process.exit_signal[0])
        return Ended(status=self.process.exit_status)


def _is_over(process: asyncssh.SSHClientProcess[bytes]) -> bool:
    return process.exit_status is not None or process.exit_signal is not None
