"""Hosts for the tests of the provider `static`: SSH servers on loopback, each with its own home.

What is run there is run by a real shell, with HOME set to the host's folder.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import asyncssh
from msgspec.structs import replace

from hostler.access.shell import CALL, SshShell
from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.host import allocation_of
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.resource import OwnerTag
from hostler.ports.provider import Provider
from hostler.providers.static.provider import Site, StaticHosts
from hostler.providers.static.settings import Host, StaticTemplate
from hostler.providers.static.shell import HostShell
from hostler.testing.conformance.provider.rig import Ability, Fault, Rig, Thing
from hostler.testing.time.clock import RigClock

FLEET = FleetName("builders")
HOME = InstallationId("home1234")
ZONE = Zone("static")
SECRET = "cleaning-password-4711"


@cache
def key(name: str) -> asyncssh.SSHKey:
    """Return a key, made once for all tests of a process."""
    made: asyncssh.SSHKey = asyncssh.generate_private_key("ssh-ed25519", comment=name)  # pyright: ignore[reportUnknownMemberType] - its keywords are untyped
    return made


@dataclass(slots=True)
class FakeHost:
    """One host: its SSH server, its home, and what befalls the next command that changes it."""

    name: str
    home: Path
    port: int = 0
    fault: Fault | None = None
    hangs: bool = False
    cuts: bool = False
    commands: list[str] = field(default_factory=list[str])
    host_key: str = "host"
    server: asyncssh.SSHAcceptor | None = None

    @property
    def claim(self) -> Path:
        """The file that says whose the host is."""
        return self.home / ".hostler" / "claim"

    async def start(self) -> None:
        """Listen, at the same port as before."""
        self.server = await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_host_keys=[key(self.host_key)],
            authorized_client_keys=asyncssh.import_authorized_keys(
                key("user").export_public_key().decode()
            ),
            process_factory=self._process,
            allow_scp=False,
        )
        self.port = self.server.get_port()

    async def stop(self) -> None:
        """Be gone from the network."""
        if self.server is not None:
            self.server.close()
            await self.server.wait_closed()
            self.server = None

    async def _process(self, process: asyncssh.SSHServerProcess[str]) -> None:
        command = process.command or ""
        self.commands.append(command)
        fault = self._befalls(command)
        if fault is Fault.BEFORE:
            process.channel.get_connection().abort()
            return
        if self.hangs:
            await asyncio.sleep(30)
        output = await self._shell(command)
        if self.cuts:
            output = output.replace("hostler: end", "hostl")
        if fault is Fault.AFTER:
            process.channel.get_connection().abort()
            return
        process.stdout.write("\x00\ufffd<html>502" if fault is Fault.GARBAGE else output)
        process.exit(0)

    def _befalls(self, command: str) -> Fault | None:
        if "rm -f" not in command:
            return None
        fault, self.fault = self.fault, None
        return fault

    async def _shell(self, command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            f"echo welcome to {self.name}\n{command}",
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            cwd=self.home,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        return output.decode()

    async def end_cleaning(self) -> None:
        """End what a cleaning left running in the background."""
        for file in self.home.glob(".hostler/clean.m-*"):
            pid = int(file.read_text().split()[-1])
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@dataclass(slots=True)
class Park:
    """Some hosts, and providers over them; `keys` are the host keys on record.

    `fleet` is the only one that providers know.
    """

    folder: Path
    hosts: list[FakeHost]
    clock: RigClock = field(default_factory=RigClock)
    release: str = ""
    fingerprint: str = ""
    fleet: FleetName = FLEET
    keys: dict[HostId, str] = field(default_factory=dict[HostId, str])

    def provider(self, installation: InstallationId = HOME, call: timedelta = CALL) -> StaticHosts:
        """Return a fresh provider of some installation."""
        site = Site(
            hosts=tuple(
                Host(
                    name=host.name,
                    address="127.0.0.1",
                    port=host.port,
                    zone=ZONE,
                    user="builder",
                    key=self.folder / "key",
                    fingerprint=self.fingerprint,
                )
                for host in self.hosts
            ),
            templates={self.fleet: StaticTemplate(release=self.release)},
            installation=installation,
        )
        provider = StaticHosts(site, HostShell(SshShell(call=call)), self.clock)
        provider.expect_host_keys(self.keys)
        return provider


@asynccontextmanager
async def park(count: int = 2, release: str = "") -> AsyncGenerator[Park]:
    """Yield some hosts that are up and free."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="static-")))
        (folder / "key").write_bytes(key("user").export_private_key())
        hosts = [
            FakeHost(f"box{number}", folder / f"box{number}") for number in range(1, count + 1)
        ]
        for host in hosts:
            host.home.mkdir()
            await host.start()
            stack.push_async_callback(host.stop)
            stack.push_async_callback(host.end_cleaning)
        yield Park(folder, hosts, release=release)


