"""Sshd: a host with a real SSH server on loopback, whose disk is a folder and empties when wiped.

What is run there is run by a real shell, in a session of its own, and outlives a connection that
breaks, as at a real host. `sudo` is a script that knows `-S` and asks as the real one does.
"""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path

import asyncssh
from asyncssh.packet import UInt32

_BLINK = 0.02

_SUDO = """\
#!/bin/sh
# Knows -S and -p; asks unless there is no password; tries three times, and writes down what failed.
d=$(dirname "$0") asks= ok=
while [ "${1#-}" != "$1" ]; do
  case "$1" in -S) asks=1 ;; -p) shift; SUDO_PROMPT=$1 ;; esac
  shift
done
[ -e "$d/password" ] || exec "$@"
[ -n "$asks" ] || { echo "sudo: a terminal is required to read the password" >&2; exit 1; }
for try in 1 2 3; do
  printf %s "${SUDO_PROMPT-Password:}" >&2
  IFS= read -r given || { echo "sudo: no password was provided" >&2; exit 1; }
  [ "$given" = "$(cat "$d/password")" ] && exec "$@"
  echo "try $try" >>"$d/wrong"
  echo "Sorry, try again." >&2
done
exit 1
"""


@cache
def new_key(name: str) -> asyncssh.SSHKey:
    """Return a key, made once for all tests of a process."""
    made: asyncssh.SSHKey = asyncssh.generate_private_key("ssh-ed25519", comment=name)  # pyright: ignore[reportUnknownMemberType] - its keywords are untyped
    return made


class SshHost:
    """One host. What befalls it is set at any time; what it saw is there to be read.

    `rejects`: it takes no key. `slow`: how long each login waits; `stalls`: how long each command
    does. `cuts`: a command with these words in it loses its connection once it has printed
    something, and runs on.
    `greeting`: what the user's shell prints before each command.
    `logins` are the users who asked to log in, `commands` what was run.
    """

    address = "127.0.0.1"

    def __init__(self, folder: Path) -> None:
        self.disk = folder / "disk"
        self._bin = folder / "bin"
        self.port = 0
        self.generation = 1
        self.rejects = False
        self.slow = self.stalls = timedelta(0)
        self.cuts = self.greeting = ""
        self.logins, self.commands = list[str](), list[str]()
        self._children = list[Process]()
        self._server: asyncssh.SSHAcceptor | asyncio.Server | None = None
        self._strange = False
        self._silent = list[asyncio.StreamWriter]()
        self.disk.mkdir()
        self._bin.mkdir()
        (self._bin / "sudo").write_text(_SUDO)
        (self._bin / "sudo").chmod(0o755)

    @property
    def key(self) -> bytes:
        """The private key that may log in."""
        return new_key("user").export_private_key()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key that the host has now."""
        return self._host_key().get_fingerprint()

    @property
    def wrong_passwords(self) -> int:
        """How many wrong passwords sudo was given."""
        file = self._bin / "wrong"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def ask_for(self, password: str) -> None:
        """Let sudo ask for this password."""
        (self._bin / "password").write_text(password)

    async def start(self) -> None:
        """Listen, at the same port as before."""
        self._server = await asyncssh.listen(
            self.address,
            self.port,
            server_factory=lambda: _Frontend(self),
            server_host_keys=[self._host_key()],
            process_factory=self._serve,
            encoding=None,
            allow_scp=False,
        )
        self.port = self._server.get_port()

    async def stop(self) -> None:
        """Refuse connections; those that are there go on."""
        server, self._server = self._server, None
        for writer in self._silent:
            writer.transport.abort()
        self._silent.clear()
        if server is not None:
            server.close()
            await server.wait_closed()

    async def hang(self, says: bytes = b"") -> None:
        """Accept connections, say this, and then nothing."""

        async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._silent.append(writer)
            with suppress(OSError):
                writer.write(says)
                await reader.read(-1)

        await self.stop()
        self._server = await asyncio.start_server(keep, self.address, self.port)

    async def reinstall(self) -> None:
        """Wipe the disk; the host has another key then, and nothing runs that ran."""
        await self.stop()
        await self.kill()
        shutil.rmtree(self.disk)
        self.disk.mkdir()
        self.generation += 1
        await self.start()

    async def kill(self) -> None:
        """End everything that runs at the host."""
        for child in self._children:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
        self._children.clear()

    def estrange(self) -> None:
        """Let the next connection meet another host in this one's place."""
        assert isinstance(self._server, asyncssh.SSHAcceptor)
        self._server.update(server_host_keys=[new_key("stranger")])
        self._strange = True

    def met(self) -> None:
        """Be the right host again for whoever comes next."""
        if self._strange and isinstance(self._server, asyncssh.SSHAcceptor):
            self._server.update(server_host_keys=[self._host_key()])
            self._strange = False

    def greet(self, user: str) -> None:
        """Write down who asked to log in."""
        self.logins.append(user)

    def knows(self, key: asyncssh.SSHKey) -> bool:
        """Tell whether this key may log in."""
        return not self.rejects and key.public_data == new_key("user").public_data

    def _host_key(self) -> asyncssh.SSHKey:
        return new_key(f"{self.disk} {self.generation}")

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = process.command or ""
        self.commands.append(command)
        await asyncio.sleep(self.stalls.total_seconds())
        if self.greeting:
            (self._bin / "greeting").write_text(self.greeting)
            command = f"cat {self._bin}/greeting; {command}"
        ours, theirs = os.pipe()  # asyncio's own would have wait() wait for whoever holds it
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command,
            env={"HOME": str(self.disk), "PATH": f"{self._bin}:{os.environ['PATH']}"},
            cwd=self.disk,
            stdin=PIPE,
            stdout=theirs,
            stderr=STDOUT,
            start_new_session=True,
        )
        os.close(theirs)
        self._children.append(child)
        cut = bool(self.cuts) and self.cuts in command
        await _Relay(process, child, ours, cut=cut).go()


