"""Scene: a fleet as plain values, from which a Snapshot is made, a cycle is run, and the next made.

For tables of Seen → commands, for benchmarks, and for checks that go through many cycles without an
engine: `turn` writes what was decided into the scene as a store would.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.decide import decide
from hostler.domain.ids import (
    CycleId,
    Epoch,
    InstallationId,
    MachineId,
    ResourceId,
    Zone,
    machine_id,
)
from hostler.domain.model.commands import (
    Advance,
    Bind,
    Decision,
    Event,
    OrderHosts,
    Reclaim,
    SaveFleet,
    SaveHost,
    SaveOrphans,
    Unbind,
)
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.inventory import Inventory, merge
from hostler.domain.model.machine import Machine, MachineSpec
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Capabilities, Planner
from hostler.domain.model.resource import (
    Observation,
    ObservedScope,
    OwnerTag,
    Resource,
    Scope,
    Slot,
)
from hostler.domain.model.snapshot import Orphan, Probed, Request, RequestKind, Snapshot
from hostler.domain.observation.ownership import bound_in, explain, sort_out
from hostler.testing.fakes.planner import FakePlanner

from .builders import BEGIN, CAPABILITIES, FLEET, HOME, MIN, WEB, S, address, machine, server


@dataclass(slots=True)
class Scene:
    """One fleet: what exists (`parts`), what was seen of it, and what is recorded; and the time."""

    fleet: Fleet = FLEET
    now: datetime = BEGIN + 10 * MIN
    row: FleetRow = field(default_factory=lambda: FleetRow(name=WEB, created=BEGIN, version=1))
    machines: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    history: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    issued: set[MachineId] = field(default_factory=set[MachineId])
    resources: dict[ResourceId, Resource] = field(default_factory=dict[ResourceId, Resource])
    inventory: Inventory = field(default_factory=Inventory)
    capabilities: Capabilities = CAPABILITIES
    planner: Planner = field(default_factory=FakePlanner)
    epoch: int = 1
    took: datetime = BEGIN
    took_over: bool = False
    steady: datetime = BEGIN
    jumped: datetime | None = None
    ours: tuple[InstallationId, ...] = (HOME,)
    orphans: dict[ResourceId, Orphan] = field(default_factory=dict[ResourceId, Orphan])
    requests: list[Request] = field(default_factory=list[Request])
    moving: set[MachineId] = field(default_factory=set[MachineId])
    probed: dict[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    events: list[Event] = field(default_factory=list[Event])
    cycles: int = 0
    desired: int = 0
    ordered: tuple[tuple[Machine, ...], tuple[Machine, ...]] | tuple[()] = ()

    def add(self, *machines: Machine) -> None:
        """Put records there."""
        self.machines |= {machine.id: machine for machine in machines}
        self.row = replace(self.row, serial=max((m.serial for m in machines), default=0))

    def exist(self, *resources: Resource) -> None:
        """Let resources exist, or stand as they are here, made by calls that our store recorded."""
        self.intrude(*resources)
        for resource in resources:
            if (tag := resource.owner_tag) is not None and tag.installation in self.ours:
                self.issued.add(tag.machine)
                for records in (self.machines, self.history):
                    if tag.machine in records:
                        records[tag.machine] = _asked(records[tag.machine], resource.slot, tag)

    def intrude(self, *resources: Resource) -> None:
        """Let resources exist that no call of ours made, whatever their owner tags say."""
        self.resources |= {resource.id: resource for resource in resources}

    def furnish(self, *machines: Machine) -> None:
        """Put records there, and let their servers be up with their addresses."""
        self.add(*machines)
        for entry in machines:
            up = server(entry)
            self.exist(up, address(entry, owner=up.id))

    def vanish(self, *resources: ResourceId) -> None:
        """Let resources exist no longer."""
        for resource in resources:
            del self.resources[resource]

    def later(self, time: timedelta) -> None:
        """Let time pass."""
        self.now += time

    def observe(self, *, complete: bool = True, only: Iterable[ResourceId] | None = None) -> None:
        """List everything whole; or in part, or showing `only` these."""
        resources = (
            self.resources
            if only is None
            else {resource: self.resources[resource] for resource in only}
        )
        scopes = [Scope(zone, kind) for zone in self.zones() for kind in self.capabilities.kinds]
        observed = tuple(ObservedScope(scope=s, begun=self.now, complete=complete) for s in scopes)
        self.inventory = merge(
            self.inventory, Observation(observed=observed, resources=tuple(resources.values()))
        )

    def zones(self) -> tuple[Zone, ...]:
        """Return the zones that the fleet may be in."""
        return tuple(dict.fromkeys(offer.zone for offer in self.fleet.offers))

    def observe_one(self, *scopes: Scope, complete: bool = True) -> None:
        """Observe these scopes alone, each id by itself."""
        observed = tuple(ObservedScope(scope=s, begun=self.now, complete=complete) for s in scopes)
        found = {resource.id: resource for s in scopes for resource in self._found(s)}
        self.inventory = merge(
            self.inventory, Observation(observed=observed, resources=tuple(found.values()))
        )

    def _found(self, scope: Scope) -> tuple[Resource, ...]:
        here = [
            p for p in self.resources.values() if (p.zone, p.slot.kind) == (scope.zone, scope.kind)
        ]
        if scope.machine is None:
            return tuple(here)
        return tuple(
            p
            for p in here
            if p.id in scope.known
            or (not scope.alone and p.owner_tag and p.owner_tag.machine == scope.machine)
        )

    def request(
        self, kind: RequestKind, machine: MachineId | None = None, size: int | None = None
    ) -> Request:
        """Request something; return the request, which may be replaced by a fuller one."""
        self.desired += 1
        made = Request(
            number=self.desired,
            kind=kind,
            fleet=WEB,
            at=self.now,
            actor="ann",
            machine=machine,
            size=size,
        )
        self.requests.append(made)
        return made

    def ask_for(self, *machines: MachineId, specs: tuple[MachineSpec, ...] = ()) -> None:
        """Wish machines by name, and what is asked of each of them."""
        grow = replace(self.request(RequestKind.GROW), machines=machines, specs=specs)
        self.requests.append(grow)
        del self.requests[-2]

    def in_order(self) -> tuple[Machine, ...]:
        """Return the records by serial: the same tuple as long as they are the same."""
        now = tuple(self.machines.values())
        if not self.ordered or now != self.ordered[0]:
            self.ordered = (now, tuple(sorted(now, key=lambda m: (m.serial, m.id))))
        return self.ordered[1]

    def snapshot(self) -> Snapshot:
        """Return what a cycle would see now."""
        machines = self.in_order()
        names = frozenset({WEB})
        found = sort_out(
            self.inventory, names, self.machines, lambda: bound_in(machines), self.ours
        )
        strangers = explain(found.strangers, self.history, self.issued, self.moving)
        return Snapshot(
            cycle=CycleId(f"turn-{self.cycles}"),
            now=self.now,
            fleet=self.fleet,
            row=self.row,
            machines=machines,
            inventory=self.inventory,
            capabilities=self.capabilities,
            epoch=Epoch(self.epoch),
            took=self.took,
            took_over=self.took_over,
            steady=self.steady,
            jumped=self.jumped,
            ours=self.ours,
            foreign=found.foreign,
            unissued=strangers.unissued,
            unexplained=strangers.unexplained,
            removing=strangers.removing,
            late=strangers.late,
            ended=strangers.ended,
            orphans=tuple(self.orphans.values()),
            requests=tuple(self.requests),
            moving=frozenset(self.moving),
            probed=dict(self.probed),
        )

    def decide(self) -> Decision:
        """Return what would be decided now; nothing is kept of it."""
        return decide(self.snapshot(), self.planner)

    def reconcile(self) -> Decision:
        """Decide, and write down what was decided."""
        decision = self.decide()
        self.cycles += 1
        for command in decision.commands:
            match command:
                case SaveFleet():
                    self._save_fleet(command)
                case Advance():
                    self.keep(command.machine)
                    self.events += command.events
                case SaveOrphans():
                    self.orphans |= {orphan.resource: orphan for orphan in command.orphans}
                    for resource in command.cleared:
                        self.orphans.pop(resource, None)
                case Reclaim() | Bind() | Unbind() | SaveHost() | OrderHosts():
                    pass  # scenes have no hosts that outlive machines
        self.requests.clear()
        return decision

    def keep(self, entry: Machine) -> None:
        """Store a record: one that is deleted goes to the history."""
        self.machines.pop(entry.id, None)
        self.history.pop(entry.id, None)
        self.issued.add(entry.id)
        (self.history if entry.phase is Phase.DELETED else self.machines)[entry.id] = entry

    def _save_fleet(self, command: SaveFleet) -> None:
        self.events += command.events
        self.ours = tuple(dict.fromkeys((*self.ours, *command.installations)))
        first = command.row.serial + 1
        born = [
            replace(
                machine(first + place, Phase.PENDING, self.now),
                offer=offer,
                template=self.fleet.template,
            )
            for place, offer in enumerate(command.inserts)
        ]
        named = [replace(m, id=i) for m, i in zip(born, command.named, strict=False)]
        named[: len(command.specs)] = [
            replace(m, spec=spec, template=spec.template or m.template)
            for m, spec in zip(named, command.specs, strict=False)
        ]
        born[: len(named)] = named
        born += list(command.adopted)
        self.row = replace(command.row, serial=command.row.serial + len(born))
        for entry in born:
            self.keep(entry)

    def rounds(self, many: int, pause: timedelta = 2 * S) -> None:
        """Observe and run a cycle, so many times, so far apart; focused observations included."""
        for _ in range(many):
            self.observe()
            decision = self.reconcile()
            scopes = [s for c in decision.commands if isinstance(c, Advance) for s in c.close]
            self.later(pause)
            if scopes:
                self.observe_one(*scopes)

    def the(self, number: int = 1) -> Machine:
        """Return a living machine by its number, as it is recorded."""
        return self.machines[machine_id(number)]

    def advance(self, number: int = 1) -> Advance | None:
        """Return what would be decided about a machine now, or None where nothing would."""
        name = machine_id(number)
        commands = self.decide().commands
        return next((c for c in commands if isinstance(c, Advance) and c.machine.id == name), None)


def _asked(machine: Machine, slot: Slot, tag: OwnerTag) -> Machine:
    """Return the record with the attempt that made a resource, as it was saved before its call."""
    place = machine.place(slot)
    if place.attempt >= tag.attempt:
        return machine
    return machine.with_place(replace(place, attempt=tag.attempt))
