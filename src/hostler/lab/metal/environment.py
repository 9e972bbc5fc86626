"""The environment of owned metal: a rack, one fleet over it, and what befalls its commands."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random

from hostler.controllers.runtime.settings import Settings
from hostler.domain.ids import AccountName, FleetName, HostId, InstallationId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.fleet import Fleet, Probe, ProbeKind, Timers
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition, Observation, ObservedScope, Scope
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.scenario.environment import CONSISTENCY_DELAY, Cadence
from hostler.lab.scenario.faults import Disruption
from hostler.ports.command import Asker
from hostler.ports.preparer import Preparer
from hostler.ports.provider import Provider
from hostler.testing.fakes.metal import FakeMetal, metal
from hostler.testing.fakes.metal_planner import CLEAN, RELEASE
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.fakes.script import Lost, Scripted
from hostler.testing.fakes.world import FakeWorld, Pace
from hostler.testing.time.clock import SimClock
from hostler.testing.time.loop import SimLoop

from .checker import MetalChecker
from .faults import CALLS, MetalScenario
from .ground_truth import MetalTruth

ZONE = Zone("rack-1")
FLEET = FleetName("metal")
_S = timedelta(seconds=1)
_BOOTS = Pace(boot=40 * _S, removal=8 * _S, late=35 * _S)
_LATE = (5.0, 45.0)
_BUSY = Refused(why=Refusal.BUSY, text="the controller is at something else")
_LOST: Mapping[str, Scripted] = {
    "power_lost": Lost.AFTER,
    "power_unsent": Lost.BEFORE,
    "power_hung": Lost.HUNG,
    "power_busy": _BUSY,
}


class SimulatedMetal(FakeMetal):
    """The provider of one run of a process: its calls pass the gate, and faults befall them."""

    def __init__(self, run: ProcessRun, environment: "MetalEnvironment") -> None:
        scenario = environment.scenario
        capabilities = metal(scenario.cleaning, scenario.power, (ZONE,))
        super().__init__(environment.truth.rack, capabilities, run.clock)
        self._run, self._environment = run, environment
        self._stopped = set[Call]()

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe; nothing answers while the network of the process is down."""
        await self._run.gate.pass_through("http", before=True)
        begun, whole = self._environment.truth.now, [s for s in scopes if s.machine is None]
        observation = await super().observe(scopes)
        await self._run.gate.pass_through("http", before=False)
        if self._run.down:
            self._environment.metal_checker.struck("network_down")
        else:
            listings = self._environment.metal_checker.known_counts.listings
            now = self._environment.truth.now
            for scope in whole:
                listings.got(self._run.name, scope.zone, "boxes", begun, now)
            return observation
        failed = (
            ObservedScope(scope=o.scope, begun=o.begun, complete=False, error="no network")
            for o in observation.observed
        )
        return Observation(observed=tuple(failed), resources=())

    async def do(self, call: Call) -> Outcome:
        """Make one call, and let befall it what is drawn for it."""
        checker = self._environment.metal_checker
        checker.calls_at_rest.append(call.kind)
        if call.kind == RELEASE:
            return await super().do(call)
        begun = self._environment.truth.now
        await self._run.gate.pass_through("http", before=True)
        if self._environment.truth.now - begun > CONSISTENCY_DELAY.total_seconds():
            self._stopped.add(call)
        if self._run.down:
            checker.struck("network_down")
            return Unknown(text="no network")
        fault = self._environment.draw()
        box = ResourceId(host_of(call.target or ResourceId("")))
        if fault is not None:
            checker.struck(fault)
            checker.trace.note(f"{fault}: {call}", str(call.target).partition("#")[2])
        outcome = await self._befallen(call, box, fault)
        await self._run.gate.pass_through("http", before=False)
        return outcome

    async def _befallen(self, call: Call, box: ResourceId, fault: str | None) -> Outcome:
        if fault is not None and fault in _LOST:
            self.befall(call.kind, _LOST[fault])
        if fault == "power_ignored":
            self.rack.ignoring.add(box)
        if fault == "power_late":
            self.rack.slow[box] = self._environment.lateness()
        try:
            return await super().do(call)
        finally:
            self.rack.ignoring.discard(box)
            self.rack.slow.pop(box, None)

    def obey(self, call: Call, box: ResourceId) -> None:
        """Let a command have its effect, under the eyes of the checker."""
        environment = self._environment
        environment.metal_checker.obeyed(call, HostId(box), stopped=call in self._stopped)
        if call.kind == CLEAN:
            environment.truth.cleanings[HostId(box)] = environment.truth.now
        super().obey(call, box)


