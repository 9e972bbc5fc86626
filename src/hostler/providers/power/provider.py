"""PowerBoxes: the provider port over owned machines that are switched on and off.

Nothing can be written on a box: whose it is stands in our records alone. The list of boxes is the
fleet file's, and is always whole; how each stands is asked of its methods, and may be unknown.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import structlog
from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.errors import first_of
from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.capabilities import Cleaning, HostCapabilities, Ownership, PowerLimits
from hostler.domain.model.host import HOST, Host, HostGoal, host_of
from hostler.domain.model.machine import BootstrapFormat, Machine, Offer
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
from hostler.ports.online import Finding
from hostler.ports.power import PowerAction, PowerReading, PowerState
from hostler.ports.provider import Connection

from .planner import RELEASE, SERVER, PowerPlanner
from .ways import Ways

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.power")

_CONDITIONS = {
    PowerState.ON: Condition.UP,
    PowerState.OFF: Condition.OFF,
    PowerState.UNKNOWN: Condition.UNKNOWN,
}
_LONGEST = 500
"""Characters that are kept of what an endpoint says; what is whole and true of one is shorter."""
_PASSED_OVER = 5
"""For so many observations a box that may have taken the time of others is asked last."""
_HARMLESS = frozenset({PowerAction.ON})
_ACTIONS = {f"{what}.{action}": action for what in ("box", "host") for action in PowerAction}


class Box(Struct, frozen=True, kw_only=True):
    """One box: its name, where and what it is, and the ways to its power.

    `excluded` says why nobody switches or takes it, and `stays_on` why it is never switched off.
    """

    name: str
    zone: Zone
    type: str
    ways: Ways
    address: str = ""
    price: float = 0.0
    excluded: str = ""
    stays_on: str = ""

    @property
    def actions(self) -> frozenset[PowerAction]:
        """What may be done with it."""
        if self.excluded:
            return frozenset()
        return self.ways.actions & _HARMLESS if self.stays_on else self.ways.actions

    def why_not(self, action: PowerAction) -> str:
        """Return why an action that could be done may not be; empty where it may."""
        barred = action in self.ways.actions and action not in self.actions
        return (self.excluded or self.stays_on) if barred else ""


class Guests(Struct, frozen=True, kw_only=True):
    """How probes log in to the machines of a fleet."""

    user: str = "root"
    port: int = 22


class Rack(Struct, frozen=True, kw_only=True):
    """All boxes, and how they may be switched; `settles` and `deadline` are their longest."""

    boxes: tuple[Box, ...]
    fleets: Mapping[FleetName, Guests]
    cleaning: Cleaning
    limits: PowerLimits
    settles: timedelta
    deadline: timedelta
    soft_wait: timedelta
    patience: timedelta
    quiet: timedelta = timedelta(minutes=1)


class PowerBoxes:
    """One list of boxes. A machine is an allocation of one of them."""

    def __init__(self, rack: Rack, clock: Clock) -> None:
        self._rack, self._clock = rack, clock
        self._boxes = {box.name: box for box in rack.boxes}
        self._next, self._silent = "", dict[str, int]()
        self._planner = PowerPlanner(rack.cleaning, rack.settles, rack.soft_wait)
        self._capabilities = Capabilities(
            main=SERVER,
            kinds=(SERVER.kind, HOST.kind),
            consistency_delay=2 * rack.settles,
            deadline=rack.deadline,
            standby=True,
            bootstraps=frozenset({BootstrapFormat.SCRIPT}),
            zones=tuple(dict.fromkeys(box.zone for box in rack.boxes)),
            quiet=rack.quiet,
            hosts=HostCapabilities(
                ownership=Ownership.RECORD, cleaning=rack.cleaning, power=rack.limits
            ),
        )

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        return self._planner.next_calls(goal, machine, resources, now)

    def host_calls(
        self, goal: HostGoal, host: Host, resource: Resource, now: datetime
    ) -> tuple[Call, ...]:
        return self._planner.host_calls(goal, host, resource, now)

    def fits(self, fleet: FleetName, offer: Offer, resource: Resource) -> str:
        del fleet
        if (resource.type, resource.zone) != (offer.type, offer.zone):
            return f"it is {resource.type} in {resource.zone}, not {offer}"
        box = self._boxes.get(host_of(resource.id))
        return box.excluded if box is not None else ""

    # ------------------------------------------------------------ observations

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Ask how the boxes of these scopes stand, all at the same time."""
        begun = self._clock.now()
        readings = await self._readings({name for scope in scopes for name in self._listed(scope)})
        return Observation(
            observed=tuple(ObservedScope(scope=s, begun=begun, complete=True) for s in scopes),
            resources=tuple(self._resource(name, reading) for name, reading in readings.items()),
        )

    async def check_online(
        self, offers: Mapping[FleetName, tuple[Offer, ...]]
    ) -> tuple[Finding, ...]:
        """Ask every box of the fleets how it stands; one that does not say is not in order."""
        asked = {(offer.type, offer.zone) for fleet in offers.values() for offer in fleet}
        boxes = [box.name for box in self._rack.boxes if (box.type, box.zone) in asked]
        return tuple(_finding(*entry) for entry in (await self._readings(boxes)).items())

    async def _readings(self, names: Iterable[str]) -> dict[str, PowerReading]:
        """Ask these boxes at the same time; return what each answered, by their names in order.

        At an endpoint that several share they wait for each other, and there may not be time for
        all: the next observation begins where this one came to nobody's answer. One that was asked
        before others and did not answer may have taken their time: it is asked last for a while.
        """
        ordered = sorted(names)
        first = bisect_left(ordered, self._next)
        turns = sorted((*ordered[first:], *ordered[:first]), key=lambda name: name in self._silent)
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(self._ask(name)) for name in turns}
        readings = {name: task.result() for name, task in tasks.items()}
        unknown = [name for name in turns if readings[name].state is PowerState.UNKNOWN]
        hides = len(unknown) > 1 and unknown[0] in {turns[0], *self._silent}
        self._silent = {name: left - 1 for name, left in self._silent.items() if left > 1}
        if hides:
            self._silent[unknown[0]] = _PASSED_OVER
        self._next = next((name for name in unknown if name not in self._silent), self._next)
        return {name: readings[name] for name in ordered}

    def _listed(self, scope: Scope) -> tuple[str, ...]:
        if scope.kind != HOST.kind:
            return ()
        here = tuple(box.name for box in self._rack.boxes if box.zone == scope.zone)
        if scope.machine is None:
            return here
        known = {str(host_of(resource)) for resource in scope.known}
        return tuple(name for name in here if name in known)

    async def _ask(self, name: str) -> PowerReading:
        """Ask a box, and give it up when an observation has waited long enough for it."""
        begun = self._clock.now()
        try:
            reading = await self._boxes[name].ways.query(self._rack.patience)
            return replace(reading, text=_shortened(reading.text))
        except TimeoutError as error:
            return PowerReading(state=PowerState.UNKNOWN, at=begun, text=str(error))
        except Exception as error:
            log.exception("this is a bug in a power method", box=name)
            return PowerReading(state=PowerState.UNKNOWN, at=begun, text=_bug(error))

    def _resource(self, name: str, reading: PowerReading) -> Resource:
        box = self._boxes[name]
        return Resource(
            id=ResourceId(name),
            slot=HOST,
            zone=box.zone,
            type=box.type,
            status=reading.state if reading.state is not PowerState.UNKNOWN else reading.text,
            condition=_CONDITIONS[reading.state],
            allowed=("release", *sorted(box.actions)),
            price=box.price if reading.state is not PowerState.OFF else 0.0,
            name=name,
            address=box.address,
            host=HostFacts(stage=Stage.POOL, rate=box.price, left_alone=box.excluded),
        )

    # ------------------------------------------------------------ calls

    async def do(self, call: Call) -> Outcome:
        """Make one call; whether a command was obeyed, only an observation tells."""
        if call.kind == RELEASE and call.target is not None:
            return Done(absent=(call.target,))
        action = _ACTIONS.get(call.kind)
        name = host_of(call.target or ResourceId(""))
        if action is None:
            return Refused(why=Refusal.INVALID, text=f"no such call: {call.kind}")
        box = self._boxes.get(name)
        if box is None:
            return Refused(why=Refusal.WRONG_STATE, text=f"{name} is not in the fleet file")
        if why := box.why_not(action):
            return Refused(why=Refusal.WRONG_STATE, text=f"{name} is not switched: {why}")
        return await self._act(box, action)

    async def _act(self, box: Box, action: PowerAction) -> Outcome:
        """Switch a box, and give it up at the deadline: the lease under which it began may end."""
        seconds = self._rack.deadline.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                outcome = await box.ways.act(action)
        except TimeoutError:
            return Unknown(text=f"no answer within {seconds:g} s")
        except Exception as error:
            log.exception("this is a bug in a power method", box=box.name)
            return Unknown(text=_bug(error))
        return (
            outcome
            if isinstance(outcome, Done)
            else replace(outcome, text=_shortened(outcome.text))
        )

    # ------------------------------------------------------------ the rest of the port

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        bound = machine.bound(SERVER)
        box = next((resource for resource in resources if resource.id == bound), None)
        if box is None or box.condition not in REACHABLE or not box.address:
            return None
        guests = self._rack.fleets.get(machine.fleet, Guests())
        return Connection(address=box.address, user=guests.user, port=guests.port)

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        del resources
        bound = machine.bound(SERVER)
        return f"hostler://power/{machine.offer.zone}/{host_of(bound)}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        """Nobody limits requests: each endpoint is asked for one thing at a time."""
        del call
        return 1

    async def close(self) -> None:
        async with asyncio.TaskGroup() as group:
            for box in self._rack.boxes:
                group.create_task(self._close(box))

    @staticmethod
    async def _close(box: Box) -> None:
        """Give back a box's connections; a bug in one method leaves no other box with its own."""
        try:
            await box.ways.close()
        except Exception:
            log.exception("this is a bug in a power method", box=box.name)


def _shortened(text: str) -> str:
    """Return the beginning of what an endpoint said, in one line: it is kept on records."""
    line = " ".join(text[: 2 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _bug(error: BaseException) -> str:
    """Return what is told of a method that raised, alone or as the first of a group."""
    return f"a bug in its power method: {type(first_of(error)).__name__}"


def _finding(name: str, reading: PowerReading) -> Finding:
    """Return what a reading says of a box's settings."""
    about = f"box {name}"
    if reading.state is PowerState.UNKNOWN:
        return Finding(False, about, f"does not say whether it is on: {reading.text}")
    watts = "" if reading.watts is None else f", and draws {reading.watts:g} W"
    return Finding(True, about, f"is {reading.state}{watts}")
