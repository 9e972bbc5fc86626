"""Everything that one installation of the small world keeps, as one value.

Its store, what its process saw last, and its calls in flight. Two sides from which the same things
can happen are equal: times are brought near to now, and what nothing asks for is left out.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import Epoch, HostId, MachineId, ResourceId, Zone
from hostler.domain.model.calls import Call
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.inventory import Inventory, Sighting
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource, Scope
from hostler.testing.scenes.builders import BEGIN

TICK = timedelta(seconds=60)
NOW = BEGIN
"""It is always now: a tick makes everything else older."""
LONG_AGO = BEGIN - timedelta(days=365)
"""When everything was of which only that it was matters."""
MINE, OLDER = Epoch(1), Epoch(0)


class Task(Struct, frozen=True):
    """A machine, or a host that none holds, in flight: its record, parts, goal, and its call.

    `read` says that the call has read its host and is about to write; `sent` is when it was begun.
    """

    holder: Machine | Host
    resources: tuple[Resource, ...]
    goal: str
    call: Call
    sent: datetime = NOW
    name: str | None = None
    recalled: bool = False

    @property
    def read(self) -> bool:
        """Whether the host was read, and the call goes on to its write."""
        return self.name is not None


class Saw(Struct, frozen=True):
    """A view as a value that can be compared."""

    resources: tuple[Resource, ...] = ()
    at: datetime | None = None
    close: tuple[tuple[MachineId, str, datetime], ...] = ()
    missing: tuple[tuple[ResourceId, datetime, datetime], ...] = ()


class Side(Struct, frozen=True):
    """One installation: its records, its newest view, and what is in flight.

    `dates` is no knowledge of its own: when hosts that bear its pending tag were last changed, as
    their next listing shows it. It stands here so that all times are brought near to now together.
    """

    row: FleetRow
    machines: tuple[Machine, ...] = ()
    history: tuple[Machine, ...] = ()
    hosts: tuple[Host, ...] = ()
    bindings: tuple[tuple[HostId, MachineId], ...] = ()
    saw: Saw = Saw()
    asked: tuple[Scope, ...] = ()
    observed: bool = False
    recalled: tuple[MachineId, ...] = ()
    tasks: tuple[Task, ...] = ()
    took: datetime = LONG_AGO
    born: int = 0
    dates: tuple[tuple[HostId, datetime], ...] = ()

    def machine(self, machine: MachineId) -> Machine | None:
        """Return a living machine, or None."""
        return next((m for m in self.machines if m.id == machine), None)

    def host(self, host: HostId) -> Host | None:
        """Return the record of a host, or None."""
        return next((h for h in self.hosts if h.id == host), None)

    def binding(self, host: HostId) -> MachineId | None:
        """Return the machine that a host is bound to, or None."""
        return next((m for h, m in self.bindings if h == host), None)

    def with_machine(self, machine: Machine) -> "Side":
        """Return the store after a save."""
        machines = tuple(m for m in self.machines if m.id != machine.id)
        history = tuple(m for m in self.history if m.id != machine.id)
        if machine.phase is Phase.DELETED:
            return replace(self, machines=machines, history=_sorted(*history, machine))
        return replace(self, machines=_sorted(*machines, machine), history=history)

    def with_host(self, host: Host) -> "Side":
        """Return the store after a save."""
        others = (h for h in self.hosts if h.id != host.id)
        return replace(self, hosts=tuple(sorted((*others, host), key=lambda h: h.id)))

    def bound(self, host: HostId, machine: MachineId) -> "Side":
        """Return the store after a tie; raises ValueError where either has another."""
        others = tuple((h, m) for h, m in self.bindings if (h, m) != (host, machine))
        if any(h == host or m == machine for h, m in others):
            raise ValueError(host, machine, self.bindings)
        return replace(self, bindings=tuple(sorted((*others, (host, machine)))))

    def loosened(self, host: HostId, machine: MachineId) -> "Side":
        """Return the store without a tie."""
        return replace(
            self, bindings=tuple(binding for binding in self.bindings if binding != (host, machine))
        )


def _sorted(*machines: Machine) -> tuple[Machine, ...]:
    return tuple(sorted(machines, key=lambda m: m.serial))


def inventory_of(saw: Saw, kinds: tuple[str, ...], zone: Zone) -> Inventory:
    """Return the view that a value stands for."""
    if saw.at is None:
        return Inventory()
    tagged = dict[MachineId, list[ResourceId]]()
    for resource in saw.resources:
        if resource.owner_tag is not None:
            tagged.setdefault(resource.owner_tag.machine, []).append(resource.id)
    return Inventory(
        sightings={resource.id: Sighting(resource, saw.at) for resource in saw.resources},
        tagged={machine: tuple(sorted(resources)) for machine, resources in tagged.items()},
        whole={(zone, kind): saw.at for kind in kinds},
        close={(machine, kind): at for machine, kind, at in saw.close},
        missing={resource: at for resource, at, _ in saw.missing},
        lacking={resource: since for resource, _, since in saw.missing},
    )


def saw_of(inventory: Inventory, at: datetime) -> Saw:
    """Return the value that a view comes to, whose newest whole observation began at this time."""
    return Saw(
        resources=tuple(s.resource for _, s in sorted(inventory.sightings.items())),
        at=at,
        close=tuple(sorted((m, kind, when) for (m, kind), when in inventory.close.items())),
        missing=tuple(
            sorted(
                (resource, when, inventory.lacking[resource])
                for resource, when in inventory.missing.items()
            )
        ),
    )


def tied_to(side: Side) -> Mapping[MachineId, HostId]:
    """Return which host each machine has."""
    return {machine: host for host, machine in side.bindings}
