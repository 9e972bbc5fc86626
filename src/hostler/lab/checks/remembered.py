"""Remembered: what was observed stays known until a listing of all lacks it, or a look at itself.

A listing that failed, or was cut short, says nothing against what it lacks. Where an engine takes
over, or its clock jumps, it forgets everything that was observed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hostler.domain.ids import ResourceId, Zone
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Snapshot
from hostler.testing.invariants import Found, Violation


@dataclass(slots=True)
class Remembered:
    """What one engine knew of its machines' resources, by its decisions.

    `known` is when the newest listing of all began, of its kind in its zone, by the last decision
    that knew of a resource.
    """

    known: dict[ResourceId, datetime | None] = field(
        default_factory=dict[ResourceId, datetime | None]
    )
    counted_from: datetime | None = None

    def check(self, snapshot: Snapshot) -> Found:
        """Judge what a decision knows by what the last one knew."""
        inventory = snapshot.inventory
        if snapshot.counted_from != self.counted_from:
            self.known.clear()
            self.counted_from = snapshot.counted_from
        for machine in snapshot.machines:
            for resource, zone, kind in _has(machine, snapshot.capabilities.host_kind):
                newest = inventory.whole.get((zone, kind))
                if resource in inventory.sightings:
                    self.known[resource] = newest
                elif resource in self.known:
                    older = self.known.pop(resource)
                    if older == newest and resource not in inventory.missing:
                        text = f"{kind} {resource} is known no more, and no newer listing lacks it"
                        return (Violation(invariant="look first", text=text, machine=machine.id),)
        return ()


def _has(machine: Machine, host_kind: str) -> Iterator[tuple[ResourceId, Zone, str]]:
    """Yield what a machine has, its zone and its kind, as long as nothing speaks against it."""
    if machine.host is not None:
        yield ResourceId(machine.host), machine.offer.zone, host_kind
    for place in machine.places:
        for known in place.known:
            absent = known.deleted or known.removed is not None or known.absent is not None
            if known.id == place.bound and not absent:
                yield known.id, known.zone, place.slot.kind
