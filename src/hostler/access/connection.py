"""Connection: one login by SSH, by keys alone, at a host whose key is checked."""

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import asyncssh

from hostler.ports.shell import KeyCheck, Login

_KEYS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
"""The host keys that are asked for, in an order that no library's default may change: a host has
several, and another one of them would look like another host."""

_NOBODY: tuple[list[str], list[str], list[str]] = ([], [], [])
"""Hosts, authorities and revoked keys that are known beforehand: the guard alone decides."""

_ALIVE = timedelta(seconds=15)
_SILENCES = 3


@dataclass(slots=True)
class Line:
    """A login, or why there is none.

    `host_key` is the host's key as far as it got, `wrong` what is wrong with it; `denied` says that
    the host takes none of our keys, `unusable` that ours cannot be read. `error` is in the words of
    the far side or of the library, and not fit to be shown as it is.
    """

    connection: asyncssh.SSHClientConnection | None = None
    host_key: str = ""
    wrong: str = ""
    denied: bool = False
    unusable: bool = False
    error: str = ""


@dataclass(slots=True)
class _Guard(asyncssh.SSHClient):
    """Judges the host's key before anything else is sent."""

    check: KeyCheck
    line: Line = field(default_factory=Line)

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Tell whether this is the host that is meant; a new exchange of keys asks again."""
        del host, addr, port
        self.line.host_key = key.get_fingerprint()
        self.line.wrong = self.check(self.line.host_key)
        return not self.line.wrong


NO_KEY = (
    "no private key is named for this login (`key`, the key of a Secret): objects of a cluster are "
    "not lent what the SSH agent and ~/.ssh of the engine offer"
)


async def dial(login: Login, within: timedelta) -> Line:
    """Log in within this time; never raises for what the outside does.

    Neither a password nor a configuration file is ever used. The connection is the caller's to end,
    with `hang_up`.
    """
    guard = _Guard(login.check)
    if not login.keys and not login.lent:
        return Line(denied=True, error=NO_KEY)
    try:
        options = _options(login)
    except (ValueError, OSError) as error:  # each of the library's own about keys is a ValueError
        return Line(unusable=True, error=reason_of(error))
    try:
        async with asyncio.timeout(within.total_seconds()):
            guard.line.connection = await asyncssh.connect(
                login.address,
                port=login.port,
                client_factory=lambda: guard,
                options=options,
            )
    except TimeoutError:
        guard.line.error = f"no login within {within.total_seconds():g} s"
    except asyncssh.PermissionDenied as error:
        guard.line.denied, guard.line.error = True, error.reason
    except (asyncssh.Error, OSError, ValueError) as error:
        guard.line.error = reason_of(error)
    return guard.line


def _options(login: Login) -> asyncssh.SSHClientConnectionOptions:
    options = asyncssh.SSHClientConnectionOptions(
        username=login.user,
        config=None,
        known_hosts=_NOBODY,
        server_host_key_algs=_KEYS,
        password_auth=False,
        kbdint_auth=False,
        host_based_auth=False,
        gss_kex=False,
        gss_auth=False,
        agent_forwarding=False,
        keepalive_interval=_ALIVE.total_seconds(),
        keepalive_count_max=_SILENCES,
    )
    if not login.keys:
        return options
    own = [
        str(key) if isinstance(key, Path) else asyncssh.import_private_key(key)
        for key in login.keys
    ]
    return asyncssh.SSHClientConnectionOptions(options, client_keys=own, agent_path=None)


async def hang_up(line: Line) -> None:
    """End a login; one that is not there, or was cut, is ended already."""
    if line.connection is None:
        return
    line.connection.abort()
    with contextlib.suppress(asyncssh.Error, OSError):
        await line.connection.wait_closed()


def unusable(why: str) -> str:
    """Return what is said of a key of ours that cannot be read, with the cure."""
    return f"our own key cannot be read ({why}): it must be a private key without a passphrase"


def reason_of(error: Exception) -> str:
    """Return an error in its own words, without the names of files that it may hold."""
    if isinstance(error, asyncssh.Error):
        return error.reason
    if not isinstance(error, OSError):
        return type(error).__name__
    if error.errno and error.errno > 0:  # the text of asyncio repeats the address
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__
