"""SSH on simulated Macs: a real server at the address of each, which lets our own user in only."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from os import getuid
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncssh
import structlog
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hostler.simulators.scaleway.macs.reach import Reach, Ssh, ssh_of
from hostler.simulators.scaleway.state.mac_records import Disk, Mac
from hostler.simulators.scaleway.world import World

from .shell import Home, Process, empty, format_disk, furnish, run

SOCKETS = Path("/proc/net/tcp")


def same_user(connection: socket.socket) -> bool:
    """Tell if our own user, or root, holds the other end of a connection over loopback.

    Commands run as the user who runs the simulator: nobody else of this machine may ask for any.
    """
    theirs, ours = connection.getpeername(), connection.getsockname()
    return holder(SOCKETS.read_text(encoding="ascii"), theirs, ours) in {0, getuid()}


def holder(table: str, theirs: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """Return whose the socket is that is connected from theirs to ours; None for nobody's."""
    ends = [written(theirs), written(ours)]
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[1:3] == ends:
            return int(fields[7])
    return None


def written(end: tuple[str, int]) -> str:
    """Return an address and a port as the table of the kernel writes them."""
    number = int.from_bytes(socket.inet_aton(end[0]), sys.byteorder)
    return f"{number:08X}:{end[1]:04X}"


TICK = 0.05  # real seconds between two looks at the Macs
log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Standing:
    """A Mac that answers: on which socket, with which disk, and whom it talks to."""

    disk: Disk
    home: Home
    listener: socket.socket
    talks: "set[asyncio.Task[None]]" = field(default_factory=set[asyncio.Task[None]])


class Door(asyncssh.SSHServer):
    """Lets in who has a key that is on the disk, or the password."""

    def __init__(self, met: Reach) -> None:
        self._met = met
        self._keys = frozenset(data for key in met.disk.keys if (data := data_of(key)))

    def begin_auth(self, username: str) -> bool:
        """Let nobody in unasked."""
        del username
        return True

    def password_auth_supported(self) -> bool:
        """Take passwords."""
        return True

    def validate_password(self, username: str, password: str) -> bool:
        """Judge a password."""
        return (username, password) == (self._met.user, self._met.password)

    def public_key_auth_supported(self) -> bool:
        """Take keys."""
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        """Judge a key."""
        return username == self._met.user and key.public_data in self._keys


def data_of(public_key: str) -> bytes:
    """Return what is compared of a public key; nothing of a text that is none."""
    try:
        return asyncssh.import_public_key(public_key).public_data
    except asyncssh.KeyImportError:
        return b""


