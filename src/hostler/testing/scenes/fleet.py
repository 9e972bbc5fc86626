"""Scene: a fleet as plain values, from which a Seen is made, a turn is taken, and the next made.

For tables of Seen → commands, for benchmarks, and for checks that go through many turns without an
engine: `turn` writes what was decided into the scene as a store would.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hostler.domain.decide import decide
from hostler.domain.ids import Epoch, InstallationId, MachineId, PartId, TurnId, Zone, machine_id
from hostler.domain.model.commands import (
    Decision,
    Event,
    KeepHost,
    KeepLedger,
    KeepRow,
    Loose,
    OrderHosts,
    Reclaim,
    Take,
    Tend,
)
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.inventory import View, merge
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.provider import Traits, Ways
from hostler.domain.model.resource import Look, Looked, Part, Scope
from hostler.domain.model.snapshot import Probed, Seen, Suspect, Wish, WishKind
from hostler.domain.observation.ownership import bound_in, sort_out
from hostler.testing.fakes.planner import FakeWays

from .builders import BEGIN, FLEET, HOME, MIN, TRAITS, WEB, S, address, machine, server


@dataclass(slots=True)
class Scene:
    """One fleet: what exists (`parts`), what was seen of it, and what is recorded; and the time."""

    fleet: Fleet = FLEET
    now: datetime = BEGIN + 10 * MIN
    row: FleetRow = field(default_factory=lambda: FleetRow(name=WEB, created=BEGIN, version=1))
    machines: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    history: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    parts: dict[PartId, Part] = field(default_factory=dict[PartId, Part])
    view: View = field(default_factory=View)
    traits: Traits = TRAITS
    ways: Ways = field(default_factory=FakeWays)
    epoch: int = 1
    took: datetime = BEGIN
    steady: datetime = BEGIN
    jumped: datetime | None = None
    ours: tuple[InstallationId, ...] = (HOME,)
    suspects: dict[PartId, Suspect] = field(default_factory=dict[PartId, Suspect])
    wishes: list[Wish] = field(default_factory=list[Wish])
    moving: set[MachineId] = field(default_factory=set[MachineId])
    probed: dict[MachineId, Probed] = field(default_factory=dict[MachineId, Probed])
    events: list[Event] = field(default_factory=list[Event])
    turns: int = 0
    wished: int = 0
    ordered: tuple[tuple[Machine, ...], tuple[Machine, ...]] | tuple[()] = ()

    def add(self, *machines: Machine) -> None:
        """Put records there."""
        self.machines |= {machine.id: machine for machine in machines}
        self.row = replace(self.row, serial=max((m.serial for m in machines), default=0))

    def exist(self, *parts: Part) -> None:
        """Let parts exist, or stand as given here."""
        self.parts |= {part.id: part for part in parts}

    def furnish(self, *machines: Machine) -> None:
        """Put records there, and let their servers be up with their addresses."""
        self.add(*machines)
        for entry in machines:
            up = server(entry)
            self.exist(up, address(entry, owner=up.id))

    def vanish(self, *parts: PartId) -> None:
        """Let parts exist no longer."""
        for part in parts:
            del self.parts[part]

    def later(self, time: timedelta) -> None:
        """Let time pass."""
        self.now += time

    def look(self, *, complete: bool = True, only: Iterable[PartId] | None = None) -> None:
        """List everything whole; or in part, or showing `only` these."""
        shown = self.parts if only is None else {part: self.parts[part] for part in only}
        scopes = [Scope(zone, kind) for zone in self.zones() for kind in self.traits.kinds]
        looked = tuple(Looked(scope=s, begun=self.now, complete=complete) for s in scopes)
        self.view = merge(self.view, Look(looked=looked, parts=tuple(shown.values())))

    def zones(self) -> tuple[Zone, ...]:
        """Return the zones that the fleet may be in."""
        return tuple(dict.fromkeys(offer.zone for offer in self.fleet.offers))

    def look_at(self, *scopes: Scope, complete: bool = True) -> None:
        """Look at these scopes alone, each id by itself."""
        looked = tuple(Looked(scope=s, begun=self.now, complete=complete) for s in scopes)
        found = {part.id: part for s in scopes for part in self._found(s)}
        self.view = merge(self.view, Look(looked=looked, parts=tuple(found.values())))

    def _found(self, scope: Scope) -> tuple[Part, ...]:
        here = [p for p in self.parts.values() if (p.zone, p.slot.kind) == (scope.zone, scope.kind)]
        if scope.machine is None:
            return tuple(here)
        return tuple(
            p for p in here if p.id in scope.known or (p.mark and p.mark.machine == scope.machine)
        )

    def wish(
        self, kind: WishKind, machine: MachineId | None = None, size: int | None = None
    ) -> Wish:
        """Wish something; return the wish, which may be replaced by a fuller one."""
        self.wished += 1
        made = Wish(
            number=self.wished,
            kind=kind,
            fleet=WEB,
            at=self.now,
            actor="ann",
            machine=machine,
            size=size,
        )
        self.wishes.append(made)
        return made

    def ask_for(self, *machines: MachineId) -> None:
        """Wish machines by name."""
        self.wishes.append(replace(self.wish(WishKind.GROW), machines=machines))
        del self.wishes[-2]

    def in_order(self) -> tuple[Machine, ...]:
        """Return the records by serial: the same tuple as long as they are the same."""
        now = tuple(self.machines.values())
        if not self.ordered or now != self.ordered[0]:
            self.ordered = (now, tuple(sorted(now, key=lambda m: (m.serial, m.id))))
        return self.ordered[1]

    def seen(self) -> Seen:
        """Return what a turn would see now."""
        living = set(self.machines) | self.moving
        machines = self.in_order()
        found = sort_out(self.view, WEB, living, lambda: bound_in(machines), self.ours)
        late = tuple(self.history[m] for m in found.machines() if m in self.history)
        known = {entry.id for entry in late}
        return Seen(
            turn=TurnId(f"turn-{self.turns}"),
            now=self.now,
            fleet=self.fleet,
            row=self.row,
            machines=machines,
            view=self.view,
            traits=self.traits,
            epoch=Epoch(self.epoch),
            took=self.took,
            steady=self.steady,
            jumped=self.jumped,
            ours=self.ours,
            foreign=found.foreign,
            unexplained=tuple(p for p in found.strangers if p.mark and p.mark.machine not in known),
            late=late,
            suspects=tuple(self.suspects.values()),
            wishes=tuple(self.wishes),
            moving=frozenset(self.moving),
            probed=dict(self.probed),
        )

    def decide(self) -> Decision:
        """Return what would be decided now; nothing is kept of it."""
        return decide(self.seen(), self.ways)

    def turn(self) -> Decision:
        """Decide, and write down what was decided."""
        decision = self.decide()
        self.turns += 1
        for command in decision.commands:
            match command:
                case KeepRow():
                    self._keep_row(command)
                case Tend():
                    self.keep(command.machine)
                    self.events += command.events
                case KeepLedger():
                    self.suspects |= {suspect.part: suspect for suspect in command.suspects}
                    for part in command.cleared:
                        self.suspects.pop(part, None)
                case Reclaim() | Take() | Loose() | KeepHost() | OrderHosts():
                    pass  # scenes have no hosts that outlive machines
        self.wishes.clear()
        return decision

    def keep(self, entry: Machine) -> None:
        """Store a record: one that is gone goes to the history."""
        self.machines.pop(entry.id, None)
        self.history.pop(entry.id, None)
        (self.history if entry.phase is Phase.GONE else self.machines)[entry.id] = entry

    def _keep_row(self, command: KeepRow) -> None:
        self.events += command.events
        self.ours = tuple(dict.fromkeys((*self.ours, *command.installations)))
        first = command.row.serial + 1
        born = [
            replace(
                machine(first + place, Phase.WANTED, self.now),
                offer=offer,
                template=self.fleet.template,
            )
            for place, offer in enumerate(command.inserts)
        ]
        named = [replace(m, id=i) for m, i in zip(born, command.named, strict=False)]
        born[: len(named)] = named
        born += list(command.adopted)
        self.row = replace(command.row, serial=command.row.serial + len(born))
        for entry in born:
            self.keep(entry)

    def rounds(self, many: int, pause: timedelta = 2 * S) -> None:
        """Look and take a turn, so many times, so far apart; every close look asked for is made."""
        for _ in range(many):
            self.look()
            decision = self.turn()
            scopes = [s for c in decision.commands if isinstance(c, Tend) for s in c.close]
            self.later(pause)
            if scopes:
                self.look_at(*scopes)

    def the(self, number: int = 1) -> Machine:
        """Return a living machine by its number, as it is recorded."""
        return self.machines[machine_id(number)]

    def tend(self, number: int = 1) -> Tend | None:
        """Return what would be decided about a machine now, or None where nothing would."""
        name = machine_id(number)
        commands = self.decide().commands
        return next((c for c in commands if isinstance(c, Tend) and c.machine.id == name), None)
