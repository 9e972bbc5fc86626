"""FakeWorld: what exists in a fake provider's world, and what is going to happen there."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.resource import Condition, Resource
from hostler.ports.clock import Clock

from .planner import SERVER

_S = timedelta(seconds=1)


class Pace(Struct, frozen=True, kw_only=True):
    """How long things take in the fake world, and how long a listing lags behind it."""

    boot: timedelta = 10 * _S
    removal: timedelta = 3 * _S
    late: timedelta = 30 * _S
    lag: timedelta = timedelta(0)
    answer: timedelta = timedelta(milliseconds=100)


@dataclass(slots=True)
class FakeWorld:
    """What really exists, and the journal of what was asked; its laws are `do` and its delay."""

    clock: Clock
    pace: Pace = field(default_factory=Pace)
    resources: dict[ResourceId, Resource] = field(default_factory=dict[ResourceId, Resource])
    journal: list[tuple[datetime, str, ResourceId | None]] = field(
        default_factory=list[tuple[datetime, str, ResourceId | None]]
    )
    born: dict[ResourceId, datetime] = field(default_factory=dict[ResourceId, datetime])
    planned: list[tuple[datetime, int, Callable[[], object]]] = field(
        default_factory=list[tuple[datetime, int, Callable[[], object]]]
    )
    count: int = 0

    def catch_up(self) -> None:
        """Let everything happen that is due by now, in order."""
        while True:
            due = [entry for entry in self.planned if entry[0] <= self.clock.now()]
            if not due:
                return
            first = min(due, key=lambda entry: entry[:2])
            self.planned.remove(first)
            first[2]()

    def plan(self, after: timedelta, happening: Callable[[], object]) -> None:
        """Let something happen later."""
        self.count += 1
        self.planned.append((self.clock.now() + after, self.count, happening))

    def add(self, resource: Resource) -> Resource:
        """Put a resource there, now."""
        self.resources[resource.id] = resource
        self.born[resource.id] = self.clock.now()
        return resource

    def remove(self, resource: ResourceId) -> None:
        """Take a resource away, as a person with a console does; its addresses are let go of."""
        self.resources.pop(resource, None)
        for other in list(self.resources.values()):
            if other.owner == resource:
                self.resources[other.id] = replace(other, owner=None, condition=Condition.FREE)

    def become(self, resource: ResourceId, condition: Condition) -> None:
        """Let a resource stand otherwise from now on, if it still exists."""
        there = self.resources.get(resource)
        if there is not None:
            self.resources[resource] = in_state(there, condition)

    def servers(self) -> tuple[Resource, ...]:
        """Return the servers that exist, by id."""
        self.catch_up()
        return tuple(
            self.resources[i] for i in sorted(self.resources) if self.resources[i].slot == SERVER
        )

    def name(self, kind: str) -> ResourceId:
        """Return a fresh id."""
        self.count += 1
        return ResourceId(f"{kind}-{self.count:04d}")


_ALLOWED = {
    Condition.OFF: ("poweron", "delete"),
    Condition.STANDBY: ("poweron", "terminate"),
    Condition.UP: ("terminate",),
}


def in_state(resource: Resource, condition: Condition) -> Resource:
    """Return a resource in a condition, with what may be asked of it then."""
    return replace(
        resource, condition=condition, status=str(condition), allowed=_ALLOWED.get(condition, ())
    )
