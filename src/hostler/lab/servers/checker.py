"""The checker of servers: what is recorded and asked is held against what truly exists."""

from hostler.domain.ids import FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.commands import REQUEST_REFUSED, Decision, Event
from hostler.domain.model.fleet import Fleet, FleetRow, Timers
from hostler.domain.model.machine import LOCKED, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, Request
from hostler.lab.checks import issued_ids
from hostler.lab.checks.carried_out import CarriedOut
from hostler.lab.checks.checker import SELDOM
from hostler.lab.checks.choices import Choices
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.checks.trace import Trace
from hostler.lab.scaleway.checker import THING, ScalewayChecker
from hostler.lab.scaleway.listings import INSTANCES
from hostler.lab.scaleway.world import ScalewayWorld
from hostler.lab.scenario.faults import Scenario
from hostler.ports.http import HttpRequest
from hostler.simulators.scaleway.state.ledger import Line
from hostler.testing import invariants
from hostler.testing.invariants import Found, Thing, Touch, Violation

from .address_pool import AddressPool, bare
from .as_asked import differs
from .as_recorded import misreported, misstated
from .first_start import first_start
from .ground_truth import is_healthy, is_of, things_in
from .large import LEAST
from .promptness import Promptness
from .requests import is_counted, is_destroying, is_given_back
from .untagged import Untagged, strips

_MISSING, _REFUSED = 404, 400
_GAP = Timers().absence_gap.total_seconds()


