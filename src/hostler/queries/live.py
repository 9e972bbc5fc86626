"""Live records: what an engine in this process has on record and has observed, without waiting."""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from hostler.controllers.account import AccountLoop
from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine
from hostler.domain.reporting.hosts import HostStatus, host_statuses
from hostler.domain.reporting.room import room
from hostler.ports.provider import Connection


class LiveRecords(Protocol):
    """One fleet as the engine of this process knows it. Losing it costs an observation.

    Every method answers at once, and may be called from another thread than the engine's.
    """

    @property
    def supports_standby(self) -> bool:
        """Whether machines of this fleet can be kept in standby."""
        ...

    @property
    def has_observed(self) -> bool:
        """Whether the provider was observed since it began, took the lead, or its clock jumped."""
        ...

    def is_current(self) -> bool:
        """Tell whether this is of now: an engine that does not lead knows what was when it led."""
        ...

    def row(self) -> FleetRow | None:
        """Return the fleet's row, or None until the engine has read it."""
        ...

    def machines(self) -> tuple[Machine, ...] | None:
        """Return the living machines, or None until the engine has read them."""
        ...

    def creation_blocker(self) -> str:
        """Return why nothing may be created in this fleet at all now; empty where it may."""
        ...

    def room(self, fleet: Fleet, now: datetime) -> int | None:
        """Return on how many hosts machines of the fleet are or may come now.

        None where more hosts can be made or ordered, or others decide over them too.
        """
        ...

    def connection(self, machine: Machine) -> Connection | None:
        """Return how to reach a machine, by the newest observations; None while not known."""
        ...

    def provider_id(self, machine: Machine) -> str | None:
        """Return the providerID of a machine's Kubernetes node; None while not known."""
        ...

    def observed_at(self, machine: Machine) -> datetime | None:
        """Return when the machine's zone was last observed for it, or None."""
        ...

    def protected_at_provider(self, machines: Iterable[Machine]) -> frozenset[MachineId]:
        """Return those of these machines that somebody protected at the provider."""
        ...


class EngineRecords(Struct, frozen=True):
    """The live records of one fleet, read from the loop of its account."""

    loop: AccountLoop
    fleet: FleetName

    @property
    def supports_standby(self) -> bool:
        """Whether machines of this fleet can be kept in standby."""
        return self.loop.rests

    @property
    def leads(self) -> bool:
        """Whether the engine of this process decides for the fleet."""
        return self.loop.leads(self.fleet)

    def is_current(self) -> bool:
        """Tell whether this is of now: an engine that does not lead knows what was when it led."""
        return self.leads

    @property
    def has_observed(self) -> bool:
        """Whether the provider was observed since it began, took the lead, or its clock jumped."""
        return self.loop.state.has_observed

    def row(self) -> FleetRow | None:
        """Return the fleet's row, or None until the engine has read it."""
        return self.loop.state.rows.get(self.fleet)

    def machines(self) -> tuple[Machine, ...] | None:
        """Return the living machines, or None until the engine has read them.

        One reading of a dict, so that another thread may ask while the engine writes.
        """
        machines = self.loop.state.machines
        return tuple(machines[self.fleet].values()) if self.fleet in machines else None

    def creation_blocker(self) -> str:
        """Return why nothing may be created in this fleet at all now; empty where it may."""
        return self.loop.state.world.get(self.fleet, "")

    def room(self, fleet: Fleet, now: datetime) -> int | None:
        """Return on how many hosts machines of the fleet are or may come now.

        None where more hosts can be made or ordered, or others decide over them too; and until all
        of their zones were observed: an engine that takes the lead again has forgotten them.
        """
        terms, capabilities = self.loop.state.terms(self.fleet), self.loop.hosts
        if terms is None or capabilities is None or capabilities.ownership is not Ownership.RECORD:
            return None
        whole, kind = self.loop.state.inventory.whole, self.loop.host_kind
        if any((offer.zone, kind) not in whole for offer in fleet.offers):
            return None
        machines = {machine.id for machine in self.machines() or ()}
        return room(self.hosts(), machines, fleet, terms.fits, now)

    def connection(self, machine: Machine) -> Connection | None:
        """Return how to reach a machine, by the newest observations; None while not known."""
        return self.loop.connection(machine)

    def provider_id(self, machine: Machine) -> str | None:
        """Return the providerID of a machine's Kubernetes node; None while not known."""
        return self.loop.provider_id(machine)

    def hosts(self) -> tuple[HostStatus, ...]:
        """Return the hosts of the fleet's account, by records and the newest observations."""
        state, kind = self.loop.state, self.loop.host_kind
        sightings = state.inventory.sightings.values()
        resources = [s.resource for s in sightings if s.resource.slot.kind == kind]
        records = state.host_records
        return host_statuses(state.account.name, records.hosts, records.bindings, resources)

    def observed_at(self, machine: Machine) -> datetime | None:
        """Return when the machine's zone was last observed for it, or None."""
        zone = machine.offer.zone
        return self.loop.state.inventory.covered(zone, self.loop.main, machine.id)

    def protected_at_provider(self, machines: Iterable[Machine]) -> frozenset[MachineId]:
        """Return those of these machines that somebody protected at the provider.

        An observation makes a new inventory: this one does not change meanwhile.
        """
        sightings = self.loop.state.inventory.sightings
        return frozenset(
            machine.id
            for machine in machines
            if any(sightings[i].resource.protected for i in machine.ids() if i in sightings)
        )
