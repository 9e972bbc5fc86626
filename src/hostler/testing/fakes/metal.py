"""FakeMetal: the provider port over boxes that exist anyway, on which nothing can be written.

Whose a box is stands in our records alone: it lists every box as one that anybody may take. What
goes wrong is written into its script, and into its world.
"""

import asyncio
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership, PowerLimits
from hostler.domain.model.host import Host, HostGoal, host_of
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    REACHABLE,
    Condition,
    HostFacts,
    Observation,
    ObservedScope,
    Resource,
    Scope,
    Stage,
)
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection

from .metal_planner import CLEAN, HOST_OFF, HOST_ON, RELEASE, REST, SWITCH_ON, MetalPlanner
from .metal_world import SILENT, WORDS, MetalWorld
from .planner import SERVER
from .script import Script, Scripted

_NO_LIMITS = PowerLimits()
_OFF, _ON = frozenset({REST, HOST_OFF}), frozenset({SWITCH_ON, HOST_ON})


def metal(
    cleaning: Cleaning = Cleaning.POWER_CYCLE,
    power: PowerLimits = _NO_LIMITS,
    zones: tuple[Zone, ...] = (),
) -> Capabilities:
    """Return how machines on owned metal behave."""
    hosts = HostCapabilities(ownership=Ownership.RECORD, cleaning=cleaning, power=power)
    return Capabilities(
        main=SERVER, kinds=("server", "host"), standby=True, hosts=hosts, zones=zones
    )


class FakeMetal:
    """One rack. `dead` zones answer no observation; from `failing_page` on, no page of a list does.

    Its clock is that of the process which it is opened in: the world has a time of its own.
    """

    def __init__(
        self,
        rack: MetalWorld,
        capabilities: Capabilities | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.rack, self._capabilities = rack, capabilities or metal()
        self._clock = clock or rack.world.clock
        hosts = self._capabilities.hosts or HostCapabilities()
        self._planner = MetalPlanner(hosts.cleaning, self._capabilities.consistency_delay / 2)
        self.script = Script(rack.world, self._capabilities.deadline)
        self.dead = set[Zone]()
        self.failing_page: int | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Return how its machines behave."""
        return self._capabilities

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a machine."""
        return self._planner.next_calls(goal, machine, resources, now)

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now for a box that no machine has."""
        return self._planner.host_calls(goal, host, resource, now)

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        """Return why a box is none for an offer."""
        return self._planner.fits(fleet, offer, resource)

    def befall(self, kind: str, *what: Scripted) -> None:
        """Let these befall the next calls of a kind, in order."""
        self.script.befall(kind, *what)

    # ------------------------------------------------------------ observations

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe these scopes; a box whose controller is silent is listed, and nobody knows how.

        It knows boxes and no machines: what is asked of a machine is asked of the boxes named.
        """
        begun = self._clock.now()
        boxes = self.rack.boxes()
        await asyncio.sleep(self.rack.world.pace.answer.total_seconds())
        found = dict[ResourceId, Resource]()
        for scope in scopes:
            found |= {box.id: self._resource(box) for box in self._listed(scope, boxes)}
        strange = (one.status for one in found.values() if _is_strange(one))
        return Observation(
            observed=tuple(self._observed(scope, begun) for scope in scopes),
            resources=tuple(found[box] for box in sorted(found)),
            strange=tuple(strange),
        )

    def _observed(self, scope: Scope, begun: datetime) -> ObservedScope:
        error = "the zone does not answer" if scope.zone in self.dead else ""
        if scope.machine is None and self.failing_page is not None:
            error = error or f"page {self.failing_page} failed"
        return ObservedScope(scope=scope, begun=begun, complete=not error, error=error)

    def _listed(self, scope: Scope, boxes: tuple[Resource, ...]) -> tuple[Resource, ...]:
        if scope.zone in self.dead or scope.kind != self._capabilities.host_kind:
            return ()
        here = tuple(box for box in boxes if box.zone == scope.zone)
        if scope.machine is not None:
            return tuple(box for box in here if box.id in scope.known)
        if self.failing_page is not None:
            return here[: (self.failing_page - 1) * self._capabilities.page]
        return here

    def _resource(self, box: Resource) -> Resource:
        status = SILENT if box.id in self.rack.silent else box.status
        facts = HostFacts(stage=Stage.POOL, cleaned=box.id in self.rack.cleaned)
        condition = WORDS.get(status, Condition.UNKNOWN)
        return replace(box, status=status, condition=condition, allowed=("release",), host=facts)

    # ------------------------------------------------------------ calls

    async def do(self, call: Call) -> Outcome:
        """Make one call as the script says, else as the world allows; a release is ours alone."""
        if call.kind == RELEASE and call.target is not None:
            self.rack.cleaned.discard(_box_of(call))
            return Done(absent=(call.target,))
        return await self.script.make(call, self.rack.world.pace.answer, self._effect)

    def _effect(self, call: Call) -> Outcome:
        """Let a call have its effect; whether a command was obeyed, only an observation tells."""
        if call.kind not in {*_ON, *_OFF, CLEAN} or call.effect is not Effect.CHANGE:
            return Refused(why=Refusal.INVALID, text=f"no such call: {call.kind}")
        box = _box_of(call)
        if self.rack.box(box) is None:
            return Refused(why=Refusal.WRONG_STATE, text=f"there is no box {box}")
        if box in self.rack.silent:
            return Unknown(text="its controller does not answer")
        late = self.rack.slow.get(box)
        if late is not None:
            self.rack.world.plan(late, lambda: self.obey(call, box))
        elif box not in self.rack.ignoring:
            self.obey(call, box)
        return Done()

    def obey(self, call: Call, box: ResourceId) -> None:
        """Let a command have its effect on a box."""
        match call.kind:
            case kind if kind in _ON:
                self.rack.switch_on(box)
            case kind if kind in _OFF:
                self.rack.switch_off(box)
            case _:
                self.rack.cleaned.add(box)

    # ------------------------------------------------------------ the rest of the port

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return the address of the bound box once it is up."""
        bound = machine.bound(SERVER)
        box = next((resource for resource in resources if resource.id == bound), None)
        if box is None or box.condition not in REACHABLE or not box.address:
            return None
        return Connection(address=box.address)

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the bound box's id, in a scheme of its own."""
        del resources
        bound = machine.bound(SERVER)
        return f"hostler://metal/{machine.offer.zone}/{host_of(bound)}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        """Return one request for everything; observing a machine asks for each of its boxes."""
        if isinstance(call, Scope) and call.machine is not None:
            return 1 + len(call.known)
        return 1

    async def close(self) -> None:
        """Nothing to give back."""


def _box_of(call: Call) -> ResourceId:
    return ResourceId(host_of(call.target or ResourceId("")))


def _is_strange(resource: Resource) -> bool:
    return resource.status not in {SILENT, *WORDS}
