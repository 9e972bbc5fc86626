"""FilesProvider: the provider port over the toy cloud."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    Condition,
    Observation,
    ObservedScope,
    OwnerTag,
    Resource,
    Scope,
    Slot,
)
from hostler.ports.clock import Clock
from hostler.ports.provider import Connection
from hostler_provider_files import planner
from hostler_provider_files.cloud import Busy, Cloud, CloudError, Item, NotThere
from hostler_provider_files.owner_tags import ADDRESS, SERVER, resource_of, tags_of

ZONE = Zone("folder")
_SLOTS = {"server": SERVER, "address": ADDRESS}

CAPABILITIES = Capabilities(
    main=SERVER,
    kinds=("server", "address"),
    consistency_delay=timedelta(seconds=10),
    page=Cloud.page,
    zones=(ZONE,),
)


@dataclass(slots=True)
class Found:
    """What an observation found so far; a scope that fails keeps it."""

    resources: dict[ResourceId, Resource] = field(default_factory=dict[ResourceId, Resource])
    strange: list[str] = field(default_factory=list[str])

    def add(self, item: Item, slot: Slot) -> None:
        """Keep one thing that was seen."""
        resource = resource_of(item, slot, ZONE)
        self.resources[resource.id] = resource
        if resource.condition is Condition.UNKNOWN:
            self.strange.append(f"{slot.kind} state {item.state[:60]!r}")


class FilesProvider:
    """One account of the toy cloud."""

    def __init__(self, cloud: Cloud, installation: InstallationId, clock: Clock) -> None:
        self._cloud, self._installation, self._clock = cloud, installation, clock

    @property
    def capabilities(self) -> Capabilities:
        """How its machines behave."""
        return CAPABILITIES

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now."""
        del now
        return planner.next_calls(goal, machine, resources)

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Look at each scope; one that fails is incomplete, and the others go on."""
        found, observed = Found(), list[ObservedScope]()
        for scope in scopes:
            begun, error = self._clock.now(), ""
            try:
                for item in self._items(scope):
                    found.add(item, _SLOTS[scope.kind])
            except CloudError as failure:
                error = f"{type(failure).__name__}: {failure}"
            observed.append(
                ObservedScope(scope=scope, begun=begun, complete=not error, error=error)
            )
        return Observation(
            observed=tuple(observed),
            resources=tuple(found.resources.values()),
            strange=tuple(found.strange),
        )

    def _items(self, scope: Scope) -> Iterator[Item]:
        pages, one = (
            (self._cloud.servers, self._cloud.server)
            if scope.kind == "server"
            else (self._cloud.addresses, self._cloud.address)
        )
        for known in scope.known:
            try:
                yield one(known)
            except NotThere:
                continue
        for item in _all(pages):
            if scope.machine is None or f"machine={scope.machine} " in item.tags:
                yield item

    async def do(self, call: Call) -> Outcome:
        """Make one call. What the cloud certainly did not do is refused; the rest is unknown."""
        try:
            return self._send(call)
        except NotThere as error:
            if call.target is not None and call.kind.endswith(".delete"):
                return Done(absent=(call.target,))
            return Refused(why=Refusal.WRONG_STATE, text=f"not there: {error}")
        except Busy as error:
            return Refused(why=Refusal.BUSY, text=str(error))
        except CloudError as error:
            return Unknown(text=str(error))

    def _send(self, call: Call) -> Outcome:
        target = call.target or ResourceId("")
        match call.kind:
            case "address.create":
                item = self._cloud.create_address(self._tags(call))
                return Done(resources=(resource_of(item, ADDRESS, call.zone),))
            case "server.create":
                item = self._cloud.create_server(self._tags(call), str(call.arg("address")))
                return Done(resources=(resource_of(item, SERVER, call.zone),))
            case "server.start":
                item = self._cloud.start(target)
                return Done(resources=(resource_of(item, SERVER, call.zone),))
            case "server.delete":
                self._cloud.delete_server(target)
                return Done(absent=(target,))
            case "address.delete":
                self._cloud.delete_address(target)
                return Done(absent=(target,))
            case _:
                return Refused(why=Refusal.INVALID, text=f"no such call: {call.kind}")

    def _tags(self, call: Call) -> str:
        return tags_of(
            OwnerTag(
                installation=self._installation,
                fleet=FleetName(str(call.arg("fleet"))),
                machine=MachineId(str(call.arg("machine"))),
                attempt=call.attempt,
            )
        )

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return the address of the bound server, once it is known."""
        bound = machine.bound(SERVER)
        server = next((resource for resource in resources if resource.id == bound), None)
        return Connection(address=server.address) if server and server.address else None

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the bound server's id, by the record alone: it must never change."""
        del resources
        bound = machine.bound(SERVER)
        return f"hostler://files/{machine.offer.zone}/{bound}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        """Return how many requests it takes at most, as far as anybody knows before."""
        return 1 + len(call.known) if isinstance(call, Scope) else 1

    async def close(self) -> None:
        """There is nothing to give back."""


def _all(pages: Callable[[int], tuple[Item, ...]]) -> Iterator[Item]:
    number = 1
    while page := pages(number):
        yield from page
        number += 1
