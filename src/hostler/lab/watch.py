"""Watch: what the processes record and ask is held against what is true in the world."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hostler.domain.calls import Call, Outcome, Shows
from hostler.domain.commands import Event
from hostler.domain.fleet import Fleet, FleetRow
from hostler.domain.ids import Epoch, FleetName, InstallationId, MachineId, PartId, Zone
from hostler.domain.machine import Machine
from hostler.domain.parts import Looked, Mark
from hostler.domain.phases import Phase
from hostler.domain.seen import Suspect
from hostler.ports.http import Request
from hostler.ports.store import Fence, Lease
from hostler.providers.scaleway.marks import Claim, claim_of
from hostler.simulators.scaleway.ledger import Line
from hostler.simulators.scaleway.records import Server, State
from hostler.simulators.scaleway.world import World
from hostler.testing import invariants
from hostler.testing.invariants import (
    Attempts,
    Bounds,
    Failures,
    Found,
    Onces,
    Recorded,
    Records,
    Thing,
    Touch,
    Violation,
)

from .trace import Trace

KINDS = ("server", "address", "volume")
FRESH = 75.0
"""A look so young, in seconds, counts as somebody looking."""
S1_BOUND = 180.0
_ID = re.compile(r"/(servers|ips|volumes)(?:/([0-9a-f-]{36}))?")
_ENDS = (b'"terminate"', b'"poweroff"', b'"stop_in_place"')


@dataclass(slots=True)
class Book:
    """What one installation's store holds, as its saves told it; `lost`: nobody has it any more."""

    own: InstallationId
    fleets: dict[FleetName, Fleet]
    adopted: tuple[InstallationId, ...] = ()
    rows: dict[FleetName, FleetRow] = field(default_factory=dict[FleetName, FleetRow])
    machines: dict[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    suspects: dict[PartId, Suspect] = field(default_factory=dict[PartId, Suspect])
    epochs: dict[str, Epoch] = field(default_factory=dict[str, Epoch])
    attempts: dict[FleetName, Attempts] = field(default_factory=dict[FleetName, Attempts])
    failures: Failures = field(default_factory=lambda: Failures(25.0))
    onces: Onces = field(default_factory=lambda: Onces(60.0))
    records: Records = field(default_factory=Records)
    close: dict[MachineId, float] = field(default_factory=dict[MachineId, float])
    looks: dict[tuple[Zone, str], float] = field(default_factory=dict[tuple[Zone, str], float])
    bounds: Bounds | None = None
    lost: bool = False

    @property
    def ours(self) -> tuple[InstallationId, ...]:
        """Every installation whose marks are ours."""
        return (self.own, *self.adopted)

    def living(self, fleet: FleetName | None = None) -> list[Machine]:
        """Return the machines that are not gone."""
        return [
            m
            for m in self.machines.values()
            if m.phase is not Phase.GONE and fleet in {None, m.fleet}
        ]

    def looking(self, zone: Zone, kinds: Iterable[str], now: float) -> bool:
        """Tell whether somebody looks with success at these kinds in this zone."""
        return all(now - self.looks.get((zone, kind), -FRESH) < FRESH for kind in kinds)


@lru_cache(maxsize=4096)
def _claim(tags: tuple[str, ...], name: str, kind: str) -> Claim | None:
    return claim_of(tags, name, kind)


def things_in(world: World) -> list[tuple[Thing, Zone]]:
    """Return every billable thing that truly exists, with its zone."""
    estate = world.estate
    found = list[tuple[Thing, Zone]]()
    marks = dict[str, Mark | None]()
    for server in estate.servers:
        claim = _claim(tuple(server.tags), server.name, "server")
        marks[server.id] = claim.mark if claim else None
        thing = Thing(
            id=PartId(server.id),
            kind="server",
            created=server.created,
            mark=marks[server.id],
            slot=claim.slot if claim else None,
        )
        found.append((thing, Zone(server.zone)))
    for kind, shelf in (
        ("address", estate.addresses),
        ("volume", estate.volumes),
        ("volume", estate.locals),
    ):
        for item in shelf:
            owner = item.server.id if item.server is not None else None
            claim = _claim(tuple(item.tags), item.name, kind)
            thing = Thing(
                id=PartId(item.id),
                kind=kind,
                created=item.created,
                mark=claim.mark if claim else marks.get(owner or ""),
                slot=claim.slot if claim else None,
                owner=PartId(owner) if owner else None,
            )
            found.append((thing, Zone(item.zone)))
    return found


class Watch:
    """All checkers of one seed, and the facts that they need."""

    def __init__(self, world: World, trace: Trace, settle: float) -> None:
        self.world, self.trace, self.settle = world, trace, settle
        self.books = list[Book]()
        self.first: Violation | None = None
        self.faults = Counter[str]()
        self.pairs = set[tuple[str, str]]()
        self.machine_seconds = 0.0
        self.calls_at_rest = list[str]()
        self.commands = 0
        self.barred = Counter[str]()
        self.strange = 0
        self.resting = False
        self.longest_lag = 0.0
        self._recorded = Recorded(settle + S1_BOUND)
        self._ambient = dict[str, int]()
        self._ticked = 0.0

    @property
    def now(self) -> float:
        """True time in seconds."""
        return self.world.estate.now

    def found(self, violations: Found) -> None:
        """Note violations; the first one ends the story."""
        if violations and self.first is None:
            self.first = violations[0]
            machine = self.first.machine or ""
            self.trace.note(f"VIOLATION {self.first.invariant}: {self.first.text}", machine)
            self.trace.close()

    def struck(self, fault: str, times: int = 1) -> None:
        """Count a fault that truly happened, and in which phases machines were."""
        self.faults[fault] += times
        self.pairs |= {(fault, m.phase) for book in self.books for m in book.living()}

    # ------------------------------------------------------------ what is asked

    def asked(self, book: Book, request: Request, *, holds_lease: bool) -> None:
        """Check a request at its beginning."""
        if request.method == "GET":
            return
        line = f"{request.method} {request.path}"
        self.found(invariants.begun(holds_lease=holds_lease, call=line))
        match = _ID.search(request.path)
        if match is None or match[2] is None:
            return
        thing = next((t for t, _ in things_in(self.world) if t.id == match[2]), None)
        if thing is None:
            return
        destroys = (request.method == "DELETE") or any(w in request.body for w in _ENDS)
        touch = Touch(thing=thing, by=book.ours, destroys=destroys)
        self.found(invariants.touched(touch, self._owner(thing.id)))

    def answered(self, request: Request, source: str, line: Line) -> None:
        """Note what became of a request in the world; count the faults that took effect."""
        text = f"{source} {request.method} {request.path}"
        if request.method != "GET":
            self.calls_at_rest.append(line.key)
            self.trace.note(f"{text} -> {line.status} {line.fate} {line.fault}")
        else:
            self.trace.digest(f"{text} {line.status} {line.fault}")
            if self.resting and not line.key.endswith(".list") and self._is_marked(request):
                self.calls_at_rest.append(line.key)
        for fault in line.fault.split("+") if line.fault else ():
            self.struck(fault)

    def _is_marked(self, request: Request) -> bool:
        """What lost its marks by hand can only be seen by its id: that is no call too many."""
        match = _ID.search(request.path)
        things = {thing.id: thing.mark for thing, _ in things_in(self.world)}
        return match is None or match[2] is None or things.get(PartId(match[2])) is not None

    def _owner(self, part: PartId) -> Machine | None:
        for book in self.books:
            if not book.lost:
                for machine in book.living():
                    if any(place.bound == part for place in machine.places):
                        return machine
        return None

    # ------------------------------------------------------------ what is recorded

    def machine_saved(self, book: Book, machine: Machine, events: tuple[Event, ...]) -> None:
        """Check a record that was saved."""
        before = book.machines.get(machine.id)
        book.machines[machine.id] = machine
        book.records.note(machine, self.now)
        for event in events:
            self.trace.note(
                f"  {machine.id} {event.kind} {event.reason} {event.detail}", machine.id
            )
        self.found(invariants.moved(before, machine))
        if before is None or before.phase is machine.phase:
            return
        book.failures.moved(before, machine, self.now)
        if machine.phase is Phase.GONE:
            self.found(book.onces.gone(before.phase, machine, self.now))
            left = [t for t, _ in things_in(self.world) if _is_of(t, machine)]
            oldest = self.now - self.settle
            self.found(invariants.gone(before.phase, machine, left, oldest))
        else:
            self.found(invariants.lost_falsely(before, machine, healthy=self._healthy(machine)))

    def fleet_saved(
        self, book: Book, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...]
    ) -> None:
        """Check a row that was saved, with what it inserted."""
        book.rows[row.name] = row
        for machine in inserts:
            book.machines[machine.id] = replace(machine, version=1)
        for event in events:
            about = event.machine or ""
            self.trace.note(f"  {about} {event.kind} {event.reason} {event.detail}", about)
        fleet = book.fleets[row.name]
        made = tuple(machine for machine in inserts if machine.origin == "made")
        self.found(invariants.grown(fleet, row, book.living(row.name), made))
        self.found(book.failures.inserted(made, self.now))

    def creation_tried(self, book: Book, fleet: FleetName) -> None:
        """Count an attempt to create a server."""
        row = book.rows.get(fleet)
        size = row.wished(book.fleets[fleet]) if row else 0
        attempts = book.attempts.setdefault(fleet, Attempts())
        self.found(attempts.made(self.now, book.fleets[fleet].creates_per_hour(size)))

    def doing(self, book: Book, call: Call) -> None:
        """Check a call before it is sent."""
        name = call.arg("machine")
        record = book.machines.get(MachineId(name)) if isinstance(name, str) else None
        things = [t for t, _ in things_in(self.world)] if call.once or record is None else []
        if record is not None:
            there = any(_fills(thing, record.id, call) for thing in things)
            self.found(book.onces.sending(call, record, self.now, there=there))
        for thing in things:
            if record is None and thing.id == call.target:
                fleet = next(iter(book.fleets.values()))
                looked = book.close.get(MachineId(str(name)))
                since = self.now - looked if looked is not None else None
                grace = fleet.timers.grace.total_seconds() - 10
                self.found(invariants.swept(thing, self.now - thing.created, grace, since))

    def did(self, book: Book, call: Call, outcome: Outcome) -> None:
        """Note what came of a call."""
        name, word = call.arg("machine"), type(outcome).__name__.lower()
        if isinstance(name, str):
            book.onces.sent(MachineId(name), call, word)

    def fenced(self, book: Book, fence: Fence, what: str) -> None:
        """Check the epoch of a save that stands."""
        newest = book.epochs.get(fence.lease, Epoch(0))
        self.found(invariants.saved(fence.epoch, newest, what))

    def _healthy(self, machine: Machine) -> bool:
        """Tell whether everything that the record binds is there, and its server is up."""
        estate = self.world.estate
        bound = {str(place.bound): place.slot.kind for place in machine.places if place.bound}
        servers = [estate.servers.get(part) for part, kind in bound.items() if kind == "server"]
        there = all(
            estate.servers.get(part)
            or estate.addresses.get(part)
            or estate.volumes.get(part)
            or estate.locals.get(part)
            for part in bound
        )
        return there and bool(servers) and all(s is not None and _up(s) for s in servers)

    # ------------------------------------------------------------ from time to time

    def tick(self, *, awake: bool) -> None:
        """Check what only time can break; `awake` says whether an engine could act meanwhile."""
        self.world.advance()
        passed, self._ticked = self.now - self._ticked, self.now
        self._count_ambient()
        things = things_in(self.world)
        explained = {part for book in self.books if not book.lost for part in _explained(book)}
        counted = {t.id: passed for t, zone in things if awake and self._seen_by(t, zone)}
        self.found(self._recorded.check((t for t, _ in things if t.mark), explained, counted))
        for book in self.books:
            if not book.lost:
                self._check_book(book, [t for t, _ in things], passed if awake else 0.0)

    def _seen_by(self, thing: Thing, zone: Zone) -> bool:
        mark = thing.mark
        return mark is not None and any(
            mark.fleet in book.fleets and book.looking(zone, KINDS, self.now)
            for book in self.books
            if not book.lost
        )

    def _check_book(self, book: Book, things: list[Thing], passed: float) -> None:
        living = book.living()
        self.machine_seconds += passed * len(living)
        if book.bounds is not None:
            counts = {m.id: passed for m in living if self._may_move(book, m)}
            self.found(book.bounds.check(living, counts))
        old = self.now - self.settle - 2 * S1_BOUND - 240.0
        for name, fleet in book.fleets.items():
            row = book.rows.get(name)
            servers = sum(
                t.kind == "server"
                and t.mark is not None
                and (t.mark.installation, t.mark.fleet) == (book.own, name)
                and t.created < old
                for t in things
            )
            held = sum(m.in_maximum for m in book.living(name))
            size = max(row.wished(fleet) if row else 0, held - fleet.caps.stuck)
            self.found(invariants.crowded(fleet, size, servers))

    def _may_move(self, book: Book, machine: Machine) -> bool:
        """Tell whether nothing but the engine keeps a machine in its phase."""
        row = book.rows.get(machine.fleet)
        paused = row is not None and row.pause is not None
        looked = book.looking(machine.offer.zone, KINDS, self.now)
        return looked and machine.hold is None and not paused

    def _count_ambient(self) -> None:
        for fault, count in self.world.faults.items():
            known = max(self._ambient.get(fault, 0), self.faults[fault])
            if count > known:
                self.struck(fault, count - known)
            self._ambient[fault] = count

    def looked(self, book: Book, looked: Iterable[Looked]) -> None:
        """Note which whole listings succeeded."""
        for one in looked:
            if one.complete and one.scope.machine is None:
                book.looks[one.scope.zone, one.scope.kind] = self.now
            elif one.scope.machine is not None:
                book.close[one.scope.machine] = self.now

    def rested(self, book: Book, fleet: Fleet) -> Found:
        """Return what still keeps this fleet from rest."""
        row = book.rows.get(fleet.name)
        size = row.wished(fleet) if row else fleet.size
        things = [
            t
            for t, _ in things_in(self.world)
            if t.mark and t.mark.installation in book.ours and t.mark.fleet == fleet.name
        ]
        machines = book.living(fleet.name)
        bound = {p.bound for m in machines for p in m.places if p.bound is not None}
        return invariants.rested(size, machines, things, bound)


