"""SSH: the shell port over asyncssh. Keys only, pinned hosts, nothing forwarded."""

import asyncio
from datetime import timedelta

import asyncssh

from .host_keys import HostKeys
from .settings import Host
from .shell import Lost, NotReached

CONNECT = timedelta(seconds=5)
CALL = timedelta(seconds=20)
_LONGEST = 200


class SshShell:
    """Logs in again for each command: a host is busy for moments, and asked rarely."""

    def __init__(
        self,
        host_keys: HostKeys,
        connect: timedelta = CONNECT,
        call: timedelta = CALL,
    ) -> None:
        self._host_keys, self._connect, self._call = host_keys, connect, call

    async def run(self, host: Host, command: str) -> str:
        """Log in, run one command and return what it printed; raises NotReached or Lost only."""
        connection = await self._login(host)
        try:
            async with asyncio.timeout(self._call.total_seconds()):
                result = await connection.run(command, stdin=asyncssh.DEVNULL, errors="replace")
        except TimeoutError as error:
            raise Lost(f"{host.name}: no answer within {self._call}") from error
        except (asyncssh.Error, OSError) as error:
            raise Lost(f"{host.name}: {_said(error)}") from error
        finally:
            connection.abort()
        if result.exit_status is None:
            raise Lost(f"{host.name}: the connection went away")
        return str(result.stdout)

    async def _login(self, host: Host) -> asyncssh.SSHClientConnection:
        guard = _Guard(host, self._host_keys)
        keys = {"client_keys": [str(host.key)], "agent_path": None} if host.key else {}
        try:
            async with asyncio.timeout(self._connect.total_seconds()):
                return await asyncssh.connect(
                    host.address,
                    port=host.port,
                    username=host.user,
                    client_factory=lambda: guard,
                    known_hosts=([], [], []),
                    server_host_key_algs="default",
                    config=None,
                    password_auth=False,
                    kbdint_auth=False,
                    agent_forwarding=False,
                    **keys,
                )
        except TimeoutError as error:
            raise NotReached(f"{host.name}: no login within {self._connect}") from error
        except (asyncssh.Error, asyncssh.KeyImportError, OSError) as error:
            raise NotReached(f"{host.name}: {guard.wrong or _said(error)}") from error

    async def close(self) -> None:
        """Nothing is held."""


class _Guard(asyncssh.SSHClient):
    """Judges a host's key: by its fingerprint in the fleet file, or by the first one it showed."""

    def __init__(self, host: Host, host_keys: HostKeys) -> None:
        self._host, self._host_keys = host, host_keys
        self.wrong = ""

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Tell whether this is the host that is meant."""
        del host, addr, port
        shown, wanted = key.get_fingerprint(), self._host.fingerprint
        if wanted:
            self.wrong = "" if shown == wanted else f"it shows the key {shown}, not {wanted}"
        else:
            self.wrong = self._host_keys.check(self._host.name, shown)
        return not self.wrong


def _said(error: Exception) -> str:
    """Return an error in a line, without the names of files that it may hold."""
    if isinstance(error, asyncssh.Error):
        return error.reason[:_LONGEST]
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
