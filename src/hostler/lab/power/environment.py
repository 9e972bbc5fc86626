"""The environment of provider `power`: the real provider over a rack of simulated endpoints."""

from collections.abc import Container, Mapping
from contextlib import suppress
from datetime import timedelta

from hostler.domain.ids import HostId, InstallationId, ResourceId
from hostler.domain.model.calls import Call, Outcome
from hostler.domain.model.host import host_of
from hostler.domain.model.resource import Condition, Observation, Scope
from hostler.lab.checks.trace import Trace
from hostler.lab.harness.process_run import ProcessRun
from hostler.lab.metal.environment import MetalEnvironment
from hostler.lab.scenario.environment import CONSISTENCY_DELAY
from hostler.lab.scenario.faults import Disruption
from hostler.ports.power import Power, PowerAction, PowerCapabilities
from hostler.ports.provider import Provider
from hostler.providers.power.planner import RELEASE
from hostler.providers.power.provider import Box, PowerBoxes, Rack
from hostler.providers.power.switch import Switch
from hostler.providers.power.ways import Ways
from hostler.testing.invariants import Violation

from .checker import PowerChecker
from .endpoints import CALL, LabDevice, Reached
from .faults import PowerScenario, Wiring

SETTLES, DEADLINE = CONSISTENCY_DELAY / 2, timedelta(seconds=20)
_FRESH = 10.0
_ON, _SOFT, _HARD = PowerAction.ON, PowerAction.OFF_SOFT, PowerAction.OFF_HARD
_WHOLE = (frozenset({_ON, _SOFT, _HARD}), True)
_METHODS: Mapping[Wiring, Mapping[str, tuple[frozenset[PowerAction], bool]]] = {
    Wiring.BMC: {"bmc": _WHOLE},
    Wiring.GUEST: {"hypervisor": _WHOLE},
    Wiring.STRIP: {"strip": (frozenset({_ON, _HARD}), True)},
    Wiring.MIXED: {
        "packet": (frozenset({_ON}), False),
        "system": (frozenset({_SOFT}), False),
        "strip": (frozenset({_HARD}), True),
    },
    Wiring.PACKET: {
        "packet": (frozenset({_ON}), False),
        "system": (frozenset({_SOFT}), True),
    },
}
"""The methods of a box in their order: what each can do, and whether it can be asked."""

_SHARED = frozenset({"hypervisor", "strip"})
_UNANSWERED = frozenset({"packet"})


def cost_of(number: int) -> float:
    """Return what an hour of a box costs, in euros, by its number from 1 on."""
    return 0.01 * (1 + number % 3)


