"""Store: where everything durable is, one object at a time, each save fenced and versioned.

No promise spans two objects: a store without transactions over several objects fits too. New
machines appear only by a save of their fleet's row.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, runtime_checkable

from msgspec import Struct

from hostler.domain.ids import Epoch, FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request


class Lease(Struct, frozen=True, kw_only=True):
    """Who may write: a name (`fleet/web`, `account/main`), its holder, and the holder's epoch.

    `beat` grows with each renewal. A lease holds no time: who wants it watches `beat` for a whole
    TTL of its own clock (see `take_lease`). One that was given back stands with an empty holder.
    """

    name: str
    holder: str
    epoch: Epoch
    beat: int


class Fence(Struct, frozen=True, kw_only=True):
    """Under which lease a save is made: a newer epoch of the same name refuses it."""

    lease: str
    epoch: Epoch


class StoredEvent(Struct, frozen=True, kw_only=True):
    """An event as it was stored, numbered, with the machine's record after the change.

    `image` is None where the save did not change the machine that the event names.
    """

    number: int
    event: Event
    image: Machine | None = None


class Identity(Struct, frozen=True, kw_only=True):
    """Whose store this is: its own id, born with it, and those that it adopted."""

    own: InstallationId
    adopted: tuple[InstallationId, ...] = ()

    @property
    def ours(self) -> tuple[InstallationId, ...]:
        """Every installation whose owner tags are ours, our own first."""
        return (self.own, *self.adopted)


class Store(Protocol):
    """The records of one installation. Every method may raise StoreError; none half-succeeds.

    A record that would not read back as it is (a price that is no number, half a character) is
    refused with a StoreError.
    """

    async def identity(self) -> Identity:
        """Return whose store this is."""
        ...

    async def adopt(self, installations: tuple[InstallationId, ...], fence: Fence) -> None:
        """Make the owner tags of these installations ours from now on; may be repeated."""
        ...

    async def fleets(self) -> tuple[FleetRow, ...]:
        """Return all rows, by name."""
        ...

    async def add_fleet(self, row: FleetRow) -> FleetRow:
        """Return the row as stored at version 1, or the one that has this name already."""
        ...

    async def save_fleet(
        self,
        row: FleetRow,
        inserts: tuple[Machine, ...],
        events: tuple[Event, ...],
        fence: Fence,
    ) -> FleetRow:
        """Save the row over the version that it carries, with new machines, all or nothing.

        Returns the row at its next version. Raises Conflict when somebody saved first, Fenced when
        a newer epoch holds the lease. Machines are stored at version 1. Their ids, and those of the
        row's orders, are issued from then on.
        """
        ...

    async def remove_fleet(self, row: FleetRow, events: tuple[Event, ...], fence: Fence) -> None:
        """Remove the row at the version that it carries, with these events, all or nothing.

        Raises Conflict when somebody saved or removed it first, or while machines of the fleet
        live, and Fenced. What is in its history stays, and so do the ids that were issued.
        """
        ...

    async def machines(self, fleet: FleetName) -> tuple[Machine, ...]:
        """Return the living machines of a fleet, by serial."""
        ...

    async def machine(self, machine: MachineId) -> Machine | None:
        """Return one machine, living or in the history, as it is stored now; never from a cache."""
        ...

    async def history(self, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
        """Return those of these machines that are in the history, in the order asked."""
        ...

    async def issued(self, machines: tuple[MachineId, ...]) -> frozenset[MachineId]:
        """Return those of these ids that this store ever gave to a machine or to an order.

        Whatever became of the record: neither its end, nor `forget`, nor a removal by force takes
        an id back. What bears our owner tag with another id was made by a store that is newer than
        this one, or its twin.
        """
        ...

    async def save_machine(
        self, machine: Machine, events: tuple[Event, ...], fence: Fence
    ) -> Machine:
        """Save over the version that the record carries; return it at its next version.

        A record that names another fleet than before is that one's from then on. A machine whose
        phase is *deleted* moves to the history; one that leaves *deleted* moves
        back. Bound and known ids are unique over all machines: AlreadyBound when another has one
        (ids confirmed gone do not count). Raises Conflict and Fenced as `save_fleet` does.
        """
        ...

    async def events(
        self,
        fleet: FleetName | None = None,
        machine: MachineId | None = None,
        after: int = 0,
        limit: int = 1000,
        *,
        host: HostId | None = None,
    ) -> tuple[StoredEvent, ...]:
        """Return stored events in order, those after a number, at most `limit`.

        Only those of a fleet, a machine, or a host, where one is named.
        """
        ...

    async def newest_event(self) -> int:
        """Return the number of the newest event there is, 0 where there is none; cheap."""
        ...

    async def images(self, fleet: FleetName, at: datetime) -> tuple[Machine, ...]:
        """Return the fleet as of a time: each machine's last image before it; not those deleted.

        Nor those that were another fleet's by then: the save that moves a machine has an event in
        the name of each.

        Before the time that `forgotten` returns, machines may be missing.
        """
        ...

    async def forget(self, before: datetime, limit: int, fence: Fence) -> int:
        """Remove at most `limit` rows of what was over before a time; return how many went.

        First machines in the history that went before it and have no event since, each with all its
        events, and its record last. Then events older than it, the oldest first, except each
        machine's last image among them. So living machines keep an image however old it is, and
        `images` answers as before for every time from `before` on. Leases, rows, the living, hosts,
        bindings, orphans, requests and the ids that were issued stay.

        Fewer than `limit`: nothing more is to be forgotten. Raises Fenced as `save_fleet` does. A
        resource that shows up later is no longer known to be a forgotten machine's: let `before`
        lie days, not minutes, in the past.
        """
        ...

    async def forgotten(self) -> datetime | None:
        """Return the latest `before` by which anything was removed; None: nothing ever was."""
        ...

    async def spent(self, fleet: FleetName) -> float:
        """Return what all deleted machines of a fleet have cost, in euros; cheap.

        Those too whose record went by `forget`: what was spent never grows less, unless a record
        leaves *deleted*, or moves to another fleet.
        """
        ...

    async def hosts(self) -> tuple[Host, ...]:
        """Return all hosts, by id."""
        ...

    async def save_host(self, host: Host, events: tuple[Event, ...], fence: Fence) -> Host:
        """Save over the version that it carries (0: new); Conflict and Fenced as above."""
        ...

    async def bind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Bind a host to a machine, durably; AlreadyBound when either is bound elsewhere.

        Repeating the same bind changes nothing. The binding is a record of its own: neither host
        nor machine is changed by it.
        """
        ...

    async def unbind(self, host: HostId, machine: MachineId, fence: Fence) -> None:
        """Remove this very binding; where it does not exist nothing changes."""
        ...

    async def bindings(self) -> tuple[tuple[HostId, MachineId], ...]:
        """Return every binding, by host."""
        ...

    async def orphans(self) -> tuple[Orphan, ...]:
        """Return the orphan report, by resource."""
        ...

    async def save_orphans(
        self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...], fence: Fence
    ) -> None:
        """Write these orphans, then take those resources out of the report, all or nothing."""
        ...

    async def request(self, request: Request) -> Request:
        """Keep a request (numbered here) until it is taken. Frontends write it unfenced."""
        ...

    async def request_all(self, requests: tuple[Request, ...]) -> tuple[Request, ...]:
        """Keep requests in their order: all of them, or none where that raises."""
        ...

    async def requests(self) -> tuple[Request, ...]:
        """Return the requests that nobody took yet, in order."""
        ...

    async def take_requests(self, numbers: tuple[int, ...], fence: Fence) -> None:
        """Take requests out; those that are gone already are no error."""
        ...

    async def revision(self) -> int:
        """Return a number that changes whenever another writer changed the store; cheap.

        A request through this very handle changes it too: a frontend may live in the engine's
        process.
        """
        ...

    async def leases(self) -> tuple[Lease, ...]:
        """Return all leases, by name, those given back too: they are what `seen` must be."""
        ...

    async def take_lease(self, name: str, holder: str, seen: Lease | None) -> Lease | None:
        """Take a lease under the next epoch, if it still stands as `seen` (None: nobody had it).

        Returns None when it changed meanwhile. The caller watched `seen` unchanged for a whole TTL,
        or knows that its holder is dead. Epochs of a name only ever grow.
        """
        ...

    async def renew_lease(self, lease: Lease) -> Lease | None:
        """Return the lease with its next beat, or None when it is another's by now."""
        ...

    async def drop_lease(self, lease: Lease) -> None:
        """Give the lease back, so that the next may take it at once; another's is left alone."""
        ...

    @property
    def exclusive(self) -> bool:
        """Whether whoever opened this store knows that all former holders are dead."""
        ...

    async def close(self) -> None:
        """Finish writing and let go of the store."""
        ...


@runtime_checkable
class Notifies(Protocol):
    """A store that can tell when somebody else wrote; polling finds that out in any case."""

    async def follow(self, notice: Callable[[], None]) -> None:
        """Call `notice` when another writer may have saved, until cancelled.

        It may be called late, too often, or not at all, and returns at once where nothing tells.
        """
        ...
