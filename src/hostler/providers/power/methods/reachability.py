"""Reachability: whether a port of the machine answers; that it is off, only a long silence tells.

For machines that nothing else can be asked about. Silence is not off: a system that hangs, starts
anew, or lost its network is silent too.
"""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.ports.addresses import canonical
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.addresses import faults_of
from hostler.providers.power.switch import MethodTable, Reading, switch_of

_LEAST = timedelta(minutes=1)
_READINGS = 3
"""How many readings in a row were silent at least: one packet is easily lost."""
_REFUSED = "refused"
_HERE = frozenset(
    {
        errno.EACCES,
        errno.EADDRNOTAVAIL,
        errno.EMFILE,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EPERM,
    }
)
"""Errors by which this computer says that it cannot ask: nothing of them is the machine's."""
_NAMES = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM})
"""Those of a name server that does not answer; a machine that is off may lose its name."""
_PATIENCE = timedelta(seconds=3)
Place = tuple[str, int]


class ReachabilityTable(MethodTable, frozen=True, kw_only=True):
    """A machine of which a port is asked whether it answers."""

    address: Annotated[str, Meta(min_length=1, description="its address or name in the network")]
    off_after: Annotated[
        timedelta,
        Meta(
            description="how long it is silent before it is held to be off: longer than it takes "
            "to start anew"
        ),
    ]
    port: Annotated[int, Meta(ge=1, le=65535, description="a port that is open while it is up")] = (
        22
    )
    witness: Annotated[
        str | None,
        Meta(
            description="what must answer, as ADDRESS:PORT, for a silence to count: the router or "
            "the switch on the way to it"
        ),
    ] = None


class Reachability:
    """Implements `PowerMethod`."""

    settings = ReachabilityTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it can be asked, and switches nothing."""
        table = table_of(ReachabilityTable, settings)
        return PowerCapabilities(
            actions=frozenset(), query=True, settles=table.settles, deadline=table.deadline
        )

    def endpoint(self, settings: object) -> str:
        """Return the port."""
        table = table_of(ReachabilityTable, settings)
        return f"reachability {canonical(table.address)}:{table.port}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return a silence that is too short, and a witness that is no address and port."""
        table = table_of(ReachabilityTable, settings)
        found = [*faults_of("address", table.address)]
        if table.off_after < _LEAST:
            found.append("off_after: expected a minute at least: a system that restarts is silent")
        if table.witness is not None and _place(table.witness) is None:
            found.append("witness: expected ADDRESS:PORT, such as 192.0.2.1:80")
        return tuple(found)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return nothing: it needs no secret and no file."""
        del settings, folder, environment
        return ()

    def open(self, opening: PowerOpening) -> Power:
        """Return what asks the port."""
        table = table_of(ReachabilityTable, opening.settings)
        return switch_of(Port(table, dial), self.capabilities(table), opening)


def _place(text: str) -> Place | None:
    """Return an address and a port, or None where the text is none."""
    address, _, port = text.rpartition(":")
    known = (
        address
        and port.isascii()
        and port.isdecimal()
        and len(port) < 6
        and 0 < int(port) < 1 << 16
    )
    host = address.strip("[]")
    return (host, int(port)) if known and not any(faults_of("witness", host)) else None


async def dial(address: str, port: int) -> None:
    """Open a TCP connection and close it again; raises OSError where nothing answers in time."""
    async with asyncio.timeout(_PATIENCE.total_seconds()):
        _, writer = await asyncio.open_connection(address, port)
    writer.transport.abort()


class Port:
    """One port of one machine, and since when it is silent. Implements `Device` and `Guesses`.

    Times are those of the event loop: a wall clock may jump.
    """

    def __init__(
        self, table: ReachabilityTable, dial: Callable[[str, int], Awaitable[None]]
    ) -> None:
        self._table, self._dial = table, dial
        self._witness = _place(table.witness) if table.witness is not None else None
        self._silent: tuple[float, int] | None = None

    async def act(self, action: PowerAction) -> None:
        """Switch nothing: it has no action."""
        raise NotImplementedError(action)

    async def read(self) -> Reading:
        """Ask the port, and the witness where it is silent."""
        begun, port = asyncio.get_running_loop().time(), self._table.port
        silence, here = await self._silence((self._table.address, port))
        if silence in {"", _REFUSED}:
            self._silent = None
            how = "is closed, and its system answers" if silence else "answers"
            return Reading(state=PowerState.ON, text=f"port {port} {how}")
        if here:
            self._silent = None
            text = f"{silence}: it cannot be asked from here"
            return Reading(state=PowerState.UNKNOWN, text=text)
        why = (await self._silence(self._witness))[0] if self._witness is not None else ""
        if why not in {"", _REFUSED}:
            self._silent = None
            text = f"{silence}, and the witness {self._table.witness} does not answer: {why}"
            return Reading(state=PowerState.UNKNOWN, text=text)
        return self._silent_since(begun, silence)

    def _silent_since(self, begun: float, silence: str) -> Reading:
        since, readings = self._silent or (begun, 0)
        self._silent = (since, readings + 1)
        passed, least = begun - since, self._table.off_after.total_seconds()
        if passed >= least and readings + 1 >= _READINGS:
            return Reading(state=PowerState.OFF, text=f"{silence} for {passed:.0f} s")
        text = f"{silence} for {passed:.0f} s; after {least:.0f} s it is held to be off"
        return Reading(state=PowerState.UNKNOWN, text=text)

    async def _silence(self, place: Place) -> tuple[str, bool]:
        """Return why a port does not answer; empty where it does, `refused` where it is closed.

        Then, whether it was not asked: the trouble is with this computer.
        """
        try:
            await self._dial(*place)
        except ConnectionRefusedError:
            return _REFUSED, False
        except TimeoutError:
            return f"port {place[1]} does not answer", False
        except OSError as error:
            why = f"port {place[1]} does not answer ({error.strerror or error})"
            return why, _is_here(error)
        return "", False

    def overruled(self) -> None:
        """Count a silence anew: the machine may have answered meanwhile, and nobody asked."""
        self._silent = None

    async def close(self) -> None:
        """Nothing is kept open."""


def _is_here(error: OSError) -> bool:
    """Tell whether an error is of this computer, or of its name server."""
    return error.errno in (_NAMES if isinstance(error, socket.gaierror) else _HERE)
