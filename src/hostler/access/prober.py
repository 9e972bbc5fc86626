"""The real prober: a connection, a command on our side, or a login by SSH."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from pathlib import Path

from hostler.domain.ids import MachineId
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.ports.programs import killed, started
from hostler.ports.provider import Connection
from hostler.ports.shell import Login, pinned

Verdict = tuple[bool, str]

_LONGEST = 200
_KEPT = 4096
"""Bytes of a command's output that are kept: its end."""
_HARMLESS = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "PWD"}
)


class SystemProber:
    """Probes over the network that this process is in.

    `keys` are private keys, as files hold them, for the probe by SSH; without any, the probe's own,
    the connection's, or else an agent's and the user's own are tried. A machine with a private
    address too passes by either.
    """

    def __init__(self, keys: tuple[bytes, ...] = (), *, lends: bool = True) -> None:
        """Try these keys; `lends` to all logins what an agent and the user's own files offer."""
        self._keys, self._lends = keys, lends

    async def probe(self, machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
        """Probe once within the probe's timeout; what could not be run has not passed."""
        ways: dict[ProbeKind, Callable[[MachineId, Connection, Probe], Awaitable[Verdict]]] = {
            ProbeKind.API: _api,
            ProbeKind.TCP: _tcp,
            ProbeKind.COMMAND: _command,
            ProbeKind.SSH: self._ssh,
            ProbeKind.NODE: _node,
        }
        try:
            async with asyncio.timeout(probe.timeout.total_seconds()):
                return await ways[probe.kind](machine, connection, probe)
        except TimeoutError:
            return False, f"no answer within {probe.timeout.total_seconds():g} s"
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            return False, named + (error.strerror or type(error).__name__)

    async def _ssh(self, machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
        del machine
        return await _either(
            self._login(address, connection, probe) for address in _addresses(connection)
        )

    async def _login(self, address: str, connection: Connection, probe: Probe) -> Verdict:
        """Log in once; before its first boot a host's key is known only where settings name it.

        Nothing is sent but the login, by keys, never a password; and not even that where the host
        shows another key than the one that is known.
        """
        from .connection import dial, hang_up  # asyncssh takes a quarter of a second

        own = (Path(probe.key),) if probe.key else connection.keys
        login = Login(
            address=address,
            port=probe.port or connection.port,
            user=probe.user or connection.user,
            keys=self._keys or own,
            check=pinned(connection.fingerprint),
            lent=self._lends or connection.lent,
        )
        reached = await dial(login, probe.timeout)
        await hang_up(reached)
        if reached.connection is None:
            return False, f"no login at {login}: {reached.wrong or reached.error}"[:_LONGEST]
        return True, f"{login.user} may log in"


async def _api(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    del machine, connection, probe
    return True, "up"


async def _node(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    del machine, connection, probe
    return False, "no cluster is spoken to here"


async def _tcp(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    del machine
    port = probe.port or connection.port
    return await _either(_accepts(address, port) for address in _addresses(connection))


async def _either(ways: Iterable[Coroutine[None, None, Verdict]]) -> Verdict:
    """Return the first verdict that has passed, or else the last one; the others are given up."""
    passed, seen = False, ""
    async with asyncio.TaskGroup() as group:
        waiting = {group.create_task(way) for way in ways}
        while waiting and not passed:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            passed, seen = max(task.result() for task in done)
        for task in waiting:
            task.cancel()
    return passed, seen


async def _accepts(address: str, port: int) -> Verdict:
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError as error:
        return False, error.strerror or type(error).__name__
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True, f"port {port} accepts connections"


def _addresses(connection: Connection) -> tuple[str, ...]:
    """Return where a machine may answer."""
    return tuple(dict.fromkeys(a for a in (connection.internal, connection.address) if a))


async def _command(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    environment = {
        **{name: value for name, value in os.environ.items() if _is_harmless(name)},
        "HOSTLER_ADDRESS": connection.address,
        "HOSTLER_PORT": str(probe.port or connection.port),
        "HOSTLER_MACHINE": machine,
    }
    output = bytearray()
    async with started(probe.command, environment) as program:
        async for piece in program.pieces():
            output += piece
            del output[:-_KEPT]
        status = await program.status()
    lines = output.decode(errors="replace").strip().splitlines()
    last = lines[-1][:_LONGEST] if lines else ""
    return status == 0, f"{killed(status) or f'exit {status}'}: {last}".removesuffix(": ")


def _is_harmless(name: str) -> bool:
    """Tell whether a variable of our environment may be seen by a command: no secret is in it."""
    return name in _HARMLESS or name.startswith("LC_")