class MetalEnvironment:
    """Boxes that are owned. Implements `hostler.lab.scenario.environment.Environment`."""

    settings = Settings(poll=timedelta(seconds=5))
    cadence = Cadence(limit=3 * 3600.0)
    truth: MetalTruth
    metal_checker: MetalChecker

    def __init__(self, scenario: MetalScenario) -> None:
        self.scenario, self.base = scenario, scenario.base
        self._rates = dict(scenario.rates)
        self._rng = Random(f"hostler metal calls {scenario.base.seed}")
        self._names = 0

    def open(self, loop: SimLoop, rng: Random) -> None:
        """Open the world: some boxes are on when the run begins."""
        self._loop = loop
        rack = MetalWorld(FakeWorld(SimClock(loop), _BOOTS))
        for number in range(1, self.scenario.boxes + 1):
            on = rng.random() < 0.2
            name, zone = self.place_of(number)
            rack.add(name, zone, condition=Condition.UP if on else Condition.OFF)
        self._names = self.scenario.boxes
        self.truth = MetalTruth(rack, loop, Counter[str]())

    def place_of(self, number: int) -> tuple[str, Zone]:
        """Return the name of a box, from 1 on, and where it stands."""
        return f"box-{number}", ZONE

    def checker(self, trace: Trace) -> MetalChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        self.metal_checker = MetalChecker(self.truth, trace, delay, self.scenario)
        return self.metal_checker

    def draw(self) -> str | None:
        """Draw what befalls a command."""
        for fault in CALLS:
            if self._rng.random() < self._rates.get(fault, 0.0):
                return fault
        return None

    def lateness(self) -> timedelta:
        """Draw how late a command is obeyed: within the consistency delay."""
        return timedelta(seconds=self._rng.uniform(*_LATE))

    def fleets(self, *, other: bool) -> tuple[Fleet, ...]:
        """Return the one fleet; nobody shares a rack on which nothing can be written."""
        del other
        fleet = Fleet(
            name=FLEET,
            account=AccountName("main"),
            size=self.base.machines,
            offers=(Offer(type="small", zone=ZONE),),
            probe=Probe(kind=ProbeKind(self.base.probe)),
            timers=Timers(start=timedelta(minutes=15), stop=timedelta(minutes=15)),
        )
        return (fleet,)

    def rewritten(self, fleet: Fleet, disruption: Disruption) -> Fleet:
        """Nobody rewrites the fleet file."""
        del disruption
        return fleet

    def provider(self, run: ProcessRun) -> Provider:
        """Return the account."""
        return SimulatedMetal(run, self)

    def answers(self, address: str) -> bool:
        """Tell whether a box is up."""
        up = (box for box in self.truth.rack.boxes() if box.condition is Condition.UP)
        return any(box.address == address for box in up)

    def preparer(self, run: ProcessRun) -> Preparer | None:
        """Nobody logs in."""
        del run

    def asker(self, run: ProcessRun) -> Asker | None:
        """Nobody asks whether anything runs there."""
        del run

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen to a box what happens beside all engines."""
        del own
        strikes: Mapping[str, Callable[[ResourceId, Disruption], None]] = {
            "switched_off_by_hand": lambda box, _: self.truth.rack.switch_off(box),
            "switched_on_by_hand": lambda box, _: self.truth.rack.switch_on(box),
            "box_breaks": self._break,
            "box_renamed": self._rename,
            "box_removed": lambda box, _: self._remove(box),
            "controller_silent": self._silence,
        }
        strike = strikes.get(disruption.fault)
        boxes = self.truth.rack.boxes()
        if strike is None:
            return None
        if not boxes:
            return False
        box = boxes[disruption.who % len(boxes)].id
        if disruption.fault != "controller_silent":
            self.truth.touch(HostId(box))
        self.metal_checker.trace.note(f"a person: {disruption.fault} {box}")
        strike(box, disruption)
        self.metal_checker.changed = True
        return True

    def _break(self, box: ResourceId, disruption: Disruption) -> None:
        self.truth.rack.break_down(box)
        self._loop.call_later(disruption.length, lambda: self._mend(box))

    def _mend(self, box: ResourceId) -> None:
        self.truth.touch(HostId(box))
        self.truth.rack.mend(box)

    def _rename(self, box: ResourceId, disruption: Disruption) -> None:
        del disruption
        self._names += 1
        self.truth.rack.rename(box, f"box-{self._names}")
        self.truth.touch(HostId(f"box-{self._names}"))

    def _remove(self, box: ResourceId) -> None:
        """Take a box away for good, while another is left."""
        if len(self.truth.rack.boxes()) > 1:
            self.truth.rack.remove(box)

    def _silence(self, box: ResourceId, disruption: Disruption) -> None:
        self.truth.rack.silent.add(box)
        self._loop.call_later(disruption.length, lambda: self._answer(box))

    def _answer(self, box: ResourceId) -> None:
        self.truth.rack.silent.discard(box)

    def cease(self) -> None:
        """Let faults cease, and mend what only people can."""
        self._rates.clear()
        for box in self.truth.rack.boxes():
            self._answer(box.id)
            self._mend(box.id)

    def help(self, checker: Checker) -> None:
        """Nobody is needed."""