class SimulatedPower(PowerBoxes):
    """The real provider in one run of a process, under the eyes of the checker."""

    def __init__(self, rack: Rack, run: ProcessRun, environment: "PowerEnvironment") -> None:
        super().__init__(rack, run.clock)
        self.run, self.environment = run, environment
        self.unknown = dict[str, float]()

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe; whoever observed all boxes of a zone knows them."""
        truth, checker = self.environment.truth, self.environment.judge
        begun = truth.now
        observation = await super().observe(scopes)
        for scope in (scope for scope in scopes if scope.machine is None):
            listings = checker.known_counts.listings
            listings.got(self.run.name, scope.zone, "boxes", begun, truth.now)
        for resource in observation.resources:
            if resource.condition is not Condition.UNKNOWN:
                self.unknown.pop(resource.id, None)
            else:
                self.unknown.setdefault(resource.id, truth.now)
        return observation

    async def do(self, call: Call) -> Outcome:
        """Make one call; nothing is ever done to a box of which nobody knows how it stands."""
        environment = self.environment
        environment.judge.calls_at_rest.append(call.kind)
        if call.kind == RELEASE:
            return await super().do(call)
        box, now = str(host_of(call.target or ResourceId(""))), environment.truth.now
        since = self.unknown.get(box)
        if since is not None and now - since > _FRESH:
            text = f"{call.kind} of {box}, of which nothing is known for {now - since:.0f} s"
            environment.judge.found((Violation(invariant="power", text=text),))
        token = CALL.set(call)
        try:
            return await super().do(call)
        finally:
            CALL.reset(token)


class PowerEnvironment(MetalEnvironment):
    """Boxes that are switched by methods. Implements the lab's `Environment`, as metal does."""

    scenario: PowerScenario
    judge: PowerChecker

    def __init__(self, scenario: PowerScenario) -> None:
        super().__init__(scenario)
        self.away, self.locked, self._dark = set[str](), set[str](), set[ResourceId]()

    def checker(self, trace: Trace) -> PowerChecker:
        """Return the checker of the run."""
        delay = CONSISTENCY_DELAY.total_seconds()
        self.judge = self.metal_checker = PowerChecker(self.truth, trace, delay, self.scenario)
        self.judge.costs = {
            HostId(self.place_of(number)[0]): cost_of(number)
            for number in range(1, self.scenario.boxes + 1)
        }
        return self.judge

    def provider(self, run: ProcessRun) -> Provider:
        """Return the account: the real provider, whose methods lead to simulated devices."""
        return self.rack_of(run, [box.name for box in self.truth.rack.boxes()])

    def rack_of(self, run: ProcessRun, names: Container[str]) -> Provider:
        """Return an account that has these of all boxes."""
        reached = dict[str, Reached]()
        boxes = tuple(
            self._box(number, wiring, run, reached)
            for number, wiring in enumerate(self.scenario.wiring, 1)
            if self.place_of(number)[0] in names
        )
        rack = Rack(
            boxes=boxes,
            fleets={},
            cleaning=self.scenario.cleaning,
            limits=self.scenario.power,
            settles=SETTLES,
            deadline=DEADLINE,
            soft_wait=timedelta(minutes=2),
            patience=timedelta(seconds=8),
        )
        return SimulatedPower(rack, run, self)

    def _box(
        self, number: int, wiring: Wiring, run: ProcessRun, reached: dict[str, Reached]
    ) -> Box:
        (name, zone), ways = self.place_of(number), dict[str, Power]()
        for method, (actions, query) in _METHODS[wiring].items():
            place = method if method in _SHARED else f"{method} of {name}"
            endpoint = reached.setdefault(place, Reached(place))
            able = PowerCapabilities(
                actions=actions, query=query, settles=SETTLES, deadline=DEADLINE
            )
            device = LabDevice(
                ResourceId(name), endpoint, run, self, answers=method not in _UNANSWERED
            )
            ways[method] = Switch(device, able, endpoint.turn, run.clock)
        order = dict.fromkeys((*PowerAction, None), tuple(ways))
        return Box(
            name=name,
            zone=zone,
            type="small",
            ways=Ways(ways, order),
            address=f"192.0.2.{number}",
            price=cost_of(number),
        )

    def lateness(self) -> timedelta:
        """Draw how late a command is obeyed: within the time in which it settles."""
        return timedelta(seconds=self._rng.uniform(3.0, SETTLES.total_seconds() - 2.0))

    def obey(self, call: Call, box: ResourceId, action: PowerAction) -> None:
        """Let a command have its effect, under the eyes of the checker."""
        rack, condition = self.truth.rack, self.truth.condition(HostId(box))
        self.judge.obeyed(call, HostId(box), stopped=False)
        if action is PowerAction.ON and box not in self._dark:
            rack.switch_on(box)
        if action is PowerAction.OFF_SOFT and condition is Condition.UP:
            rack.switch_off(box)
        if action is PowerAction.OFF_HARD:
            rack.cut(box)

    def strike(self, own: InstallationId, disruption: Disruption) -> bool | None:
        """Let happen to the rack, or to an endpoint of it, what happens beside all engines."""
        boxes = self.truth.rack.boxes()
        if not boxes:
            return False
        number = disruption.who % len(boxes)
        box, wiring = boxes[number].id, self.scenario.wiring[number]
        method = next(iter(_METHODS[wiring]))
        endpoint = method if method in _SHARED else f"{method} of {box}"
        match disruption.fault:
            case "brown_out":
                self._brown_out(disruption)
            case "endpoint_away":
                self._for_a_while(self.away, endpoint, disruption.length)
            case "login_refused":
                self._for_a_while(self.locked, endpoint, disruption.length)
            case "never_boots":
                self._for_a_while(self._dark, box, disruption.length)
            case _:
                return super().strike(own, disruption)
        self.judge.trace.note(f"the rack: {disruption.fault} {box}, {endpoint}")
        self.judge.changed = True
        return True

    def _for_a_while(self, names: set[str] | set[ResourceId], name: str, length: float) -> None:
        held: set[str] = names  # pyright: ignore[reportAssignmentType] - ids of resources are text
        held.add(name)
        self._loop.call_later(length, lambda: held.discard(name))

    def _brown_out(self, disruption: Disruption) -> None:
        """Cut all boxes; those whose firmware restores their power come back, the others do not."""
        was_on = [
            box.id
            for box in self.truth.rack.boxes()
            if box.condition in {Condition.UP, Condition.STARTING}
        ]
        for box in was_on:
            self.truth.touch(HostId(box))
            self.truth.rack.cut(box)
        back = [box for place, box in enumerate(was_on) if (disruption.who >> place) & 1]
        self._loop.call_later(disruption.length, lambda: self._restore(back))

    def _restore(self, boxes: list[ResourceId]) -> None:
        for box in boxes:
            self.truth.touch(HostId(box))
            self.truth.rack.switch_on(box)

    def cease(self) -> None:
        """Let faults cease, and mend what only people can."""
        super().cease()
        for names in (self.away, self.locked, self._dark):
            with suppress(KeyError):
                names.clear()