class _Relay:
    """Carries what goes in and out of a command."""

    def __init__(
        self, process: asyncssh.SSHServerProcess[bytes], child: Process, output: int, *, cut: bool
    ) -> None:
        self._process, self._child, self._cut = process, child, cut
        self._output = output

    async def go(self) -> None:
        """Relay until the command ends, or the connection does."""
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(self._in())
            out = group.create_task(self._out())
            code = await self._child.wait()
            if code >= 0:
                self._tell(code)
            await out
            feeding.cancel()
        if code < 0:
            with suppress(OSError):
                self._process.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
        self._process.close()

    def _tell(self, code: int) -> None:
        """Tell the status at once, as OpenSSH does; the channel stays open for more output."""
        with suppress(OSError):
            self._process.channel._send_request(b"exit-status", UInt32(code))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its public one closes the channel

    async def _in(self) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        try:
            while data := await self._process.stdin.read(4096):
                stdin.write(data)
                await stdin.drain()
            stdin.close()
            while True:  # a signal is read like input, also after the end of it
                await self._process.stdin.read(1)
                await asyncio.sleep(_BLINK)
        except asyncssh.SignalReceived:
            os.killpg(self._child.pid, signal.SIGKILL)
        except (asyncssh.Error, OSError):
            return  # the connection is gone, or the command: its input ends
        finally:
            stdin.close()

    async def _out(self) -> None:
        stdout = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(self._output, "rb", 0)
        )
        try:
            while data := await stdout.read(65536):
                self._process.stdout.write(data)
                await self._process.stdout.drain()
                if self._cut:
                    self._process.channel.get_connection().abort()
            self._process.stdout.write_eof()  # long before the end, where a command closes it
        except (asyncssh.Error, OSError):
            return  # nobody listens any more
        finally:
            transport.close()


class _Frontend(asyncssh.SSHServer):
    """Lets in whom the host knows."""

    def __init__(self, host: SshHost) -> None:
        self._host = host

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        del conn
        self._host.met()

    async def begin_auth(self, username: str) -> bool:
        self._host.greet(username)
        await asyncio.sleep(self._host.slow.total_seconds())
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        del username
        return self._host.knows(key)


@asynccontextmanager
async def ssh_host(folder: Path) -> AsyncGenerator[SshHost]:
    """Yield a host that listens; at the end nothing of it runs."""
    host = SshHost(folder)
    await host.start()
    try:
        yield host
    finally:
        await host.kill()
        await host.stop()
