"""Data session: a machine's own script is run once at its host, and followed to its end."""

from datetime import timedelta

import asyncssh
from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.policy.bootstrap_data import DataState, hidden
from hostler.ports.preparer import MachineData, Order, Prepared
from hostler.ports.shell import Login

from . import data_scripts
from .command import Command, Ended, output_of
from .output import LONGEST, line, printable
from .scripts import ended as has_ended

_MOST = data_scripts.LOG + 8192
_FOLLOWED = timedelta(seconds=60)
"""How long one login waits for the script to end; the next one goes on."""

_ANSWER = timedelta(seconds=30)


class DataSession(Struct, frozen=True):
    """The part of a login that concerns the machine's own script."""

    connection: asyncssh.SSHClientConnection
    login: Login
    order: Order
    data: MachineData

    async def run(self, found: Prepared) -> Prepared:
        """Begin the script unless it was begun here for this machine; tell how it stands."""
        stands, error = await self._follow(timedelta(0))
        if stands is None:
            return replace(found, data=DataState.WAITING, error=f"{_UNREAD}: {error}")
        if stands.state is DataState.WAITING:
            if not self.data.script:
                return replace(found, data=self.data.state, error=self.data.problem)
            if error := await self._begin(self.data.script):
                return replace(found, error=f"the bootstrap script cannot be begun: {error}")
        if stands.state in {DataState.WAITING, DataState.RUNNING}:
            stands, error = await self._follow(_FOLLOWED)
            if stands is None:
                return replace(found, data=DataState.RUNNING, error=f"{_UNREAD}: {error}")
        return self._answer(found, stands)

    async def _begin(self, script: bytes) -> str:
        """Hand the script over; return what is wrong."""
        text = data_scripts.beginning(
            self.order.machine,
            self.login.address,
            len(script),
            max(1, int(self.data.within.total_seconds())),
        )
        command = Command(text=text, within=_ANSWER, content=script)
        ended, output = await output_of(self.connection, command, _MOST)
        if ended.status == 0 and has_ended(output):
            return ""
        return self._why(ended, output)

    async def _follow(self, wait: timedelta) -> tuple[data_scripts.Found | None, str]:
        text = data_scripts.following(self.order.machine, int(wait.total_seconds()))
        command = Command(text=text, within=wait + _ANSWER)
        ended, output = await output_of(self.connection, command, _MOST)
        return data_scripts.found_in(output), self._why(ended, output)

    def _why(self, ended: Ended, output: str) -> str:
        words = ended.error or ("no end in time" if ended.late else output)
        return line(self._hidden(words), self.order.password)

    def _answer(self, found: Prepared, stands: data_scripts.Found) -> Prepared:
        """Return how a script stands that was begun, with the last of what it printed."""
        if stands.state in {DataState.WAITING, DataState.RUNNING}:
            text = "its bootstrap script runs, and is asked about again"
            return replace(found, data=DataState.RUNNING, error=text)
        output = printable(self._hidden(stands.log))[-LONGEST:]
        done = replace(found, data=stands.state, output=f"{found.output}{output}")
        if stands.state is DataState.DONE:
            return done
        printed = [entry for entry in output.splitlines() if entry.strip()]
        last = f": {line(' / '.join(printed[-3:]), most=300)}" if printed else ""
        return replace(done, error=f"its bootstrap script {_how(stands.status)}{last}")

    def _hidden(self, text: str) -> str:
        """Return text without the secrets of the script; nothing of it where those are not known.

        A script whose data is gone since cannot be compared with what it printed.
        """
        known = self.data.script
        if not known:
            return "(not shown: the bootstrap data cannot be read to look for its secrets)"
        text = hidden(text, known)
        return self.order.password.hidden_in(text) if self.order.password else text


_UNREAD = "how the bootstrap script stands cannot be read"


def _how(status: str) -> str:
    """Return how a script ended that did not end well; what is no number is a word of ours."""
    if status == data_scripts.LATE:
        return "was ended, for it took too long"
    if status.isdigit():
        return f"failed with {status}"
    return "was cut off and left no status: it is not run again"
