"""The checker of servers: what is recorded and asked is held against what truly exists."""

from hostler.domain.ids import FleetName, ResourceId, Zone
from hostler.domain.model.machine import LOCKED, Machine
from hostler.domain.model.snapshot import Orphan
from hostler.lab.checks import issued_ids
from hostler.lab.checks.checker import HIDDEN_FOR
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.scaleway.checker import THING, ScalewayChecker
from hostler.ports.http import HttpRequest
from hostler.testing import invariants
from hostler.testing.invariants import Thing, Touch

from .ground_truth import KINDS, is_healthy, is_of, things_in

_ENDS = (b'"terminate"', b'"poweroff"', b'"stop_in_place"')


class ServerChecker(ScalewayChecker):
    """All checkers of one run of servers."""

    kinds = KINDS

    def things(self) -> list[tuple[Thing, Zone]]:
        """Return every server, address and volume that truly exists."""
        return things_in(self.world)

    def is_healthy(self, machine: Machine) -> bool:
        """Tell whether all is well with what a machine has."""
        return is_healthy(self.world, machine) and not self._was_locked(machine)

    def _was_locked(self, machine: Machine) -> bool:
        """Tell whether a lock was seen, which may have ended since: nobody could know of that."""
        return machine.fact(LOCKED) is not None and self.world.faults.get("server_locked", 0) > 0

    def left_of(self, machine: Machine) -> list[Thing]:
        """Return what there still is of a machine that is deleted."""
        return [thing for thing, _ in self.things() if is_of(thing, machine)]

    def asked(self, shadow: ShadowStore, request: HttpRequest, *, holds_lease: bool) -> None:
        """Check a request at its beginning."""
        if request.method == "GET":
            return
        line = f"{request.method} {request.path}"
        self.found(invariants.begun(holds_lease=holds_lease, call=line))
        match = THING.search(request.path)
        if match is None or match[2] is None:
            return
        thing = next((t for t, _ in self.things() if t.id == match[2]), None)
        if thing is None:
            return
        self.found(issued_ids.changed(shadow, thing, line))
        destroys = (request.method == "DELETE") or any(w in request.body for w in _ENDS)
        touch = Touch(thing=thing, by=shadow.ours, destroys=destroys)
        self.found(invariants.touched(touch, self._owner(thing.id)))

    def creation_tried(self, shadow: ShadowStore, fleet: FleetName) -> None:
        """Count an attempt to create a server, which nothing that was never issued forbids."""
        super().creation_tried(shadow, fleet)
        if self.now - self.hidden_at > HIDDEN_FOR:
            things = (thing for thing, _ in self.things())
            self.found(issued_ids.created_beside(shadow, things, self.now))

    def orphans_saved(
        self, shadow: ShadowStore, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]
    ) -> None:
        """Check the changes of an orphan report, and what it calls what was never issued."""
        things = (thing for thing, _ in self.things())
        self.found(issued_ids.reported(shadow, orphans, things))
        super().orphans_saved(shadow, orphans, cleared)

    def _owner(self, resource: ResourceId) -> Machine | None:
        for shadow in self.shadows:
            if not shadow.lost:
                for machine in shadow.living():
                    if any(place.bound == resource for place in machine.places):
                        return machine
        return None