class StaticRig:
    """The rig of static hosts. A page is a host: each one is asked by itself."""

    installation = HOME
    fleet = FLEET
    offer = Offer(type="host", zone=ZONE)
    page = 1
    words = ()
    lacks: Mapping[Ability, str] = {
        Ability.WORDS: "a host that exists has no status of its provider's",
        Ability.BUSY: "a host that exists never asks to come again",
        Ability.REFUSE: "a machine is one claim: there is no other part to go on with",
        Ability.SURPLUS: "a machine has the host that it is bound to, and no second one",
    }

    def __init__(self, park: Park) -> None:
        self.park, self.clock = park, park.clock
        self.assigned = list[FakeHost]()
        self.secrets = (SECRET, key("user").export_private_key().decode().splitlines()[2])

    def host_for(self, machine: Machine) -> Machine:
        """Return the machine with the next host that no machine was given yet."""
        self.assigned.append(self.park.hosts[len(self.assigned)])
        return replace(machine, host=HostId(self.assigned[-1].name))

    async def open(self) -> Provider:
        """Return a fresh provider."""
        return self.park.provider()

    async def things(self) -> tuple[Thing, ...]:
        """Read the hosts' files: one that is cleaned by now is nobody's thing."""
        found = list[Thing]()
        for host in self.park.hosts:
            if host.claim.exists() and host.claim.read_text().startswith("hostler-claim "):
                words = [word.partition("=")[2] for word in host.claim.read_text().split()]
                machine = MachineId(words[3])
                found.append(Thing(id=allocation_of(HostId(host.name), machine), machine=machine))
        return tuple(found)

    async def wait(self, time: timedelta) -> None:
        """Let simulated time pass, and give what runs at hosts a moment of real time."""
        self.clock.pass_by(time)
        await asyncio.sleep(0.002)

    async def strike(self, fault: Fault) -> None:
        """Arm the host that was given to a machine last."""
        self.assigned[-1].fault = fault

    async def remove(self, resource: ResourceId) -> None:
        """Remove the claim by hand."""
        self._host(resource).claim.unlink()

    async def plant(self, owner_tag: OwnerTag) -> ResourceId:
        """Claim the last free host by hand."""
        host = next(host for host in reversed(self.park.hosts) if not host.claim.exists())
        host.claim.parent.mkdir(exist_ok=True)
        host.claim.write_text(
            f"hostler-claim installation={owner_tag.installation} fleet={owner_tag.fleet} "
            f"machine={owner_tag.machine}\n"
        )
        return allocation_of(HostId(host.name), owner_tag.machine)

    async def fail_page(self, number: int) -> None:
        """Take this host and all later ones from the network."""
        for host in self.park.hosts[number - 1 :]:
            await host.stop()

    async def die(self) -> None:
        """Take every host from the network."""
        await self.fail_page(1)

    async def say(self, resource: ResourceId, word: str) -> None:
        """Never asked for."""
        raise NotImplementedError

    async def refuse(self, resource: ResourceId | None) -> None:
        """Never asked for."""
        raise NotImplementedError

    def _host(self, resource: ResourceId) -> FakeHost:
        return next(host for host in self.park.hosts if resource.startswith(f"{host.name}#"))


@asynccontextmanager
async def static_world(count: int = 3, release: str = "") -> AsyncGenerator[Rig]:
    """Yield a rig over some hosts."""
    async with park(count, release) as hosts:
        yield StaticRig(hosts)


Eventually = Callable[[], Awaitable[bool]]


async def eventually(holds: Eventually) -> None:
    """Wait in real time, at most ten seconds, until something holds."""
    async with asyncio.timeout(10):
        while not await holds():  # noqa: ASYNC110 - it is the far side that is asked
            await asyncio.sleep(0.02)