def _up(server: Server) -> bool:
    return server.state == State.RUNNING and server.guest_up


def _fills(thing: Thing, machine: MachineId, call: Call) -> bool:
    mark = thing.mark
    mine = mark is not None and mark.machine == machine
    return mine and thing.slot == call.slot and call.shows is Shows.PART


def _is_of(thing: Thing, machine: Machine) -> bool:
    bound = any(known.id == thing.id for place in machine.places for known in place.known)
    return bound or (thing.mark is not None and thing.mark.machine == machine.id)


def _explained(book: Book) -> Iterable[PartId]:
    for machine in book.living():
        yield from machine.ids()
    yield from book.suspects


@dataclass(slots=True)
class Clerk:
    """Tells the watch what one process saves; implements `gated_store.Notary`."""

    watch: Watch
    book: Book
    name: str
    blur: Callable[[], None]
    neighbour: Callable[[], bool]

    def machine_saved(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> None:
        """Note a machine's record."""
        self.watch.fenced(self.book, fence, str(machine.id))
        self.watch.machine_saved(self.book, machine, events)

    def fleet_saved(
        self, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> None:
        """Note a fleet's row and its new machines."""
        self.watch.fenced(self.book, fence, str(row.name))
        self.watch.fleet_saved(self.book, row, inserts, events)

    def suspects_saved(self, suspects: tuple[Suspect, ...], cleared: tuple[PartId, ...]) -> None:
        """Note the ledger's changes."""
        self.watch.found(invariants.suspected(suspects, self.book.machines))
        self.book.suspects |= {suspect.part: suspect for suspect in suspects}
        for part in cleared:
            self.book.suspects.pop(part, None)
        self.watch.trace.note(f"{self.name} suspects: {len(self.book.suspects)}")

    def adopted(self, installations: tuple[InstallationId, ...]) -> None:
        """Note whose marks are ours from now on."""
        self.book.adopted = tuple(dict.fromkeys((*self.book.adopted, *installations)))

    def leased(self, lease: Lease) -> None:
        """Note who took a lease."""
        self.book.epochs[lease.name] = lease.epoch
        if lease.name.startswith("fleet/") and self.neighbour():
            self.watch.struck("two_replicas")
        self.watch.trace.note(f"{self.name} took {lease.name} under epoch {lease.epoch}")

    def store_failed(self) -> None:
        """Note that a call to the store was refused."""
        self.blur()


def book_for(own: InstallationId, fleets: Iterable[Fleet]) -> Book:
    """Return the empty book of a new installation."""
    by_name = {fleet.name: fleet for fleet in fleets}
    timers = next(iter(by_name.values())).timers
    return Book(own=own, fleets=by_name, bounds=Bounds(timers))