@lru_cache(maxsize=1024)
def host_key(seed: bytes) -> asyncssh.SSHKey:
    """Return the host key that is made from a seed."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    return asyncssh.import_private_key(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )


class Shells:
    """Keeps a listener for each Mac that answers; needs a running loop. See `shells`."""

    def __init__(self, world: World, port: int, folder: Path, group: asyncio.TaskGroup) -> None:
        self._world, self._folder, self._group = world, folder, group
        self.port = port
        self._standing: dict[str, Standing] = {}  # by address
        self._disks: dict[str, Path] = {}  # by the id of a Mac
        self._deaf: set[str] = set()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        furnish(folder / "bin")

    def open(self) -> None:
        """Begin, and let the world tell where."""
        self._world.ssh_port = self.port
        self.follow()

    def follow(self) -> None:
        """Open what is missing and close what is too much; a wiped disk is emptied."""
        self._world.advance()
        cloud = self._world.cloud
        up = {mac.ip: mac for mac in cloud.macs if ssh_of(cloud, mac) is not Ssh.REFUSED}
        for address, standing in list(self._standing.items()):
            if address not in up or up[address].disk is not standing.disk:
                self._close(address)
        for deleted in [mac_id for mac_id in self._disks if cloud.macs.get(mac_id) is None]:
            empty(self._disks.pop(deleted))
        for address, mac in up.items():
            if address not in self._standing and address not in self._deaf:
                self._open(mac)

    async def close(self) -> None:
        """Close all, and wait until no command runs any more."""
        self._world.ssh_port = 0
        for address in list(self._standing):
            self._close(address)
        await self._idle.wait()

    def _open(self, mac: Mac) -> None:
        try:
            listener = socket.create_server((mac.ip, self.port), backlog=16)
        except OSError as error:
            self._deaf.add(mac.ip)
            log.warning("mac.deaf", address=mac.ip, port=self.port, error=str(error))
            return
        listener.setblocking(False)
        home = self._home(mac)
        self._standing[mac.ip] = Standing(mac.disk, home, listener)
        asyncio.get_running_loop().add_reader(listener, self._accept, mac.ip, listener)

    def _home(self, mac: Mac) -> Home:
        """Return the disk of a Mac, as it is; the one that it had before is taken away."""
        folder = self._folder / f"{mac.id}-{mac.installs}"
        old = self._disks.get(mac.id)
        if old is not None and old != folder:
            empty(old)
        self._disks[mac.id] = folder
        format_disk(folder, mac.password)
        return Home(folder, self._folder / "bin", mac.os.version)

    def _close(self, address: str) -> None:
        standing = self._standing.pop(address)
        asyncio.get_running_loop().remove_reader(standing.listener)
        standing.listener.close()
        for task in standing.talks:
            task.cancel()

    def _accept(self, address: str, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        met, standing = self._world.reach(address), self._standing.get(address)
        up = met is not None and standing is not None and met.disk is standing.disk
        if met is None or standing is None or not up or not same_user(connection):
            connection.close()
            return
        task = self._group.create_task(self._talk(connection, met, standing.home))
        standing.talks.add(task)
        task.add_done_callback(standing.talks.discard)

    async def _talk(self, connection: socket.socket, met: Reach, home: Home) -> None:
        with connection:
            if met.ssh is Ssh.SILENT:
                await asyncio.Event().wait()  # cancelled when the Mac goes down
            try:
                served = await self._serve(connection, met, home)
            except (asyncssh.Error, OSError):
                return
            try:
                await served.wait_closed()
            finally:
                served.abort()

    async def _serve(
        self, connection: socket.socket, met: Reach, home: Home
    ) -> asyncssh.SSHServerConnection:
        return await asyncssh.run_server(
            connection,
            server_factory=lambda: Door(met),
            server_host_keys=[host_key(met.seed)],
            process_factory=partial(self._run, home=home),
            encoding=None,
            allow_pty=False,
            kbdint_auth=False,
            agent_forwarding=False,
            x11_forwarding=False,
        )

    async def _run(self, process: Process, home: Home) -> None:
        self._running += 1
        self._idle.clear()
        try:
            await run(process, home)
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()


@asynccontextmanager
async def shells(world: World, port: int = 0) -> AsyncGenerator[Shells]:
    """Serve SSH on every Mac of a world whose addresses are loopback, until the block is left.

    Port 0 takes one that is free. Raises ValueError where addresses are not loopback, and OSError
    where the port is taken.
    """
    if not world.options.guests:
        raise ValueError("SSH needs addresses in 127.64.0.0/10: Options(guests=True)")
    usable_port = usable(port)
    try:
        with TemporaryDirectory(prefix="hostler-macs-") as folder:
            async with asyncio.TaskGroup() as group:
                found = Shells(world, usable_port, Path(folder), group)
                async with ticking(found, group):
                    yield found
    except BaseExceptionGroup as group:  # what went wrong in the block, as it was
        raise (group.exceptions[0] if len(group.exceptions) == 1 else group) from None


@asynccontextmanager
async def ticking(found: Shells, group: asyncio.TaskGroup) -> AsyncGenerator[None]:
    """Follow the Macs until the block is left, and then close all."""
    found.open()
    task = group.create_task(tick(found))
    try:
        yield
    finally:
        task.cancel()
        await found.close()


async def tick(found: Shells) -> None:
    """Look at the Macs again and again."""
    while True:
        await asyncio.sleep(TICK)
        found.follow()


def usable(port: int) -> int:
    """Return a port on which this user can listen, this one or, for 0, one that is free."""
    with socket.create_server(("127.0.0.1", port)) as probe:
        return probe.getsockname()[1]
