"""The real prober: a connection, a command on our side, or a login by SSH."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

from hostler.domain.fleet import Probe, ProbeKind
from hostler.domain.ids import MachineId
from hostler.ports.provider import Connection

Verdict = tuple[bool, str]

_LONGEST = 200


class SystemProber:
    """Probes over the network that this process is in."""

    async def probe(self, machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
        """Probe once within the probe's timeout; what could not be run has not passed."""
        ways: dict[ProbeKind, Callable[[MachineId, Connection, Probe], Awaitable[Verdict]]] = {
            ProbeKind.API: _api,
            ProbeKind.TCP: _tcp,
            ProbeKind.COMMAND: _command,
            ProbeKind.SSH: _ssh,
        }
        try:
            async with asyncio.timeout(probe.timeout.total_seconds()):
                return await ways[probe.kind](machine, connection, probe)
        except TimeoutError:
            return False, f"no answer within {probe.timeout.total_seconds():g} s"
        except OSError as error:
            return False, error.strerror or type(error).__name__


async def _api(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    del machine, connection, probe
    return True, "up"


async def _tcp(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    del machine
    _, writer = await asyncio.open_connection(connection.address, probe.port)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True, f"port {probe.port} accepts connections"


async def _command(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    environment = {
        **os.environ,
        "HOSTLER_ADDRESS": connection.address,
        "HOSTLER_PORT": str(probe.port),
        "HOSTLER_MACHINE": machine,
    }
    process = await asyncio.create_subprocess_exec(
        *probe.command,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        await _kill(process)
        raise
    said = output.decode(errors="replace").strip().splitlines()
    last = said[-1][:_LONGEST] if said else ""
    return process.returncode == 0, f"exit {process.returncode}: {last}".removesuffix(": ")


async def _kill(process: asyncio.subprocess.Process) -> None:
    """End the command and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    await process.wait()


async def _ssh(machine: MachineId, connection: Connection, probe: Probe) -> Verdict:
    """Log in and out again. The host's key is not known before its first boot: none is asked for.

    Nothing is sent but the login, by keys (an agent's, or the user's own files), never a password.
    """
    import asyncssh

    del machine
    try:
        async with asyncssh.connect(
            connection.address,
            port=probe.port,
            username=probe.user,
            known_hosts=None,
            password=None,
            kbdint_auth=False,
            password_auth=False,
        ):
            return True, f"{probe.user} may log in"
    except asyncssh.Error as error:
        return False, f"no login: {error.reason}"[:_LONGEST]
