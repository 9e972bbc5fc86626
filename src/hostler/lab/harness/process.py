"""Process: one simulated engine process, with the real provider and client; it dies and returns."""

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from random import Random

from hostler.controllers.engine import Engine
from hostler.controllers.runtime.settings import Account, Ports, Settings
from hostler.domain.ids import AccountName, MachineId, machine_id
from hostler.domain.model.commands import Decision
from hostler.domain.model.fleet import Fleet, Probe
from hostler.domain.model.provider import Planner
from hostler.domain.model.snapshot import Snapshot
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.remembered import Remembered
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.ports.provider import Connection, Provider
from hostler.ports.store import Store
from hostler.testing.invariants import Found, Violation
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import LIFE, Life, SimLoop

from .decisions import OBSERVER
from .gated_store import GatedStore
from .gates import Gate
from .metrics import CheckedMetrics
from .prediction import MOST_GAP, PredictionCheck
from .process_run import ProcessEnvironment, ProcessRun
from .recorder import Recorder
from .store_place import StorePlace
from .watched import watched

_LATENCY = 0.05


@dataclass(slots=True, kw_only=True)
class Home:
    """What all processes of one installation share; `fleets` are what its file says just now."""

    loop: SimLoop
    checker: Checker
    shadow: ShadowStore
    fleets: tuple[Fleet, ...]
    settings: Settings
    replicas: int
    environment: ProcessEnvironment
    place: StorePlace


class SimProber:
    """Finds a machine ready whose guest can be reached; each probe passes the gate, if any."""

    def __init__(self, reaches: Callable[[str], bool], gate: Gate | None = None) -> None:
        self._reaches, self._gate = reaches, gate

    async def probe(
        self, machine: MachineId, connection: Connection, probe: Probe
    ) -> tuple[bool, str]:
        """Probe once."""
        del machine, probe
        if self._gate is not None:
            await self._gate.pass_through("probe", before=True)
        await asyncio.sleep(_LATENCY)
        up = self._reaches(connection.address)
        if self._gate is not None:
            await self._gate.pass_through("probe", before=False)
        return up, "up" if up else "no answer"


def _as_they_are(_: ProcessRun, ports: Ports) -> Ports:
    """Add nothing to what an engine is given: it speaks to no cluster."""
    return ports


@dataclass(slots=True)
class Incarnation:
    """One run of a process, from its start to its death."""

    process: ProcessRun
    engine: Engine
    prediction: PredictionCheck
    metrics: CheckedMetrics
    store: Store
    ports: Ports
    task: "asyncio.Task[None] | None" = None
    remembered: Remembered = field(default_factory=Remembered)

    def decided(self, snapshot: Snapshot, planner: Planner, decision: Decision) -> None:
        """Hold a decision against the last one."""
        checker, shadow = self.process.checker, self.process.shadow
        checker.decided(shadow, self.process.name, snapshot.fleet.name, decision)
        checker.found(shadow.records.check(snapshot, self.prediction.observed))
        checker.found(self.remembered.check(snapshot))
        checker.found(self.prediction.decided(snapshot, planner, decision))

    def found(self, violations: Found) -> None:
        """Note what is wrong with a decision."""
        self.process.checker.found(violations)

    async def give_back(self) -> None:
        """Close what the computer closes for a process that has died."""
        await self.process.cut()
        await self.store.close()

    @property
    def gate(self) -> Gate:
        """What stands before each call of a port."""
        return self.process.gate


Watch = Callable[[Provider], Provider]
"""Returns a provider that is checked for one run of a process."""


