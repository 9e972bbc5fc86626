"""Process: one simulated engine process, with the real provider and client; it dies and returns."""

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, MachineId, machine_id
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.commands import Decision
from hostler.domain.model.fleet import Fleet, Probe
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities, Planner
from hostler.domain.model.resource import Observation, Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.ports.http import HttpRequest, Response
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Connection, Provider
from hostler.ports.store import Store
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Account as Key
from hostler.providers.scaleway.common.settings import Secret
from hostler.simulators.scaleway.in_process import WorldTransport
from hostler.simulators.scaleway.world import World
from hostler.testing.invariants import Violation
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import LIFE, Life, SimLoop

from .bystanders import SECRET
from .gated_store import GatedStore
from .gates import Gate
from .metrics import CheckedMetrics
from .prediction import MOST_GAP, PredictionCheck
from .recorder import Recorder

_LATENCY = 0.05


@dataclass(slots=True, kw_only=True)
class Home:
    """What all processes of one installation share; `fleets` are what its file says just now."""

    loop: SimLoop
    checker: Checker
    shadow: ShadowStore
    project: str
    fleets: tuple[Fleet, ...]
    settings: Settings
    replicas: int
    watched: "type[WatchedProvider]"
    answers: Callable[[World, str], bool]
    open_provider: Callable[[Client, SimClock], Provider]
    open_store: Callable[[], Store]
    open_preparer: "Callable[[Process, Gate], Preparer | None]"


class WatchedTransport:
    """Sends to the world through a gate; implements `hostler.ports.http.Transport`."""

    def __init__(self, inner: WorldTransport, process: "Process", gate: Gate) -> None:
        self.inner = inner
        self._process, self._gate = process, gate

    async def send(self, request: HttpRequest, deadline: timedelta) -> Response:
        """Send once; whoever was killed or stopped sends nothing."""
        process = self._process
        if not self._gate.dead:
            process.home.checker.asked(
                process.home.shadow, request, holds_lease=process.holds_lease()
            )
        await self._gate.pass_through("http", before=True)
        if self.inner.down:
            process.home.checker.struck("network_down")
        elif request.method == "POST" and request.path.endswith("/servers"):
            process.home.checker.creation_tried(process.home.shadow, process.home.fleets[0].name)
        response = await self.inner.send(request, deadline)
        await self._gate.pass_through("http", before=False)
        return response

    async def close(self) -> None:
        """Send nothing any more."""
        await self.inner.close()


class WatchedProvider:
    """The real provider; what it is asked and answers is held against what was predicted."""

    def __init__(self, inner: Provider, process: "Process", prediction: PredictionCheck) -> None:
        self._inner, self._process, self._prediction = inner, process, prediction

    @property
    def capabilities(self) -> Capabilities:
        """How its machines behave."""
        return self._inner.capabilities

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Look, and note what was seen whole."""
        observation = await self._inner.observe(scopes)
        self._prediction.invalidate_steps()
        self._prediction.observed = self._process.home.loop.time()
        self._process.home.checker.observed(self._process.home.shadow, observation.observed)
        return observation

    async def do(self, call: Call) -> Outcome:
        """Make one call."""
        checker, described = self._process.home.checker, self.described(call)
        checker.found(self._prediction.doing(described))
        checker.doing(self._process.home.shadow, described, ahead=self._process.clock.ahead)
        outcome = await self._inner.do(call)
        self._prediction.done(described, outcome)
        checker.did(self._process.home.shadow, described, outcome)
        return outcome

    def described(self, call: Call) -> Call:
        """Return the call as it is told to those who watch."""
        return call

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now."""
        return self._inner.next_calls(goal, machine, resources, now)

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return how to reach the machine."""
        return self._inner.connection(machine, resources)

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the machine's id as Kubernetes knows it."""
        return self._inner.provider_id(machine, resources)

    def cost(self, call: Call | Scope) -> int:
        """Return how many requests this takes."""
        return self._inner.cost(call)

    async def close(self) -> None:
        """Give back connections."""
        await self._inner.close()


