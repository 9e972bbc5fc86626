"""The recorder: tells the checker what one process saves."""

from collections.abc import Callable
from dataclasses import dataclass

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.lab.checks.checker import Checker
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.ports.store import Fence, Lease


@dataclass(slots=True)
class Recorder:
    """Tells the checker what one process saves; implements `gated_store.SaveListener`."""

    checker: Checker
    shadow: ShadowStore
    name: str
    invalidate: Callable[[], None]
    took: Callable[[], None]
    ahead: Callable[[], float]
    neighbour: Callable[[], bool]

    def machine_saved(self, machine: Machine, events: tuple[Event, ...], fence: Fence) -> None:
        """Note a machine's record."""
        before = self.shadow.machines.get(machine.id)
        if before is not None and before.version >= machine.version:
            return  # it was read in the store, for its writer heard of it late
        self.checker.fenced(self.shadow, fence, str(machine.id))
        self.checker.known_counts.saves(self.name, before, machine)
        self.checker.machine_saved(self.shadow, machine, events)

    def fleet_saved(
        self, row: FleetRow, inserts: tuple[Machine, ...], events: tuple[Event, ...], fence: Fence
    ) -> None:
        """Note a fleet's row and its new machines."""
        known = self.shadow.rows.get(row.name)
        if known is not None and known.version >= row.version:
            return
        self.checker.fenced(self.shadow, fence, str(row.name))
        self.checker.fleet_saved(self.shadow, row, inserts, events)

    def fleet_removed(self, row: FleetRow, fence: Fence) -> None:
        """Note that a fleet that left the file is over."""
        self.checker.fenced(self.shadow, fence, str(row.name))
        self.checker.fleet_removed(self.shadow, row)

    def host_saved(self, host: Host, fence: Fence) -> None:
        """Note a host's record."""
        before = self.shadow.hosts.get(host.id)
        if before is not None and before.version >= host.version:
            return
        self.checker.fenced(self.shadow, fence, f"host {host.id}")
        self.checker.found(self.checker.known_counts.takes_back(self.name, before, host))
        self.shadow.hosts[host.id] = host
        self.checker.host_saved(self.shadow, host)

    def bound(self, host: HostId, machine: MachineId) -> None:
        """Note that a host is a machine's from now on."""
        self.shadow.bindings[host] = machine
        self.shadow.bound_at[host] = self.checker.now
        self.checker.trace.note(f"{self.name} binds {host} to {machine}", machine)

    def unbound(self, host: HostId, machine: MachineId) -> None:
        """Note that it is not any more."""
        if self.shadow.bindings.get(host) == machine:
            del self.shadow.bindings[host]
        self.checker.trace.note(f"{self.name} unbinds {host} from {machine}", machine)
        self.checker.unbound(self.shadow, host, machine)

    def orphans_saved(self, orphans: tuple[Orphan, ...], cleared: tuple[ResourceId, ...]) -> None:
        """Note the ledger's changes."""
        self.checker.orphans_saved(self.shadow, orphans, cleared)
        self.checker.trace.note(f"{self.name} orphans: {len(self.shadow.orphans)}")

    def requested(self, requests: tuple[Request, ...]) -> None:
        """Note what a controller asks of hosts, for people wrote that on their objects."""
        for request in requests:
            if request.host is not None:
                self.checker.asked_for(self.shadow, request)

    def requests_taken(self, numbers: tuple[int, ...]) -> None:
        """Note requests that were taken out."""
        self.checker.requests_taken(self.shadow, numbers)

    def adopted(self, installations: tuple[InstallationId, ...]) -> None:
        """Note whose tags are ours from now on."""
        self.shadow.adopted = tuple(dict.fromkeys((*self.shadow.adopted, *installations)))

    def leased(self, lease: Lease) -> None:
        """Note who took a lease."""
        self.shadow.epochs[lease.name] = lease.epoch
        if lease.name.startswith("fleet/"):
            self.took()
            fleet = FleetName(lease.name.removeprefix("fleet/"))
            self.shadow.led_by(fleet, self.name, self.ahead())
            self.checker.led_by(fleet, self.name)
            if self.neighbour():
                self.checker.struck("two_replicas")
        self.checker.trace.note(f"{self.name} took {lease.name} under epoch {lease.epoch}")

    def store_failed(self) -> None:
        """Note that a call to the store was refused."""
        self.invalidate()