class Process:
    """One host's engine: it runs, is stopped, jumps in time, dies, and is started again."""

    def __init__(self, home: Home, name: str, clock: SimClock, rng: Random) -> None:
        self.home, self.name, self.clock = home, name, clock
        self._rng = rng
        self._starts = 0
        self.retired = False
        self.yields: Callable[[], bool] = lambda: False
        self.equip: Callable[[ProcessRun, Ports], Ports] = _as_they_are
        self.accounts: Callable[[ProcessRun, Watch], tuple[Account, ...]] = self._one_account
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
            await self._now.give_back()
        self._starts += 1
        life = Life()
        self._note_clock()
        run = self._now = self._make(life)
        self.home.checker.trace.note(f"{self._run_name} starts")
        self._begin(run, group)

    def _begin(self, run: Incarnation, group: asyncio.TaskGroup) -> None:
        """Let the engine of a run go, on that run's own time."""
        context = contextvars.copy_context()
        context.run(LIFE.set, run.gate.life)
        context.run(OBSERVER.set, run)
        run.task = group.create_task(self._run(run), context=context)

    def _has_neighbour(self) -> bool:
        return self.home.replicas > 1

    def _make(self, life: Life) -> Incarnation:
        home, loop = self.home, self.home.loop
        run = self._run_of(Gate(loop, life))
        quiet = home.settings.quiet.total_seconds()
        prediction = PredictionCheck(loop.time, max(MOST_GAP, 1.5 * quiet), home.checker.plans)
        accounts = self._accounts_of(run, prediction)
        metrics = CheckedMetrics(home.checker, prediction)
        raw = home.place.open(run)
        fresh = Random(self._rng.getrandbits(64))
        ports = Ports(
            store=GatedStore(
                raw, run.gate, self._recorder(run, prediction), exclusive=home.replicas == 1
            ),
            clock=self.clock,
            prober=SimProber(partial(self._reaches, run), run.gate),
            metrics=metrics,
            fresh=lambda: machine_id(fresh.getrandbits(50)),
            preparer=home.environment.preparer(run),
            asker=home.environment.asker(run),
            yields=self._is_to_yield,
        )
        ports = self.equip(run, ports)
        return Incarnation(
            process=run,
            engine=Engine(ports, accounts, run.name, home.settings),
            prediction=prediction,
            metrics=metrics,
            store=raw,
            ports=ports,
        )

    def _accounts_of(self, run: ProcessRun, prediction: PredictionCheck) -> tuple[Account, ...]:
        return self.accounts(run, lambda provider: watched(provider, run, prediction))

    async def renew(self, group: asyncio.TaskGroup) -> None:
        """Let the engine of this run end, and another one take its place, as at a reload."""
        run = self.incarnation
        if run is None or run.task is None:
            return
        run.task.cancel()
        await asyncio.wait({run.task})
        if run.gate.dead:
            return
        run.prediction.invalidate()
        run.remembered = Remembered()
        accounts = self._accounts_of(run.process, run.prediction)
        run.engine = Engine(run.ports, accounts, run.process.name, self.home.settings)
        self._begin(run, group)

    def _one_account(self, run: ProcessRun, watch: Watch) -> tuple[Account, ...]:
        """Return the one account of an environment, with the fleets that there are just now."""
        home = self.home
        fleets = tuple(f for f in home.fleets if not f.removed or f.name in home.shadow.rows)
        provider = watch(home.environment.provider(run))
        return (Account(name=AccountName("main"), provider=provider, fleets=fleets),)

    def _reaches(self, run: ProcessRun, address: str) -> bool:
        """Tell whether a guest is up there, and our network too."""
        run.checker.catch_up()
        return self.home.environment.answers(address) and not run.down

    def _is_to_yield(self) -> bool:
        return self.yields()

    def _run_of(self, gate: Gate) -> ProcessRun:
        home = self.home
        gate.on_refusal = home.checker.struck
        home.shadow.runs.add(self._run_name)
        return ProcessRun(
            name=self._run_name,
            clock=self.clock,
            gate=gate,
            checker=home.checker,
            shadow=home.shadow,
            holds_lease=self.holds_lease,
            down=self.down,
        )

    def _recorder(self, run: ProcessRun, prediction: PredictionCheck) -> Recorder:
        return Recorder(
            checker=run.checker,
            shadow=run.shadow,
            name=run.name,
            invalidate=prediction.invalidate,
            took=prediction.took,
            ahead=lambda: self.clock.ahead,
            neighbour=self._has_neighbour,
        )

    async def _run(self, run: Incarnation) -> None:
        try:
            await run.engine.run()
        except Exception as error:  # noqa: BLE001 - the edge: whatever ends an engine is a finding
            text = f"the engine ended: {error!r}"
            self.home.checker.found((Violation(invariant="engine", text=text),))

    def holds_lease(self) -> bool:
        """Tell whether calls may be begun: a fleet's lease is ours, by our own clock.

        Where hosts outlive machines, some of their calls are made under an account's.
        """
        names = [f"fleet/{fleet.name}" for fleet in self.home.fleets]
        if self.home.shadow.hosts and self._now is not None:
            names += [loop.lease for loop in self._now.engine.loops]
        return any(self.holds(name) for name in names)

    def holds(self, lease: str) -> bool:
        """Tell whether a lease is ours, by our own clock."""
        run = self.incarnation
        return run is not None and self.clock.boot() < run.engine.leases.until(lease)

    # ------------------------------------------------------------ what happens to it

    def kill(self) -> None:
        """Let it die as by SIGKILL: nothing that it still had in mind has an effect."""
        run = self.incarnation
        if run is None:
            return
        self.home.loop.resume_life(run.gate.life)
        run.gate.close(run.task.cancel if run.task is not None else lambda: None)

    async def end(self) -> None:
        """Kill it for good."""
        self.retired = True
        await self.shut()

    async def shut(self) -> None:
        """Kill it and close its store; it may be started again."""
        self.kill()
        if self._now is not None:
            await self._now.give_back()

    def stop(self) -> None:
        """Let it stand still, as by SIGSTOP."""
        run = self.incarnation
        if run is not None:
            run.gate.stop()

    def go_on(self, slept: float = 0.0, stopped: Incarnation | None = None) -> None:
        """Let it go on, where it stood; after a suspend its timers are late by as much.

        Where the run that was `stopped` has died meanwhile, nothing of it can go on.
        """
        run = self.incarnation
        if run is not None and run.gate.life.stopped and (stopped is None or stopped is run):
            run.prediction.invalidate()
            self.home.loop.resume_life(run.gate.life, slept)

    def jump(self, by: timedelta) -> None:
        """Let its wall clock jump."""
        self.clock.jump(by)
        self.home.shadow.clock_jumped(self._run_name, by.total_seconds())
        self._note_clock()
        if self.incarnation is not None:
            self.incarnation.prediction.invalidate()

    @property
    def _run_name(self) -> str:
        return f"{self.name}.{self._starts}"

    def _note_clock(self) -> None:
        jobs = self.home.shadow.jobs
        jobs.ahead = max(jobs.ahead, self.clock.ahead)

    def set_network(self, *, down: bool) -> None:
        """Cut its network, or mend it."""
        self.down = down
        if self.incarnation is not None:
            self.incarnation.process.set_network(down=down)