class SimProber:
    """Reaches a machine whose guest is up, if our network is."""

    def __init__(self, process: "Process", gate: Gate) -> None:
        self._process, self._gate = process, gate

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once."""
        del machine, probe
        await self._gate.pass_through("probe", before=True)
        await asyncio.sleep(_LATENCY)
        world = self._process.home.checker.world
        world.advance()
        up = self._process.home.answers(world, connection.address) and not self._process.down
        await self._gate.pass_through("probe", before=False)
        return up, "up" if up else "no answer"


@dataclass(slots=True)
class Incarnation:
    """One run of a process, from its start to its death."""

    gate: Gate
    transport: WatchedTransport
    engine: Engine
    prediction: PredictionCheck
    metrics: CheckedMetrics
    store: Store
    checker: Checker
    shadow: ShadowStore
    task: "asyncio.Task[None] | None" = None

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> None:
        """Hold a decision against the last one."""
        self.checker.commands += len(decision.commands)
        self.checker.found(self.shadow.records.check(snapshot, self.prediction.observed))
        self.checker.found(self.prediction.decided(snapshot, planner, decision))


RUNNING: contextvars.ContextVar[Incarnation | None] = contextvars.ContextVar(
    "running", default=None
)
"""Which run of a process is at work."""


class Process:
    """One host's engine: it runs, is stopped, jumps in time, dies, and is started again."""

    def __init__(self, home: Home, name: str, clock: SimClock, rng: Random) -> None:
        self.home, self.name, self.clock = home, name, clock
        self._rng = rng
        self._starts = 0
        self.retired = False
        self._now: Incarnation | None = None
        self.down = False

    @property
    def alive(self) -> bool:
        """Whether it runs, and is not stopped."""
        now = self._now
        return now is not None and not now.gate.dead and not now.gate.life.stopped

    @property
    def incarnation(self) -> Incarnation | None:
        """The present run, or None while it is dead."""
        now = self._now
        return None if now is None or now.gate.dead else now

    async def start(self, group: asyncio.TaskGroup) -> None:
        """Start it, under a new holder's name; nothing where it runs."""
        if self.incarnation is not None:
            return
        if self._now is not None:
            await self._now.store.close()
        self._starts += 1
        life = Life()
        run = self._now = self._make(life)
        context = contextvars.copy_context()
        context.run(LIFE.set, life)
        context.run(RUNNING.set, run)
        self.home.checker.trace.note(f"{self.name}.{self._starts} starts")
        run.task = group.create_task(self._run(run), context=context)

    def _has_neighbour(self) -> bool:
        return self.home.replicas > 1

    def _make(self, life: Life) -> Incarnation:
        home, loop = self.home, self.home.loop
        holder = f"{self.name}.{self._starts}"
        gate = Gate(loop, life)
        gate.on_refusal = home.checker.struck
        inner = WorldTransport(home.checker.world, holder)
        inner.down = self.down
        transport = WatchedTransport(inner, self, gate)
        key = Key(project=home.project, secret_key=Secret(SECRET))
        inside = home.open_provider(Client(transport, key, self.clock), self.clock)
        quiet = home.settings.quiet.total_seconds()
        prediction = PredictionCheck(loop.time, max(MOST_GAP, 1.5 * quiet))
        provider = home.watched(inside, self, prediction)
        metrics = CheckedMetrics(home.checker, prediction)
        raw = home.open_store()
        recorder = Recorder(
            checker=home.checker,
            shadow=home.shadow,
            name=holder,
            invalidate=prediction.invalidate,
            took=prediction.took,
            neighbour=self._has_neighbour,
        )
        fresh = Random(self._rng.getrandbits(64))
        ports = Ports(
            store=GatedStore(raw, gate, recorder, exclusive=home.replicas == 1),
            clock=self.clock,
            prober=SimProber(self, gate),
            metrics=metrics,
            fresh=lambda: machine_id(fresh.getrandbits(50)),
            preparer=home.open_preparer(self, gate),
        )
        account = Account(name=AccountName("main"), provider=provider, fleets=home.fleets)
        engine = Engine(ports, (account,), holder, home.settings)
        return Incarnation(
            gate=gate,
            transport=transport,
            engine=engine,
            prediction=prediction,
            metrics=metrics,
            store=raw,
            checker=home.checker,
            shadow=home.shadow,
        )

    async def _run(self, run: Incarnation) -> None:
        try:
            await run.engine.run()
        except Exception as error:  # noqa: BLE001 - the edge: whatever ends an engine is a finding
            text = f"the engine ended: {error!r}"
            self.home.checker.found((Violation(invariant="engine", text=text),))

    def holds_lease(self) -> bool:
        """Tell whether calls may be begun: a fleet's lease is ours, by our own clock.

        Where hosts outlive machines, some of their calls are made under the account's.
        """
        run = self.incarnation
        if run is None:
            return False
        names = [f"fleet/{fleet.name}" for fleet in self.home.fleets]
        names += ["account/main"] if self.home.shadow.hosts else []
        return any(self.clock.boot() < run.engine.leases.until(name) for name in names)

    # ------------------------------------------------------------ what happens to it

    def kill(self) -> None:
        """Let it die as by SIGKILL: nothing that it still had in mind has an effect."""
        run = self.incarnation
        if run is None:
            return
        run.gate.close()
        self.home.loop.resume_life(run.gate.life)
        if run.task is not None:
            run.task.cancel()

    async def end(self) -> None:
        """Kill it for good."""
        self.retired = True
        self.kill()
        if self._now is not None:
            await self._now.store.close()

    def stop(self) -> None:
        """Let it stand still, as by SIGSTOP."""
        run = self.incarnation
        if run is not None:
            self.home.loop.stop_life(run.gate.life)

    def go_on(self, slept: float = 0.0) -> None:
        """Let it go on, where it stood; after a suspend its timers are late by as much."""
        run = self.incarnation
        if run is not None:
            run.prediction.invalidate()
            self.home.loop.resume_life(run.gate.life, slept)

    def jump(self, by: timedelta) -> None:
        """Let its wall clock jump."""
        self.clock.jump(by)
        self.home.shadow.forget_times()
        if self.incarnation is not None:
            self.incarnation.prediction.invalidate()

    def set_network(self, *, down: bool) -> None:
        """Cut its network, or mend it."""
        self.down = down
        if self.incarnation is not None:
            self.incarnation.transport.inner.down = down