class ServerChecker(ScalewayChecker):
    """All checkers of one run of servers."""

    listed = INSTANCES

    def __init__(
        self,
        world: ScalewayWorld,
        trace: Trace,
        consistency_delay: float,
        pool: AddressPool,
        scenario: Scenario,
    ) -> None:
        super().__init__(world, trace, consistency_delay)
        self.pool, self._scenario = pool, scenario
        self._requests = dict[InstallationId, CarriedOut]()
        self._choices = dict[InstallationId, Choices]()
        large = scenario.machines >= LEAST
        self._promptness = Promptness(world, probed=scenario.probe != "api", large=large)
        self._denied = dict[tuple[str, str], list[float]]()
        self.untagged = Untagged(frozenset(thing.id for thing, _ in things_in(world)))

    def things(self) -> list[tuple[Thing, Zone]]:
        """Return every server, address and volume that truly exists."""
        self.pool.look()
        things = things_in(self.world, self.pool)
        self.untagged.note(thing for thing, _ in things)
        return things

    def explained(self, shadow: ShadowStore) -> set[ResourceId]:
        """Return the ids that are explained: an allocated address may be told by its bare one.

        Somebody took all tags from it, and the record of its machine.
        """
        reported = (one for one in shadow.orphans.values() if one.machine)
        allocated = {ResourceId(f"{bare(one.resource)}@{one.machine}") for one in reported}
        return {*super().explained(shadow), *allocated}

    def counts(self, thing: Thing) -> bool:
        """Tell whether a program must know of a thing, with or without a tag."""
        theirs = thing.id in self.untagged.strangers or thing.id in self.pool.stands
        if thing.owner_tag is not None or theirs:
            return thing.owner_tag is not None
        return not self.untagged.is_taken(thing, self._recorded_ids())

    def taken(self) -> list[tuple[Thing, Zone]]:
        """Return the things that somebody took the tags from, and that no record ever had."""
        recorded = self._recorded_ids()
        return [one for one in self.things() if self.untagged.is_taken(one[0], recorded)]

    def made_for_ended(self) -> list[tuple[Thing, Zone]]:
        """Return the servers that a store never issued, for machines that ended in it."""
        return [
            (thing, zone)
            for shadow in self._stores()
            for thing, zone in self.things()
            if thing.kind == "server"
            and thing.owner_tag is not None
            and (machine := shadow.machines.get(thing.owner_tag.machine)) is not None
            and machine.phase is Phase.DELETED
            and issued_ids.is_unissued(shadow, thing)
        ]

    def reported_of_ending(self) -> list[tuple[Thing, Zone]]:
        """Return what the program reports of fleets that end, and is not to remove itself.

        Nor does it ever remove what its store never issued; and what ends adopts nothing.
        """
        reported = {
            orphan.resource
            for shadow in self._stores()
            for orphan in shadow.orphans.values()
            if (row := shadow.rows.get(orphan.fleet)) is not None
            and (fleet := shadow.fleets.get(orphan.fleet)) is not None
            and row.ends
            and (
                orphan.cls is OrphanClass.UNISSUED
                or (orphan.cls is OrphanClass.UNRECORDED and not fleet.reclaim)
            )
        }
        return [one for one in self.things() if one[0].id in reported]

    def _recorded_ids(self) -> frozenset[ResourceId]:
        """Return every id that a record of a store has or had that is not lost."""
        machines = (m for shadow in self._stores() for m in shadow.machines.values())
        return frozenset(k.id for m in machines for place in m.places for k in place.known)

    def _stores(self) -> list[ShadowStore]:
        return [shadow for shadow in self.shadows if not shadow.lost]

    def answered(self, request: HttpRequest, source: str, line: Line) -> None:
        """Note what became of a request; of what was made, whose it is before anybody edits it."""
        super().answered(request, source, line)
        if request.method == "POST":
            self.things()
        match = THING.search(request.path)
        if request.method == "GET" and match is not None and match[2] is not None:
            self._note_read(source, match[2], line.status)

    # ------------------------------------------------------------ what is decided and asked for

    def decided(self, shadow: ShadowStore, process: str, fleet: FleetName, made: Decision) -> None:
        """Judge which machines a decision ends, beside what everybody is judged by."""
        super().decided(shadow, process, fleet, made)
        chosen = self._chosen(shadow)
        self.found(chosen.decided(shadow, shadow.fleets[fleet], made, self.now))

    def machine_saved(
        self, shadow: ShadowStore, machine: Machine, events: tuple[Event, ...]
    ) -> None:
        """Check a record that was saved, by the bounds that it names and by its server."""
        before = shadow.machines.get(machine.id)
        self.catch_up()
        self.found(self._chosen(shadow).saved(shadow, before, machine, self.now))
        self.found(self._promptness.saved(before, machine, self.now))
        super().machine_saved(shadow, machine, events)

    def asked_for(self, shadow: ShadowStore, request: Request) -> None:
        """Note what a person asks for."""
        super().asked_for(shadow, request)
        self._requests_of(shadow).asked(request)

    def guest_answered(self, server: str) -> None:
        """Note which server answered a probe, which may be gone before time goes on."""
        self._promptness.up[server] = self.now

    def requests_taken(self, shadow: ShadowStore, numbers: tuple[int, ...]) -> None:
        """Check that what was asked for stands on record."""
        self.found(self._requests_of(shadow).taken(numbers, shadow))

    def tick(self, *, awake: bool) -> None:
        """Check what only time can break."""
        self._promptness.look(self.now)
        super().tick(awake=awake)

    def _check_shadow(self, shadow: ShadowStore, things: list[Thing], passed: float) -> None:
        super()._check_shadow(shadow, things, passed)
        zones = {offer.zone for fleet in shadow.fleets.values() for offer in fleet.offers}
        looking = {zone for zone in zones if self.looking(shadow, zone)}
        if looking == zones:
            self.found(self._requests_of(shadow).passed(passed))
        looked = [m for m in shadow.living() if m.offer.zone in looking]
        alone = frozenset(m.id for m in looked if self.is_left_alone(shadow, m, passed))
        self.found(self._promptness.check(shadow.own, looked, passed, alone))

    def _chosen(self, shadow: ShadowStore) -> Choices:
        return self._choices.setdefault(shadow.own, Choices(self.faults, self.called))

    def _requests_of(self, shadow: ShadowStore) -> CarriedOut:
        return self._requests.setdefault(shadow.own, CarriedOut(self.faults))

    # ------------------------------------------------------------ what was asked of the world

    def _note_read(self, source: str, resource: str, status: int) -> None:
        """Note that a process was told of a thing that it is not there, until it is shown it."""
        if status == _MISSING:
            self._denied.setdefault((source, resource), []).append(self.now)
        elif status < _REFUSED:
            self._denied.pop((source, resource), None)

    def is_healthy(self, shadow: ShadowStore, machine: Machine) -> bool:
        """Tell whether all is well with what a machine has."""
        del shadow
        seen = not self._was_locked(machine) and not self._was_denied(machine)
        return seen and is_healthy(self.world, machine)

    def _was_denied(self, machine: Machine) -> bool:
        """Tell whether the world itself told a process twice of one id that it is not there."""
        bound = {bare(place.bound) for place in machine.places if place.bound}
        return any(
            resource in bound and times[-1] - times[0] >= _GAP and self.now - times[-1] < SELDOM
            for (_, resource), times in self._denied.items()
        )

    def _was_locked(self, machine: Machine) -> bool:
        """Tell whether a lock was seen, which may have ended since: nobody could know of that."""
        return machine.fact(LOCKED) is not None and self.world.faults.get("server_locked", 0) > 0

    def left_of(self, machine: Machine) -> list[Thing]:
        """Return what there still is of a machine that is deleted; a pool's address outlives it."""
        things = (t for t, _ in self.things() if t.owner_tag or t.id not in self.pool.stands)
        return [thing for thing in things if is_of(thing, machine)]

    def asked(self, shadow: ShadowStore, request: HttpRequest, *, holds_lease: bool) -> None:
        """Check a request at its beginning."""
        if request.method == "GET":
            return
        line = f"{request.method} {request.path}"
        self.found(invariants.begun(holds_lease=holds_lease, call=line))
        match = THING.search(request.path)
        if match is None or match[2] is None:
            return
        self.found(self.pool.asked(request))
        thing = next((t for t, _ in self.things() if bare(t.id) == match[2]), None)
        if thing is None:
            return
        self.found(issued_ids.changed(shadow, thing, line))
        self.found(() if bare(thing.id) in self.pool.stands else strips(thing, request))
        destroys = is_destroying(request) or is_given_back(thing, request)
        if self.pool.is_claimed_anew(thing):
            return
        touch = Touch(thing=thing, by=shadow.ours, destroys=destroys)
        owner = self._owner(thing.id, shadow)
        self.found(first_start(self.world, request, owner, joins=self._scenario.network))
        self.found(invariants.touched(touch, owner))
        if owner is not None and touch.destroys and is_healthy(self.world, owner):
            self.found(shadow.jobs.ended(owner.id, line, self.now))

    def counted(self, process: str, request: HttpRequest) -> None:
        """Check what is made, and what is removed that no record explains."""
        self.found(is_counted(self.known_counts, process, request))

    def creation_tried(self, shadow: ShadowStore, fleet: FleetName) -> None:
        """Count an attempt to create a server, which nothing that was never issued forbids."""
        super().creation_tried(shadow, fleet)
        things = (thing for thing, _ in self.things())
        self.found(issued_ids.created_beside(shadow, things, self.now))

    def fleet_saved(
        self,
        shadow: ShadowStore,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
    ) -> None:
        """Check a row that was saved, and whether it conceals what was never issued."""
        super().fleet_saved(shadow, row, inserts, events)
        refused = [event.request for event in events if event.kind == REQUEST_REFUSED]
        for number in refused:
            self.found(self._requests_of(shadow).refused(number, shadow))
        self.found(self._concealed(shadow, row))

    def _concealed(self, shadow: ShadowStore, row: FleetRow | None) -> Found:
        things = (thing for thing, _ in self.things())
        return issued_ids.concealed(shadow, row, things, self.now)

    def orphans_saved(
        self, shadow: ShadowStore, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]
    ) -> None:
        """Check the changes of an orphan report, and what it calls what was never issued."""
        things = (thing for thing, _ in self.things())
        self.found(issued_ids.reported(shadow, orphans, things))
        super().orphans_saved(shadow, orphans, cleared)

    def rested(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return what still keeps this fleet from rest; what no tag says whose it is counts too."""
        row = shadow.rows.get(fleet.name)
        return (
            super().rested(shadow, fleet)
            or self._left_untagged()
            or self.pool.left()
            or self._concealed(shadow, row)
            or misreported(self.world, shadow.orphans.values())
            or self._not_as_asked(shadow, fleet)
        )

    def _not_as_asked(self, shadow: ShadowStore, fleet: Fleet) -> Found:
        """Return how a machine is not what its fleet asks for."""
        machines = [m for m in shadow.living(fleet.name) if m.phase is Phase.READY]
        outdated = (m for m in machines if fleet.replace_outdated and m.template != fleet.template)
        for machine in outdated:
            text = f"{machine.id} is of an older template"
            return (Violation(invariant="L1", text=text, machine=machine.id),)
        found = (
            differs(self.world, self._scenario, fleet, machine) or misstated(self.world, machine)
            for machine in machines
        )
        return next((one for one in found if one), ())

    def _left_untagged(self) -> Found:
        explained = {id_ for shadow in self._stores() for id_ in self.explained(shadow)}
        for thing, _ in self.things():
            if thing.owner_tag is None and thing.id not in explained and self.counts(thing):
                text = f"{thing.kind} {thing.id} is left on the bill, without a tag"
                return (Violation(invariant="L1", text=text),)
        return ()

    def _owner(self, resource: ResourceId, asking: ShadowStore) -> Machine | None:
        """Return the machine that has a resource; of two stores with one name, the asking one's.

        What both had when they parted, each may end: nothing tells whose it is by now.
        """
        for shadow in self.shadows:
            twin = shadow.own == asking.own and shadow is not asking
            if not shadow.lost and not twin:
                for machine in shadow.living():
                    if any(place.bound == resource for place in machine.places):
                        return machine
        return None
