"""FakeProvider: the provider port over a tiny deterministic world of servers and addresses.

Made in the shape of cloud servers: an address, a server with it, power; and back again. Nothing
happens by chance: what goes wrong is written into its script, call by call and observation by
observation.
"""

import asyncio
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.machine import BootstrapFormat, Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import (
    REACHABLE,
    Condition,
    Observation,
    ObservedScope,
    OwnerTag,
    Resource,
    Scope,
)
from hostler.ports.provider import Connection

from .planner import (
    ATTACH_ADDRESS,
    MAKE_SERVER,
    POWER_ON,
    REMOVE_ADDRESS,
    REMOVE_SERVER,
    SERVER,
    TERMINATE,
    FakePlanner,
)
from .script import Script, Scripted
from .world import FakeWorld, in_state


class FakeProvider:
    """One account in a fake world. `script` holds, by kind of call, what befalls the next ones.

    `dead` zones answer no look; with `empty` set every list is whole and shows nothing; `strange`
    words are told with each look; `hung` looks never end while it is set. `bootstraps` are the
    bootstrap data that single machines may name, `booted_with` what servers were made with.
    """

    def __init__(
        self,
        world: FakeWorld,
        installation: InstallationId,
        capabilities: Capabilities | None = None,
        addresses: int = 1,
    ) -> None:
        self.ways = FakePlanner(addresses)
        self.world, self.installation = world, installation
        kinds = ("server", "address") if addresses else ("server",)
        self._capabilities = capabilities or Capabilities(
            main=SERVER, kinds=kinds, own_templates=True, bootstraps=frozenset(BootstrapFormat)
        )
        self.bootstraps = dict[str, bytes]()
        self.booted_with = dict[ResourceId, bytes]()
        self.script = Script(world, self._capabilities.deadline)
        self.answers = dict[MachineId, timedelta]()
        self.dead = set[Zone]()
        self.empty = False
        self.strange: tuple[str, ...] = ()
        self.observations = list[tuple[datetime, tuple[Scope, ...]]]()
        self.out_of_stock = set[tuple[str, Zone]]()

    @property
    def capabilities(self) -> Capabilities:
        """Return how its machines behave."""
        return self._capabilities

    def next_calls(
        self, goal: Goal, machine: Machine, resources: tuple[Resource, ...], now: datetime
    ) -> tuple[Call, ...]:
        """Return the calls that may be made now."""
        return self.ways.next_calls(goal, machine, resources, now)

    def befall(self, kind: str, *what: Scripted) -> None:
        """Let these befall the next calls of a kind, in order."""
        self.script.befall(kind, *what)

    # ------------------------------------------------------------ observations

    async def observe(self, scopes: tuple[Scope, ...]) -> Observation:
        """Observe these scopes; what is younger than the lag is missing from lists."""
        begun = self.world.clock.now()
        self.observations.append((begun, scopes))
        self.world.catch_up()
        observed = tuple(
            ObservedScope(
                scope=scope,
                begun=begun,
                complete=scope.zone not in self.dead,
                error="the zone does not answer" if scope.zone in self.dead else "",
            )
            for scope in scopes
        )
        found = {
            resource.id: resource for scope in scopes for resource in self._found(scope, begun)
        }
        await asyncio.sleep(self.world.pace.answer.total_seconds())
        resources = tuple(found[resource] for resource in sorted(found))
        return Observation(observed=observed, resources=resources, strange=self.strange)

    def _found(self, scope: Scope, now: datetime) -> tuple[Resource, ...]:
        if scope.zone in self.dead:
            return ()
        here = [
            resource
            for resource in self.world.resources.values()
            if resource.zone == scope.zone and resource.slot.kind == scope.kind
        ]
        listed = [
            resource
            for resource in here
            if self.world.born[resource.id] + self.world.pace.lag <= now
        ]
        if scope.machine is None:
            return () if self.empty else tuple(listed)
        tagged = [
            p for p in listed if p.owner_tag is not None and p.owner_tag.machine == scope.machine
        ]
        known = [resource for resource in here if resource.id in scope.known]
        if scope.alone:
            return tuple(known)
        return (*known, *(() if self.empty else tagged))

    # ------------------------------------------------------------ calls

    async def do(self, call: Call) -> Outcome:
        """Make one call as the script says, else as the world allows."""
        return await self.script.make(call, self._patience(call), self._effect)

    def _patience(self, call: Call) -> timedelta:
        machine = MachineId(str(call.arg("machine")))
        return self.answers.get(machine, self.world.pace.answer)

    def _effect(self, call: Call) -> Outcome:
        """Let a call have its effect, and return the answer that the world gives."""
        if call.effect is Effect.MAKE:
            return self._make(call)
        resource = self.world.resources.get(call.target) if call.target is not None else None
        if resource is None:
            if call.effect is Effect.DESTROY:
                absent = (call.target,) if call.target is not None else ()
                return Done(absent=absent, missing=True)
            return Refused(why=Refusal.WRONG_STATE, text="there is no such resource")
        return self._change(call, resource)

    def _make(self, call: Call) -> Outcome:
        kind = str(call.arg("type"))
        if call.kind == MAKE_SERVER and (kind, call.zone) in self.out_of_stock:
            return Refused(why=Refusal.STOCK, text=f"no {kind} left in {call.zone}")
        bootstrap = call.arg("bootstrap")
        if bootstrap is not None and str(bootstrap) not in self.bootstraps:
            return Refused(why=Refusal.INVALID, text=f"there is no bootstrap data at {bootstrap}")
        resource = Resource(
            id=self.world.name(call.slot.kind),
            slot=call.slot,
            zone=call.zone,
            owner_tag=self._owner_tag(call),
            created=self.world.clock.now(),
            price=0.01,
            type=kind if call.kind == MAKE_SERVER else "",
        )
        server = call.kind == MAKE_SERVER
        made = self.world.add(in_state(resource, Condition.OFF if server else Condition.FREE))
        if bootstrap is not None:
            self.booted_with[made.id] = self.bootstraps[str(bootstrap)]
        addresses = call.arg("addresses")
        for address in addresses if isinstance(addresses, tuple) else ():
            there = self.world.resources.get(ResourceId(address))
            if there is not None:
                self.world.resources[there.id] = replace(there, owner=made.id)
        return Done(resources=(made,))

    def _owner_tag(self, call: Call) -> OwnerTag:
        return OwnerTag(
            installation=self.installation,
            fleet=FleetName(str(call.arg("fleet"))),
            machine=MachineId(str(call.arg("machine"))),
            attempt=call.attempt,
        )

    def _change(self, call: Call, resource: Resource) -> Outcome:
        match call.kind:
            case _ if call.kind == POWER_ON:
                return self._power_on(resource)
            case _ if call.kind == ATTACH_ADDRESS:
                attached = replace(resource, owner=ResourceId(str(call.arg("server"))))
                self.world.resources[resource.id] = attached
                return Done(resources=(attached,))
            case _ if call.kind == TERMINATE:
                return self._terminate(resource)
            case _ if call.kind in {REMOVE_SERVER, REMOVE_ADDRESS}:
                self.world.remove(resource.id)
                return Done(absent=(resource.id,))
            case _:
                return Refused(why=Refusal.INVALID, text=f"no such call: {call.kind}")

    def _power_on(self, resource: Resource) -> Outcome:
        if "poweron" not in resource.allowed:
            return Refused(why=Refusal.WRONG_STATE, text=f"it is {resource.status}")
        self.world.become(resource.id, Condition.STARTING)
        self.world.plan(self.world.pace.boot, lambda: self._booted(resource.id))
        return Done(resources=(self.world.resources[resource.id],))

    def _booted(self, resource: ResourceId) -> None:
        there = self.world.resources.get(resource)
        if there is not None and there.condition is Condition.STARTING:
            address = f"192.0.2.{len(self.world.resources) % 250}"
            self.world.resources[resource] = replace(in_state(there, Condition.UP), address=address)

    def _terminate(self, resource: Resource) -> Outcome:
        if "terminate" not in resource.allowed:
            return Refused(why=Refusal.WRONG_STATE, text=f"it is {resource.status}")
        self.world.become(resource.id, Condition.STOPPING)
        self.world.plan(self.world.pace.removal, lambda: self.world.remove(resource.id))
        return Done(resources=(self.world.resources[resource.id],))

    # ------------------------------------------------------------ the rest of the port

    def connection(self, machine: Machine, resources: tuple[Resource, ...]) -> Connection | None:
        """Return the address of the bound server once it is up."""
        bound = machine.bound(SERVER)
        server = next((resource for resource in resources if resource.id == bound), None)
        if server is None or server.condition not in REACHABLE or not server.address:
            return None
        return Connection(address=server.address)

    def provider_id(self, machine: Machine, resources: tuple[Resource, ...]) -> str | None:
        """Return the bound server's id, in a scheme of its own."""
        del resources
        bound = machine.bound(SERVER)
        return f"fake://{machine.offer.zone}/{bound}" if bound else None

    def cost(self, call: Call | Scope) -> int:
        """Return one request for everything; observing a machine asks for each of its ids."""
        if isinstance(call, Scope) and call.machine is not None:
            return len(call.known) + (0 if call.alone else 1)
        return 1

    async def close(self) -> None:
        """Nothing to give back."""
