"""The checker: what the processes record and ask is held against what is true in the world."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from math import inf

from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call, Outcome, Shows
from hostler.domain.model.commands import REQUEST_REFUSED, Decision, Event
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Observation
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.store import Fence
from hostler.testing import invariants
from hostler.testing.invariants import Attempts, Found, Recorded, Thing, Violation
from hostler.testing.sureness import suspected, swept
from hostler.testing.time.clock import BEGINNING

from . import issued_ids
from .findings import Findings, SimulatedWorld
from .holds import Holds
from .listings import Counts, Listed
from .shadow_store import ShadowStore
from .trace import Trace

S1_BOUND = 180.0
SELDOM = 60.0
HIDDEN_FOR = 120.0
"""So long after a list hid something, only S1's bound speaks of what it hid."""
LONGEST_HIDDEN = 2 * HIDDEN_FOR
"""The same where lists hid something one after the other."""


@dataclass(slots=True)
class _Lists:
    """When a list was answered last that hid nothing, and when one that hid something."""

    whole_at: float
    hidden_at: float = -HIDDEN_FOR


class Checker(Findings):
    """All checkers of one seed, and the facts that they need."""

    listed: Listed
    """What must be listed in a zone for somebody to know how much there is (S3)."""

    def __init__(
        self, world: SimulatedWorld, trace: Trace, consistency_delay: float, bound: float = S1_BOUND
    ) -> None:
        super().__init__(world, trace)
        self.consistency_delay = consistency_delay
        self.shadows = list[ShadowStore]()
        self.known_counts = Counts(self.listed)
        self._listings = {name for listings in self.listed.values() for name in listings}
        self.calls_at_rest = list[str]()
        self.commands = 0
        self.barred = Counter[str]()
        self.strange = 0
        self.resting = False
        self.hidden_at = -HIDDEN_FOR
        self._listed = dict[str, _Lists]()
        self._holds = dict[InstallationId, Holds]()
        self.longest_lag = 0.0
        self._recorded = Recorded(consistency_delay + bound)
        self._checked = 0.0
        self._ticked = 0.0
        self._counted = 0.0
        self.changed = True
        self.called = dict[MachineId, float]()
        """When a call was last made for each machine."""

    def phases(self) -> Iterable[str]:
        """Return the phases of all machines that are recorded."""
        return (machine.phase for shadow in self.shadows for machine in shadow.living())

    def happened(self, fault: str, *, done: bool) -> None:
        """Count what somebody did in the world, beside all processes."""
        if done:
            self.struck(fault)

    # ------------------------------------------------------------ what is true

    @abstractmethod
    def things(self) -> list[tuple[Thing, Zone]]:
        """Return every thing that truly exists, with whose it is, and its zone."""

    @abstractmethod
    def is_healthy(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether all is well with what a machine has, by what its store can know of it."""

    @abstractmethod
    def left_of(self, machine: Machine) -> list[Thing]:
        """Return what there still is of a machine that is deleted."""

    def counts(self, thing: Thing) -> bool:
        """Tell whether a thing must be recorded or reported: whoever made it wrote whose it is."""
        return thing.owner_tag is not None

    def explained(self, shadow: ShadowStore) -> Iterable[ResourceId]:
        """Return the ids of what a shadow store's records or its ledger explain."""
        return shadow.explained()

    # ------------------------------------------------------------ what is decided

    def written(self, shadow: ShadowStore, process: str, fleet: FleetName) -> Fleet:
        """Return a fleet as a process has it: every process reads the same file."""
        del process
        return shadow.fleets[fleet]

    def decided(self, shadow: ShadowStore, process: str, fleet: FleetName, made: Decision) -> None:
        """Note what a process decides, and which counts it knows by then (S3).

        One that stood still decides once more, by what it knew, before it learns who leads.
        """
        self.commands += len(made.commands)
        shadow.decides(fleet, made.commands, self.now)
        known = shadow.machines
        row, judged = shadow.rows.get(fleet), shadow.leads(process, fleet)
        if row is not None and judged and not shadow.is_held_back(fleet):
            machines = shadow.left_by(fleet, made.commands)
            written = self.written(shadow, process, fleet)
            self.found(invariants.unmade(written, row, machines, made))
        self.known_counts.decides(process, shadow.fleets[fleet], made.commands, known, self.now)

    # ------------------------------------------------------------ what is recorded

    def led_by(self, fleet: FleetName, process: str) -> None:
        """Note that a run of a process leads a fleet from now on."""

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved."""
        self.changed = True
        before = shadow.machines.get(machine.id)
        self._by_our_choice(shadow, before, machine)
        if machine.host is not None and machine.host != (before.host if before else None):
            self.found(self.held(shadow).taken(shadow.hosts.get(machine.host), machine.id))
        shadow.machines[machine.id] = machine
        shadow.records.note(machine, self.now)
        shadow.jobs.saved(machine, self.now)
        for event in events:
            self.trace.note(
                f"  {machine.id} {event.kind} {event.reason} {event.detail}", machine.id
            )
        self.found(invariants.moved(before, machine))
        if before is not None:
            shadow.begun_anew(before, machine, self.now)
        if before is None or before.phase is machine.phase:
            return
        shadow.failures.moved(before, machine, shadow.decided_at(machine, self.now))
        if machine.phase is Phase.DELETED:
            self.found(shadow.onces.deleted(before.phase, machine, self.now))
            left = [t for t in self.left_of(machine) if not issued_ids.is_unissued(shadow, t)]
            oldest = self.now - self.consistency_delay - self._hidden_for()
            self.found(invariants.deleted(before.phase, machine, left, oldest))
        else:
            healthy = self.is_healthy(shadow, machine)
            self.found(invariants.lost_falsely(before, machine, healthy=healthy))

    def _by_our_choice(self, shadow: ShadowStore, before: Machine | None, machine: Machine) -> None:
        """Check a machine that ends by the engine's own choice, if it does (E3)."""
        fleet, row = shadow.fleets.get(machine.fleet), shadow.rows.get(machine.fleet)
        if fleet is not None:
            self.found(invariants.held_back(before, machine, row, fleet))
            size, ready = shadow.desired(fleet), shadow.ready(fleet.name)
            self.found(invariants.replaced(before, machine, fleet, ready, size))

    def was_listed(self, path: str, *, hides: bool) -> None:
        """Note a list that was answered, and whether it hid something."""
        lists = self._listed.setdefault(path, _Lists(whole_at=self.now))
        if hides:
            self.hidden_at = lists.hidden_at = self.now
        else:
            lists.whole_at = self.now

    def _hidden_for(self) -> float:
        """Return how long every list that was asked for may have hidden the same."""
        hiding = [x for x in self._listed.values() if self.now - x.hidden_at < HIDDEN_FOR]
        longest = max((self.now - lists.whole_at for lists in hiding), default=0.0)
        return min(max(HIDDEN_FOR, longest), LONGEST_HIDDEN) if hiding else 0.0

    def unbound(self, shadow: ShadowStore, host: HostId, machine: MachineId) -> None:
        """Check a tie that was loosened: no living machine has the host (S5)."""
        record = shadow.machines.get(machine)
        if record is not None and record.phase is not Phase.DELETED and record.host == host:
            text = f"host {host} was taken from {machine}, which is {record.phase}"
            self.found((Violation(invariant="S5", text=text, machine=machine),))

    def held(self, shadow: ShadowStore) -> Holds:
        """Return what people want of the hosts of an installation."""
        return self._holds.setdefault(shadow.own, Holds(lambda: self.now, self.faults))

    def asked_for(self, shadow: ShadowStore, request: Request) -> None:
        """Note what a person asks for."""
        self.held(shadow).asked(request)

    def requests_taken(self, shadow: ShadowStore, numbers: tuple[int, ...]) -> None:
        """Note requests that were taken out of a store: they have their answers."""

    def has_host(self, host: HostId) -> bool:
        """Tell whether a host is there in truth, as long as nobody can take one away."""
        del host
        return True

    def host_saved(self, shadow: ShadowStore, host: Host) -> None:
        """Note the record of a host that was saved."""
        self.held(shadow).saved(host)

    def fleet_saved(
        self,
        shadow: ShadowStore,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
    ) -> None:
        """Check a row that was saved, with what it inserted."""
        self.changed = True
        shadow.rows[row.name] = row
        shadow.inserted(inserts)
        for event in events:
            about = event.machine or ""
            self.trace.note(f"  {about} {event.kind} {event.reason} {event.detail}", about)
            if event.kind == REQUEST_REFUSED and event.host:
                record, there = shadow.hosts.get(event.host), self.has_host(event.host)
                self.found(self.held(shadow).refused(event.request, record, there=there))
        fleet = shadow.fleets[row.name]
        made = tuple(machine for machine in inserts if machine.origin == "made")
        living, ending = shadow.living(row.name), shadow.ending.get(row.name, ())
        self.found(invariants.grown(fleet, row, living, made, ending))
        self.found(shadow.failures.inserted(made, self.now))
        if not self.faults["clock_jump"]:
            ahead = timedelta(seconds=self.now + shadow.ahead.get(row.name, 0.0))
            self.found(invariants.set_back(fleet, row, made, BEGINNING + ahead))

    def fleet_removed(self, shadow: ShadowStore, row: FleetRow) -> None:
        """Check that a row that is removed is that of a fleet which left the file, and is over."""
        self.changed = True
        shadow.rows.pop(row.name, None)
        self.trace.note(f"fleet {row.name} is over")
        self.found(invariants.over(shadow.fleets[row.name], shadow.living(row.name)))

    def orphans_saved(
        self, shadow: ShadowStore, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]
    ) -> None:
        """Check the changes of an orphan report."""
        self.found(suspected(orphans, shadow.machines, shadow.bindings))
        for orphan in orphans:
            shadow.orphans[orphan.resource] = orphan
            shadow.reported.setdefault(orphan.resource, self.now)
        for resource in cleared:
            shadow.orphans.pop(resource, None)
            shadow.reported.pop(resource, None)

    def creation_tried(self, shadow: ShadowStore, fleet: FleetName) -> None:
        """Count an attempt to create a server."""
        row = shadow.rows.get(fleet)
        size = row.desired(shadow.fleets[fleet]) if row else 0
        attempts = shadow.attempts.setdefault(fleet, Attempts())
        self.found(attempts.made(self.now, shadow.fleets[fleet].creates_per_hour(size)))

    def observed(self, observation: Observation) -> None:
        """Note what an engine was shown; most judges need not know."""

    def calling(self, call: Call) -> None:
        """Note for which machine a call is made."""
        if isinstance(name := call.arg("machine"), str):
            self.called[MachineId(name)] = self.now

    def is_left_alone(self, shadow: ShadowStore, machine: Machine, passed: float) -> bool:
        """Tell whether an engine could act for a machine, and called nothing for so long."""
        quiet = self.called.get(machine.id, -inf) < self.now - passed
        return quiet and self._may_move(shadow, machine)

    def doing(self, shadow: ShadowStore, call: Call, *, ahead: float) -> None:
        """Check a call before it is sent, by a process whose wall clock is `ahead`."""
        name = call.arg("machine")
        record = shadow.machines.get(MachineId(name)) if isinstance(name, str) else None
        things = [t for t, _ in self.things()] if call.once or record is None else []
        if record is not None:
            there = any(_fills(thing, record.id, call) for thing in things)
            self.found(shadow.onces.sending(call, record, self.now, there=there))
        for thing in things:
            if record is None and thing.id == call.target:
                fleet = next(iter(shadow.fleets.values()))
                observed = shadow.read_at(self.known_counts.listings, thing.id)
                since = self.now - observed if observed is not None else None
                grace = fleet.timers.grace.total_seconds() - 10
                age = self.now - thing.created + max(ahead, 0.0)
                self.found(swept(thing, age, grace, since))

    def did(self, shadow: ShadowStore, call: Call, outcome: Outcome) -> None:
        """Note what came of a call."""
        name = call.arg("machine")
        if isinstance(name, str):
            shadow.onces.sent(MachineId(name), call, self.judged(outcome))

    def judged(self, outcome: Outcome) -> str:
        """Return what came of a call; a world that knows it has a say."""
        return type(outcome).__name__.lower()

    def fenced(self, shadow: ShadowStore, fence: Fence, what: str) -> None:
        """Check the epoch of a save that stands."""
        newest = shadow.epochs.get(fence.lease, Epoch(0))
        self.found(invariants.saved(fence.epoch, newest, what))

    # ------------------------------------------------------------ from time to time

    def tick(self, *, awake: bool) -> None:
        """Check what only time can break; `awake` says whether an engine could act meanwhile.

        While nothing changes, a check now and then is enough.
        """
        self.catch_up()
        passed, self._ticked = self.now - self._ticked, self.now
        self._counted += passed if awake else 0.0
        self.changed = self.count_ambient() or self.changed
        if self.changed or self.now - self._checked >= SELDOM:
            self._check(self._counted)
            self._counted, self._checked, self.changed = 0.0, self.now, False

    def _check(self, passed: float) -> None:
        things = self.things()
        shadows = [shadow for shadow in self.shadows if not shadow.lost]
        explained = {resource for shadow in shadows for resource in self.explained(shadow)}
        counted = {t.id: passed for t, zone in things if passed and self._snapshot_by(t, zone)}
        self.found(
            self._recorded.check((t for t, _ in things if self.counts(t)), explained, counted)
        )
        for shadow in shadows:
            self._check_shadow(shadow, [t for t, _ in things], passed)

    def _snapshot_by(self, thing: Thing, zone: Zone) -> bool:
        owner_tag = thing.owner_tag
        return any(
            (owner_tag is None or owner_tag.fleet in shadow.fleets) and self.looking(shadow, zone)
            for shadow in self.shadows
            if not shadow.lost
        )

    def _check_shadow(self, shadow: ShadowStore, things: list[Thing], passed: float) -> None:
        living = shadow.living()
        self.machine_seconds += passed * len(living)
        if shadow.bounds is not None:
            counts = {m.id: passed for m in living if self._may_move(shadow, m)}
            self.found(shadow.bounds.check(living, counts))
        old = self.now - self.consistency_delay - S1_BOUND
        for name, fleet in shadow.fleets.items():
            row = shadow.rows.get(name)
            servers = sum(
                t.kind == "server"
                and t.owner_tag is not None
                and (t.owner_tag.installation, t.owner_tag.fleet) == (shadow.own, name)
                and t.created < old
                and t.owner_tag.machine not in shadow.removed
                and not issued_ids.is_unissued(shadow, t)
                for t in things
            )
            held = invariants.in_maximum(shadow.living(name))
            size = max(row.desired(fleet) if row else 0, held - fleet.caps.stuck)
            self.found(invariants.crowded(fleet, size, servers))

    def _may_move(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether nothing but the engine keeps a machine in its phase."""
        observed = self.looking(shadow, machine.offer.zone)
        return observed and machine.protection is None and not shadow.is_held_back(machine.fleet)

    def looking(self, shadow: ShadowStore, zone: Zone) -> bool:
        """Tell whether all that there is in a zone was listed to an installation just now."""
        return shadow.looking(zone, self.known_counts.listings, self._listings, self.now)

    def fleets_changed(self, shadow: ShadowStore) -> None:
        """Note that the fleets of a book were written anew."""

    def may_rest(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether a machine may be at rest in the end, with nobody to wake it."""
        del shadow, machine
        return False

    def needs_a_person(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether a machine at work is to be ended by somebody who reads of it."""
        del shadow, machine
        return False

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps this fleet from rest."""
        size = shadow.desired(fleet)
        things = [
            t
            for t, _ in self.things()
            if t.owner_tag
            and t.owner_tag.installation in shadow.ours
            and t.owner_tag.fleet == fleet.name
        ]
        machines = shadow.living(fleet.name)
        bound = {p.bound for m in machines for p in m.places if p.bound is not None}
        return invariants.rested(size, machines, things, bound)


def _fills(thing: Thing, machine: MachineId, call: Call) -> bool:
    """Tell whether a thing is what a call would make."""
    owner_tag = thing.owner_tag
    mine = owner_tag is not None and owner_tag.machine == machine
    return mine and thing.slot == call.slot and call.shows is Shows.RESOURCE
