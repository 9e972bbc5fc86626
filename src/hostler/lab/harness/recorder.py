"""Clerk: tells the watch what one process saves."""

from collections.abc import Callable
from dataclasses import dataclass

from hostler.domain.ids import HostId, InstallationId, MachineId, PartId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Suspect
from hostler.lab.checks.checker import Watch
from hostler.lab.checks.shadow_store import Book
from hostler.ports.store import Fence, Lease
from hostler.testing.sureness import suspected


@dataclass(slots=True)
class Clerk:
    """Tells the watch what one process saves; implements `gated_store.Notary`."""

    watch: Watch
    book: Book
    name: str
    blur: Callable[[], None]
    took: Callable[[], None]
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

    def host_saved(self, host: Host, fence: Fence) -> None:
        """Note a host's record."""
        self.watch.fenced(self.book, fence, f"host {host.id}")
        self.book.hosts[host.id] = host
        self.watch.host_saved(self.book, host)

    def tied(self, host: HostId, machine: MachineId) -> None:
        """Note that a host is a machine's from now on."""
        self.book.ties[host] = machine
        self.watch.trace.note(f"{self.name} ties {host} to {machine}", machine)

    def untied(self, host: HostId, machine: MachineId) -> None:
        """Note that it is not any more."""
        if self.book.ties.get(host) == machine:
            del self.book.ties[host]
        self.watch.trace.note(f"{self.name} loosens {host} from {machine}", machine)
        self.watch.untied(self.book, host, machine)

    def suspects_saved(self, suspects: tuple[Suspect, ...], cleared: tuple[PartId, ...]) -> None:
        """Note the ledger's changes."""
        self.watch.found(suspected(suspects, self.book.machines))
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
        if lease.name.startswith("fleet/"):
            self.took()
            if self.neighbour():
                self.watch.struck("two_replicas")
        self.watch.trace.note(f"{self.name} took {lease.name} under epoch {lease.epoch}")

    def store_failed(self) -> None:
        """Note that a call to the store was refused."""
        self.blur()
