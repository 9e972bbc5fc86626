"""SSH at simulated hosts in simulated time: the program's own session over a line that breaks.

The real session is given a connection that understands its commands by their effects.
"""

import asyncio
from dataclasses import dataclass, field

import asyncssh

from hostler.access.session import Session
from hostler.domain.ids import HostId
from hostler.lab.harness.process_run import ProcessRun
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.ports.shell import Login

from .host import Hosts
from .scenario import LINE, LOGIN

_LATENCY, _LOOK = 0.3, 0.2
_BEGINS = "given.$$"
"""What stands in the command that begins a script, and not in that which follows it."""
_LOST = "Connection lost"


class LabPreparer:
    """Logs in for one run of a process. Implements `hostler.ports.preparer.Preparer`."""

    def __init__(self, hosts: Hosts, run: ProcessRun) -> None:
        self._hosts, self._run = hosts, run

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and do what is ordered."""
        await self._run.gate.pass_through("ssh", before=True)
        await asyncio.sleep(_LATENCY)
        box = None if self._run.down else self._hosts.box_at(connection.address)
        if box is None:
            return Prepared(error="no login: see that the host is up")
        key = f"SHA256:{box}"
        if order.fingerprint not in {"", key}:
            return Prepared(fingerprint=key, wrong_key=True, error="it shows another key")
        if self._hosts.strikes(LOGIN):
            return Prepared(fingerprint=key, error="the host does not accept our key")
        line = _Line(self._hosts, self._run, box, self._hosts.truth.since(box))
        login = Login(address=connection.address, port=22, user=order.user)
        session = Session(line, login, order)  # pyright: ignore[reportArgumentType] - what a session needs of a connection
        prepared = await session.prepare(key)
        await self._run.gate.pass_through("ssh", before=False)
        return prepared


@dataclass(slots=True)
class _Line:
    """A connection to a box, as long as that is in the boot in which it was reached."""

    hosts: Hosts
    run: ProcessRun
    box: HostId
    boot: float

    async def create_process(self, text: str, *, stderr: int, encoding: None) -> "_Process":
        """Begin a command."""
        del stderr, encoding
        await self.run.gate.pass_through("ssh", before=True)
        await asyncio.sleep(_LATENCY)
        self.check()
        return _Process(self, text)

    def check(self) -> None:
        """Raise where the connection went away."""
        truth = self.hosts.truth
        truth.advance()
        up = self.hosts.truth.condition(self.box) is not None
        if self.run.down or not up or truth.since(self.box) != self.boot:
            raise asyncssh.ConnectionLost(_LOST)


@dataclass(slots=True)
class _Process:
    """One command: its input is whole before anything is done; its output comes at once."""

    line: _Line
    text: str
    exit_status: int | None = None
    exit_signal: None = None
    content: bytes = b""
    until: float = 0.0
    output: bytes | None = None
    _broken: bool = field(default=False)

    @property
    def stdin(self) -> "_Process":
        """Return where its input goes."""
        return self

    @property
    def stdout(self) -> "_Process":
        """Return where its output comes from."""
        return self

    def write(self, data: bytes) -> None:
        """Take some input."""
        self.content += data

    def write_eof(self) -> None:
        """Do what the command does, now that its input is whole; the line may break before."""
        hosts, line = self.line.hosts, self.line
        self._broken = hosts.strikes(LINE)
        if self._broken and hosts.random.random() < 0.5:
            return
        if _BEGINS in self.text:
            self._end(hosts.begin(line.box, self.text, self.content))
        else:
            self.until = hosts.truth.now + hosts.bound_of(self.text)

    def _end(self, output: str) -> None:
        self.output = f"{output}\n".encode()

    async def read(self, size: int) -> bytes:
        """Return all output once there is any, then nothing."""
        del size
        if self.exit_status is not None:
            return b""
        while self.output is None and not self._broken:
            self.line.check()
            word = self.line.hosts.word(self.line.box, self.text)
            if word != "running" or self.line.hosts.truth.now >= self.until:
                self._end(f"\nhostler: data {word}\nhostler: log\n\nhostler: end")
            else:
                await asyncio.sleep(_LOOK)
        self.line.check()
        if self._broken or self.output is None:
            raise asyncssh.ConnectionLost(_LOST)
        await self.line.run.gate.pass_through("ssh", before=False)
        self.exit_status = 0
        return self.output

    async def wait_closed(self) -> None:
        """Nothing is open."""

    def kill(self) -> None:
        """What runs at the host goes on without us."""
