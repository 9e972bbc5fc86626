"""FakePreparer: the preparer port, and the asker's, over hosts that are but records."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta

from hostler.domain.ids import MachineId
from hostler.domain.policy.bootstrap import Applied, cause_of
from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection


@dataclass(slots=True)
class FakeDisk:
    """What a host knows: how often it was installed, what is noted, and what ran since."""

    generation: int = 1
    noted: Applied | None = None
    ran: list[str] = field(default_factory=list[str])


class FakePreparer:
    """Every host can be logged in to and prepared, but for what is said here.

    `unwilling` machines get no login, `failing` commands fail, an answer takes `pause`. Hosts are
    told apart by their addresses; whoever simulates a reinstallation says so (`reinstall`).
    Whether hosts are busy is said by `statuses`, what `busy` exits with there: 1 unless set.
    """

    def __init__(self) -> None:
        self.unwilling, self.failing = set[MachineId](), set[str]()
        self.pause = timedelta(0)
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
        return self._run(self.disk(address), order, fingerprint)

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
