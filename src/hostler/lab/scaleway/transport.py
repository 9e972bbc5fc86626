"""The transport of a simulated process to the simulated Scaleway, through the process's gate."""

import asyncio
from datetime import timedelta
from typing import Protocol

from hostler.lab.harness.gates import Gate
from hostler.lab.harness.process_run import ProcessRun
from hostler.ports.clock import Clock
from hostler.ports.http import HttpRequest, Response, Transport
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.world import World

from .bystanders import SECRET
from .checker import ScalewayChecker


class Wire(Transport, Protocol):
    """A transport whose network can be down."""

    down: bool


class SendObserver(Protocol):
    """Who hears of what a process sends."""

    def begins(self, request: HttpRequest) -> None:
        """Note a request at its beginning."""
        ...

    def sends(self, request: HttpRequest, *, network_down: bool) -> None:
        """Note a request that the process lived to send, whether or not it arrives."""
        ...

    def receives(self, request: HttpRequest, response: Response, begun: float) -> None:
        """Note an answer that the process lived to get to what it sent then."""
        ...


class GatedTransport:
    """Sends to the world through a gate; implements `hostler.ports.http.Transport`."""

    def __init__(self, inner: Wire, gate: Gate, observer: SendObserver) -> None:
        self._inner, self._gate, self._observer = inner, gate, observer

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once; whoever was killed or stopped sends nothing."""
        if not self._gate.dead:
            self._observer.begins(request)
        await self._gate.pass_through("http", before=True)
        self._observer.sends(request, network_down=self._inner.down)
        begun = asyncio.get_running_loop().time()
        response = await self._inner.send(request, deadline)
        await self._gate.pass_through("http", before=False)
        self._observer.receives(request, response, begun)
        return response

    async def close(self) -> None:
        """Send nothing any more."""
        await self._inner.close()


class EngineRequests:
    """Holds the requests of one engine against the truth. Implements `SendObserver`."""

    def __init__(self, run: ProcessRun, checker: ScalewayChecker) -> None:
        self._run, self._checker = run, checker

    def begins(self, request: HttpRequest) -> None:
        """Check what would be changed, and under which lease."""
        holds_lease = self._run.holds_lease()
        self._checker.asked(self._run.shadow, request, holds_lease=holds_lease)
        self._checker.counted(self._run.name, request)

    def sends(self, request: HttpRequest, *, network_down: bool) -> None:
        """Count creations, and what a network that is down swallows."""
        if network_down:
            self._checker.struck("network_down")
        elif request.method == "POST" and request.path.endswith("/servers"):
            self._checker.creation_tried(self._run.shadow, next(iter(self._run.shadow.fleets)))

    def receives(self, request: HttpRequest, response: Response, begun: float) -> None:
        """Read listings by what came of them."""
        span = begun, self._checker.now
        self._checker.pages.answered(self._run.name, request, response, span)


def client_of(run: ProcessRun, world: World, checker: ScalewayChecker) -> Client:
    """Return the real client of one run of an engine, over a transport through its gate."""
    return client(gated(WorldTransport(world, run.name), run, checker), world, run.clock)


def gated(wire: Wire, run: ProcessRun, checker: ScalewayChecker) -> GatedTransport:
    """Return the transport of one run of an engine, through its gate and cut with its network."""
    run.link(wire)
    return GatedTransport(wire, run.gate, EngineRequests(run, checker))


def client(transport: Transport, world: World, clock: Clock) -> Client:
    """Return the real client over a transport to a world, with the key that opens it."""
    account = Account(project=world.options.project, secret_key=Secret(SECRET))
    return Client(transport, account, clock)
