"""A simulated Scaleway for the tests of it: in process under a clock of ours, and on a socket."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl

import pytest

from hostler.ports.http import HttpRequest, Response
from hostler.simulators.scaleway.faults.rates import CALM, FaultRates
from hostler.simulators.scaleway.http import Settings, SimulatorServer, run_simulator
from hostler.simulators.scaleway.state.calls import Reply
from hostler.simulators.scaleway.state.options import Options
from hostler.simulators.scaleway.world import World

SECRET = "11111111-2222-4333-8444-555555555555"
ZONE = "/instance/v1/zones/fr-par-1"
BLOCK = "/block/v1/zones/fr-par-1"


@dataclass(slots=True)
class Bench:
    """A world with a clock that stands still until it is moved, and short ways to ask it."""

    options: Options = Options()
    fault_rates: FaultRates = CALM
    seed: int = 1
    now: float = 0.0
    secret: str = SECRET
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(lambda: self.now, Random(self.seed), self.options, self.fault_rates)

    def reply(self, method: str, path: str, body: object = None, query: str = "") -> Reply:
        """Ask and return the whole reply."""
        pairs = tuple(parse_qsl(query))
        raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        headers = (("X-Auth-Token", self.secret),) if self.secret else ()
        return self.world.handle(
            HttpRequest(method=method, path=path, query=pairs, headers=headers, body=raw)
        )

    def ask(self, method: str, path: str, body: object = None, query: str = "") -> Response:
        """Ask and return the answer; fail where there is none."""
        response = self.reply(method, path, body, query).response
        assert response is not None
        return response

    def json(self, method: str, path: str, body: object = None, query: str = "") -> Any:
        """Ask and return the decoded answer, which must be a good one."""
        response = self.ask(method, path, body, query)
        assert response.status < 300, response.body
        return json.loads(response.body)

    def refusal(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Ask and return status and decoded body of a refusal."""
        response = self.ask(method, path, body)
        assert response.status >= 400, response.body
        return response.status, json.loads(response.body)

    def server(self, **fields: object) -> Any:
        """Create a server and return its body."""
        body = {
            "name": "s",
            "commercial_type": "DEV1-S",
            "image": "ubuntu_noble",
            "dynamic_ip_required": False,
            **fields,
        }
        return self.json("POST", f"{ZONE}/servers", body)["server"]

    def read_server(self, server_id: str) -> Any:
        """Return the body of a server."""
        return self.json("GET", f"{ZONE}/servers/{server_id}")["server"]

    def act(self, server_id: str, action: str) -> Response:
        """Ask for an action."""
        return self.ask("POST", f"{ZONE}/servers/{server_id}/action", {"action": action})

    def until(self, server_id: str, state: str, limit: float = 300.0) -> Any:
        """Move the clock on until a server shows a state, or is gone ("gone"); return its body."""
        end = self.now + limit
        while self.now < end:
            response = self.ask("GET", f"{ZONE}/servers/{server_id}")
            if response.status == 404:
                assert state == "gone"
                return None
            server = json.loads(response.body)["server"]
            if server["state"] == state:
                return server
            self.now += 0.25
        pytest.fail(f"{server_id} never showed {state}")

    def running(self, **fields: object) -> Any:
        """Create a server, start it, and return its body once it runs."""
        server = self.server(**fields)
        assert self.act(server["id"], "poweron").status == 202
        return self.until(server["id"], "running")


@pytest.fixture(scope="session", autouse=True)
def no_loop_made_in_passing() -> None:
    """Keep plugins that look for the current loop from making one that nobody closes."""
    asyncio.set_event_loop(None)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@dataclass(slots=True)
class Running:
    """A simulator on a socket, in a thread of its own."""

    settings: Settings
    server: SimulatorServer | None = None
    loop: asyncio.AbstractEventLoop | None = None
    ready: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread = field(init=False)
    task: "asyncio.Task[None] | None" = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(10), "the simulator did not start"

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    @property
    def world(self) -> World:
        assert self.server is not None
        return self.server.world

    def stop(self) -> None:
        """Stop it and wait for its thread."""
        assert self.loop is not None
        assert self.task is not None
        self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join(10)
        assert not self.thread.is_alive()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            self.loop = runner.get_loop()
            try:
                runner.run(self._serve())
            except asyncio.CancelledError:
                return

    async def _serve(self) -> None:
        self.task = asyncio.current_task()
        await run_simulator(self.settings, self._started)

    def _started(self, server: SimulatorServer) -> None:
        self.server = server
        self.ready.set()


Start = Callable[..., Running]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start simulators on sockets; they are stopped at the end of the test."""
    started: list[Running] = []

    def begin(**settings: Any) -> Running:
        asked: dict[str, Any] = {"port": 0, "speed": 20.0, **settings}
        started.append(Running(Settings(**asked)))
        return started[-1]

    yield begin
    for running in started:
        running.stop()
