"""FakePreparer: the preparer port, and the asker's, over hosts that are but records."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from msgspec.structs import replace

from hostler.domain.ids import MachineId
from hostler.domain.policy.bootstrap import Applied, cause_of
from hostler.domain.policy.bootstrap_data import DataState
from hostler.ports.command import Question, Reply
from hostler.ports.preparer import MachineData, Order, Prepared
from hostler.ports.provider import Connection


@dataclass(slots=True)
class FakeDisk:
    """What a host knows: how often it was installed, what is noted, what ran since.

    `begun` are the scripts of single machines that were begun there.
    """

    generation: int = 1
    noted: Applied | None = None
    ran: list[str] = field(default_factory=list[str])
    begun: dict[MachineId, bytes] = field(default_factory=dict[MachineId, bytes])


class FakePreparer:
    """Every host can be logged in to and prepared, but for what is said here.

    A machine's own script exits with what its last line says after `exit `, or with 0; `unended`
    are the machines whose scripts go on running. `crash` is called once a script was begun.

    `unwilling` machines get no login, `failing` commands fail, an answer takes `pause`. Hosts are
    told apart by their addresses; whoever simulates a reinstallation says so (`reinstall`).
    Whether hosts are busy is said by `statuses`, what `busy` exits with there: 1 unless set.
    """

    def __init__(self) -> None:
        self.unwilling, self.failing = set[MachineId](), set[str]()
        self.pause = timedelta(0)
        self.unended = set[MachineId]()
        self.crash: Callable[[], None] | None = None
        self.asked = list[MachineId]()
        self.statuses = dict[MachineId, int]()
        self.questions = list[Question]()
        self._disks = dict[str, FakeDisk]()

    def disk(self, address: str) -> FakeDisk:
        """Return what the host at this address knows."""
        return self._disks.setdefault(address, FakeDisk())

    def fingerprint(self, address: str) -> str:
        """Return the key that the host at this address shows."""
        return f"SHA256:{address}.{self.disk(address).generation}"

    def reinstall(self, address: str) -> None:
        """Empty the disk of the host; it has another key then."""
        self._disks[address] = FakeDisk(generation=self.disk(address).generation + 1)

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        self.asked.append(order.machine)
        if self.pause:
            await asyncio.sleep(self.pause.total_seconds())
        address = connection.address or connection.internal
        if not address:
            return Prepared(error="the host has no address yet: look again")
        fingerprint = self.fingerprint(address)
        if order.fingerprint not in {"", fingerprint}:
            return Prepared(
                fingerprint=fingerprint, wrong_key=True, error=f"it shows the key {fingerprint}"
            )
        if order.machine in self.unwilling:
            return Prepared(fingerprint=fingerprint, error="no login: see that the host is up")
        disk = self.disk(address)
        found = self._run(disk, order, fingerprint)
        if found.error or order.data is None:
            return found
        return self._data(disk, order, order.data, found)

    def _data(self, disk: FakeDisk, order: Order, data: MachineData, found: Prepared) -> Prepared:
        """Begin the machine's own script unless it was begun on this disk; tell how it stands."""
        if order.machine not in disk.begun:
            if not data.script:
                return replace(found, data=data.state, error=data.problem)
            disk.begun[order.machine] = data.script
            disk.ran.append(data.script.decode(errors="replace"))
            if self.crash is not None:
                self.crash()
        if order.machine in self.unended:
            return replace(found, data=DataState.RUNNING, error="its bootstrap script runs")
        last = disk.begun[order.machine].decode(errors="replace").strip().splitlines()[-1]
        status = last.removeprefix("exit ") if last.startswith("exit ") else "0"
        if status == "0":
            return replace(found, data=DataState.DONE)
        error = f"its bootstrap script failed with {status}"
        return replace(found, data=DataState.FAILED, error=error)

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Tell what `busy` exits with on a machine's host."""
        self.questions.append(question)
        if self.pause:
            await asyncio.sleep(self.pause.total_seconds())
        address = connection.address or connection.internal
        if not address or question.machine in self.unwilling:
            return Reply(text="no login: see that the host is up")
        if question.fingerprint != self.fingerprint(address):
            return Reply(text="no login: it shows another key than the pinned one")
        status = self.statuses.get(question.machine, 1)
        return Reply(status=status, text=f"`busy` exited with {status}")

    def _run(self, disk: FakeDisk, order: Order, fingerprint: str) -> Prepared:
        wanted = Applied(digest=order.wanted, machine=order.machine)
        cause = cause_of(disk.noted, wanted, order.applied, forced=order.forced)
        if not cause.runs:
            return Prepared(login=True, fingerprint=fingerprint, cause=cause, applied=order.wanted)
        disk.noted, output = None, ""
        met = Prepared(login=True, fingerprint=fingerprint, cause=cause)
        for number, text in enumerate(order.commands, start=1):
            output += f"$ {text}\n"
            if text in self.failing:
                error = f"command {number} of {len(order.commands)} failed with 1"
                return replace(met, error=error, output=output, failed=number, ended="exit 1")
            disk.ran.append(text)
        disk.noted = wanted
        return replace(met, ran=True, applied=order.wanted, output=output)
