"""Changes: what a save does to the records, one value at a time, as a store may log and repeat it.

A change holds the value as it is from then on, and asks for nothing to be worked out again: whoever
applies the same changes in the same order has the same records.
"""

from datetime import datetime

import msgspec

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.engine_record import EngineRecord
from hostler.ports.store import Identity, Lease


class _Change(msgspec.Struct, frozen=True, tag_field="put", omit_defaults=True):
    """One change; what is None where a value could stand is removed."""


class IdentityPut(_Change, frozen=True, tag="identity"):
    """Whose store this is."""

    identity: Identity


class EnginePut(_Change, frozen=True, tag="engine"):
    """What the newest engine runs."""

    record: EngineRecord | None


class FleetPut(_Change, frozen=True, tag="fleet"):
    """A fleet's row."""

    name: str
    row: FleetRow | None


class MachinePut(_Change, frozen=True, tag="machine"):
    """A machine's record, living or in the history as its phase says."""

    id: MachineId
    machine: Machine | None


class IssuedPut(_Change, frozen=True, tag="issued"):
    """An id that was given to a machine or an order."""

    ids: tuple[MachineId, ...]
    present: bool = True


class EventPut(_Change, frozen=True, tag="event"):
    """An event under its number.

    Where `imaged`, its image is the machine's record as it stands when the event is put; `image`
    is another one, of a time before.
    """

    number: int
    event: Event
    image: Machine | None = None
    imaged: bool = False


class EventsRemoved(_Change, frozen=True, tag="events-removed"):
    """Events that are forgotten, by number."""

    numbers: tuple[int, ...]


class ForgottenPut(_Change, frozen=True, tag="forgotten"):
    """The latest time before which anything was removed, and what machines cost that were."""

    before: datetime | None
    spent: dict[FleetName, float] = {}


class HostPut(_Change, frozen=True, tag="host"):
    """A host's record."""

    id: HostId
    host: Host | None


class BindingPut(_Change, frozen=True, tag="binding"):
    """The machine that a host is bound to."""

    host: HostId
    machine: MachineId | None


class OrphanPut(_Change, frozen=True, tag="orphan"):
    """A resource in the orphan report."""

    resource: ResourceId
    orphan: Orphan | None


class RequestPut(_Change, frozen=True, tag="request"):
    """A request that nobody took yet, or none under this number any more."""

    number: int
    request: Request | None


class LeasePut(_Change, frozen=True, tag="lease"):
    """A lease; it stands for ever once somebody took it."""

    name: str
    lease: Lease | None


class CountersPut(_Change, frozen=True, tag="counters"):
    """The last number that an event and a request got."""

    event: int
    request: int


class CommitPut(_Change, frozen=True, tag="commit"):
    """How many batches a writer of this store has committed."""

    writer: str
    number: int | None


Change = (
    IdentityPut
    | EnginePut
    | FleetPut
    | MachinePut
    | IssuedPut
    | EventPut
    | EventsRemoved
    | ForgottenPut
    | HostPut
    | BindingPut
    | OrphanPut
    | RequestPut
    | LeasePut
    | CountersPut
    | CommitPut
)
