"""Session: what is done at a host after a login, one command after the other."""

import asyncssh
from msgspec.structs import replace

from hostler.domain.policy.bootstrap import Applied, asks, cause_of, note_of
from hostler.ports.preparer import Order, Prepared
from hostler.ports.shell import Login

from . import scripts
from .command import Command, Ended, Prompt, output_of, run
from .data_session import DataSession
from .output import Tail, line

_MOST = 4096
"""Bytes that are kept of what a script of ours prints: its end, for a shell may greet before."""


class Session:
    """One login at one host."""

    def __init__(
        self, connection: asyncssh.SSHClientConnection, login: Login, order: Order
    ) -> None:
        self._connection, self._login, self._order = connection, login, order
        self._wanted = Applied(digest=order.wanted, machine=order.machine)
        self._tail = Tail(order.password)
        self._prompts = list[Prompt]()

    async def prepare(self, host_key: str) -> Prepared:
        """Run the wanted setup script on the host, and then the machine's own script.

        `host_key` is the key that it showed.
        """
        found, data = await self._set_up(host_key), self._order.data
        if found.error or data is None:
            return found
        return await DataSession(self._connection, self._login, self._order, data).run(found)

    async def _set_up(self, host_key: str) -> Prepared:
        """Run the wanted setup script."""
        found = Prepared(login=True, fingerprint=host_key)
        noted: Applied | None = None
        if self._order.commands:
            output, error = await self._script(
                scripts.opening(self._wanted, forced=self._order.forced)
            )
            if error:
                return replace(found, error=f"what is noted at the host cannot be read: {error}")
            noted = note_of(scripts.noted(output))
        cause = cause_of(noted, self._wanted, self._order.applied, forced=self._order.forced)
        if not cause.runs:
            return replace(found, cause=cause, applied=self._order.wanted)
        return await self._apply(replace(found, cause=cause))

    async def _apply(self, found: Prepared) -> Prepared:
        """Run all commands, and note it."""
        for number, text in enumerate(self._order.commands, start=1):
            ended, error = await self._command(number, text)
            if error:
                failed = replace(found, failed=number, ended=_outcome(ended))
                return replace(failed, output=self._output(), error=error)
        found = replace(found, ran=True, output=self._output())
        _, error = await self._script(scripts.noting(self._wanted))
        if error:
            return replace(found, error=f"all ran, but that cannot be noted at the host: {error}")
        return replace(found, applied=self._order.wanted)

    async def _command(self, number: int, text: str) -> tuple[Ended, str]:
        """Run one command; return what is wrong with it, in a sentence, or an empty string."""
        order = self._order
        prompt = Prompt(order.password)
        self._prompts.append(prompt)
        self._tail.feed(f"$ {text}\n".encode())
        command = Command(
            text=scripts.running(text, self._login.address, order.machine, prompt.words),
            within=order.command,
            prompt=prompt if asks(text) else None,
        )
        ended = await run(self._connection, command, self._tail.feed)
        self._tail.feed(f"\n[{_outcome(ended)}]\n".encode())
        wrong = "" if ended.status == 0 else self._wrong(number, text, ended, prompt.seen)
        return ended, wrong

    def _wrong(self, number: int, text: str, ended: Ended, prompts: int) -> str:
        which = f"command {number} of {len(self._order.commands)} at {self._login}"
        what = f"`{line(text, self._order.password, 80)}`"
        if prompts and self._order.password is None:
            return f"{which} asks for the sudo password, which is not known: {what}"
        if prompts > 1:
            return f"{which}: sudo did not accept the password: {what}"
        if ended.late:
            limit = f"{self._order.command.total_seconds():g} s"
            return f"{which} did not end within {limit}, see its output: {what}"
        if ended.signal:
            return f"{which} was ended by the signal {line(ended.signal)}: {what}"
        if ended.status is None:
            why = line(ended.error, self._order.password)
            return f"lost while running {which} ({why}), it will be run again: {what}"
        return f"{which} failed with {ended.status}, see its output: {what}"

    def _output(self) -> str:
        """Return the end of what was printed, with sudo's questions as they usually read."""
        text = self._tail.text()
        for prompt in self._prompts:
            text = text.replace(prompt.words, "Password:")
        return text

    async def _script(self, text: str) -> tuple[str, str]:
        """Run a script of ours; return what it said, and what is wrong."""
        command = Command(text=text, within=self._order.login)
        ended, output = await output_of(self._connection, command, _MOST)
        if ended.status == 0 and scripts.ended(output):
            return output, ""
        secret = self._order.password
        return "", f"{_outcome(ended)}: {line(ended.error or output, secret)}".removesuffix(": ")


def _outcome(ended: Ended) -> str:
    if ended.late:
        return "no end in time"
    if ended.signal:
        return f"signal {line(ended.signal)}"
    return "lost" if ended.status is None else f"exit {ended.status}"
