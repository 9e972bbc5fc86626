"""SSH at simulated Macs in simulated time: logins and commands that fail, hang, break off.

Addresses, host keys, passwords and wiped disks are the world's. What ran on a disk is known by the
disk itself, so that a wipe empties it, and whoever asks is told the truth.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId
from hostler.domain.policy.bootstrap import Applied, asks, cause_of
from hostler.lab.harness.gates import Gate
from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.simulators.scaleway.macs.reach import Reach, Ssh, ssh_of
from hostler.simulators.scaleway.world import World

_LATENCY = 0.5
_RUNS = (5.0, 120.0)
"""How long a command takes, in seconds."""
_DEAF = (60.0, 1800.0)
"""For how long a host refuses our key, in seconds."""


class Ran(Struct, frozen=True):
    """A list of commands that ran to its end on a disk, and the machine that it ran for."""

    commands: tuple[str, ...]
    machine: MachineId


@dataclass(slots=True)
class Disk:
    """What one disk of a host knows: the note, the lists that ran to their end, what is broken."""

    noted: Applied | None = None
    whole: set[Ran] = field(default_factory=set[Ran])
    ran: Counter[str] = field(default_factory=Counter[str])
    broken: set[str] = field(default_factory=set[str])


class Login(Struct, frozen=True, kw_only=True):
    """One try to log in, as it is told: the key that was pinned, and the one that was shown.

    `begun` is the true second in which it was asked for.
    """

    host: HostId
    order: Order
    presented: str
    entered: bool
    begun: float


class Logins:
    """All logins of a run. `troubles` are probabilities of what happens to them.

    `prepared` are the machines whose hosts are logged in to at this moment, `unmet` how often each
    list was to be brought to a machine whose host did not answer.
    """

    def __init__(self, world: World, troubles: Mapping[str, float], seed: int) -> None:
        self.world = world
        self._troubles, self._rng = troubles, Random(f"hostler macs logins {seed}")
        self._disks = dict[bytes, Disk]()
        self._deaf = dict[str, float]()
        self.prepared = set[str]()
        self.unmet = Counter[tuple[str, tuple[str, ...]]]()
        self.struck: Callable[[str], None] = _nobody
        self.calm: Callable[[], bool] = bool

    def disk(self, host: HostId) -> Disk | None:
        """Return what the disk knows that a host has now; None where there is no host."""
        mac = self.world.cloud.macs.get(host)
        return None if mac is None or mac.ended is not None else self.of(mac.disk.seed)

    def of(self, seed: bytes) -> Disk:
        """Return what a disk knows."""
        return self._disks.setdefault(seed, Disk())

    def worked(self, commands: tuple[str, ...]) -> bool:
        """Tell whether a list ran to its end on any disk."""
        return any(one.commands == commands for disk in self._disks.values() for one in disk.whole)

    def strikes(self, fault: str) -> bool:
        """Tell whether a fault strikes now, and count it."""
        rate = 0.0 if self.calm() else self._troubles.get(fault, 0.0)
        if not rate or self._rng.random() >= rate:
            return False
        self.struck(fault)
        return True

    def refuses(self, host: str) -> bool:
        """Tell whether a host refuses our key: once it does, it goes on for a spell."""
        now = self.world.cloud.now
        if not self.calm() and self._deaf.get(host, 0.0) > now:
            return True
        if not self.strikes("login_refused"):
            return False
        self._deaf[host] = now + self._rng.uniform(*_DEAF)
        return True

    def runs_for(self) -> float:
        """Return how long a command runs."""
        return self._rng.uniform(*_RUNS)


class SimulatedPreparer:
    """Logs in for one process. Implements `hostler.ports.preparer.Preparer`."""

    def __init__(
        self,
        logins: Logins,
        gate: Gate,
        *,
        cut: Callable[[], bool],
        report: Callable[[Login], None],
    ) -> None:
        """`cut` says whether its network is down; `report` hears of each login."""
        self._logins, self._gate, self._cut, self._report = logins, gate, cut, report

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        self._logins.prepared.add(order.machine)
        try:
            return await self._prepare(connection, order)
        finally:
            self._logins.prepared.discard(order.machine)

    async def _prepare(self, connection: Connection, order: Order) -> Prepared:
        begun = asyncio.get_running_loop().time()
        await self._pass(before=True)
        await asyncio.sleep(_LATENCY)
        met = None if self._cut() else self._logins.world.reach(connection.address)
        if met is not None and met.ssh is Ssh.SILENT:
            await asyncio.sleep(order.login.total_seconds())
        if met is None or met.ssh is not Ssh.UP:
            self._logins.unmet[order.machine, order.commands] += 1
            return Prepared(error="no login: see that the host is up")
        prepared = await self._met(met, order, begun)
        await self._pass(before=False)
        return prepared

    async def _pass(self, *, before: bool) -> None:
        """Stand where this process may be struck."""
        await self._gate.pass_through("ssh", before=before)

    async def _met(self, met: Reach, order: Order, begun: float) -> Prepared:
        wrong = order.fingerprint not in {"", met.host_key}
        refused = not wrong and self._logins.refuses(met.mac_id)
        entered = not (wrong or refused)
        host, presented = HostId(met.mac_id), met.host_key
        self._report(
            Login(host=host, order=order, presented=presented, entered=entered, begun=begun)
        )
        found = Prepared(fingerprint=met.host_key)
        if wrong:
            return replace(found, wrong_key=True, error=f"it shows the key {met.host_key}")
        if refused:
            return replace(found, error="the host does not accept our key")
        return await self._inside(met, order, replace(found, login=True))

    async def _inside(self, met: Reach, order: Order, found: Prepared) -> Prepared:
        """Bring the disk that was logged in to to its list; it may be wiped meanwhile."""
        disk = self._logins.of(met.disk.seed)
        wanted = Applied(digest=order.wanted, machine=order.machine)
        cause = cause_of(disk.noted, wanted, order.applied, forced=order.forced)
        found = replace(found, cause=cause)
        if not cause.runs:
            return replace(found, applied=order.wanted)
        disk.noted = None
        for number, command in enumerate(order.commands, start=1):
            if error := await self._command(met, order, command):
                text = f"command {number} of {len(order.commands)} {error}"
                return replace(found, output=f"$ {command}\n", error=text)
        if not self._is_there(met):
            return replace(found, error="all ran, but that cannot be noted at the host")
        disk.noted = wanted
        disk.whole.add(Ran(order.commands, order.machine))
        return replace(found, ran=True, applied=order.wanted)

    async def _command(self, met: Reach, order: Order, text: str) -> str:
        """Run one command; return what is wrong with it, or an empty string."""
        logins, disk = self._logins, self._logins.of(met.disk.seed)
        await self._pass(before=True)
        if logins.strikes("command_hung"):
            await asyncio.sleep(order.command.total_seconds())
            return "did not end in time"
        await asyncio.sleep(logins.runs_for())
        await self._pass(before=False)
        if self._cut() or not self._is_there(met) or logins.strikes("line_broken"):
            return "broke off"
        if logins.strikes("command_broken"):
            disk.broken.add(text)
        broken = text in disk.broken and not logins.calm()
        if broken or logins.strikes("command_failed") or not _may(text, order, met):
            return "failed with 1"
        disk.ran[text] += 1
        return ""

    def _is_there(self, met: Reach) -> bool:
        """Tell whether the host still has the disk that was logged in to, and is up."""
        world = self._logins.world
        world.advance()
        mac = world.cloud.macs.get(met.mac_id)
        if mac is None or mac.disk is not met.disk:
            return False
        return ssh_of(world.cloud, mac) is Ssh.UP


class SimulatedAsker:
    """Asks hosts for one process. Implements `hostler.ports.command.Asker`."""

    def __init__(
        self,
        logins: Logins,
        gate: Gate,
        *,
        cut: Callable[[], bool],
        is_busy: Callable[[HostId], bool],
    ) -> None:
        """`cut` says whether its network is down; `is_busy` whether a job runs on a host."""
        self._logins, self._gate, self._cut, self._is_busy = logins, gate, cut, is_busy

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Log in and ask; whoever shows another key than the pinned one is told nothing."""
        await self._gate.pass_through("ssh", before=True)
        await asyncio.sleep(_LATENCY)
        met = None if self._cut() else self._logins.world.reach(connection.address)
        if met is not None and met.ssh is Ssh.SILENT:
            await asyncio.sleep(question.login.total_seconds())
        if met is None or met.ssh is not Ssh.UP:
            return Reply(text="no login: see that the host is up")
        if met.host_key != question.fingerprint or self._logins.refuses(met.mac_id):
            return Reply(text="no login: another key, or ours is not accepted")
        status = 0 if self._is_busy(HostId(met.mac_id)) else 1
        await self._gate.pass_through("ssh", before=False)
        return Reply(status=status, text=f"`busy` exited with {status}")


def _may(text: str, order: Order, met: Reach) -> bool:
    """Tell whether a command that asks for the password of the host's user was given it."""
    if not asks(text):
        return True
    return order.password is not None and order.password.reveal() == met.password


def _nobody(_: object) -> None:
    """Nobody asked to be told."""
