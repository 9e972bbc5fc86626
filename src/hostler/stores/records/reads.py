"""Reads: what the store port asks of records that are in memory."""

from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import Orphan, Request
from hostler.ports.store import Lease

from .tables import Tables


def fleets(tables: Tables) -> tuple[FleetRow, ...]:
    """Return all rows, by name."""
    return tuple(tables.fleets[name] for name in sorted(tables.fleets))


def machines(tables: Tables, fleet: FleetName) -> tuple[Machine, ...]:
    """Return the living machines of a fleet, by serial."""
    living = tables.living.get(fleet, {}).values()
    return tuple(sorted(living, key=lambda machine: (machine.serial, machine.id)))


def history(tables: Tables, machines: tuple[MachineId, ...]) -> tuple[Machine, ...]:
    """Return those of these machines that are in the history, in the order asked."""
    asked = dict.fromkeys(machines)
    return tuple(tables.history[machine] for machine in asked if machine in tables.history)


def spent(tables: Tables, fleet: FleetName) -> float:
    """Return what the deleted machines of a fleet have cost, forgotten ones too."""
    there = (one.billing.spent for one in tables.history.values() if one.fleet == fleet)
    return tables.forgotten_spent.get(fleet, 0.0) + sum(there)


def hosts(tables: Tables) -> tuple[Host, ...]:
    """Return all hosts, by id."""
    return tuple(tables.hosts[host] for host in sorted(tables.hosts))


def bindings(tables: Tables) -> tuple[tuple[HostId, MachineId], ...]:
    """Return every binding, by host."""
    return tuple(sorted(tables.bindings.items()))


def orphans(tables: Tables) -> tuple[Orphan, ...]:
    """Return the orphan report, by resource."""
    return tuple(tables.orphans[resource] for resource in sorted(tables.orphans))


def requests(tables: Tables) -> tuple[Request, ...]:
    """Return the requests that nobody took yet, in order."""
    return tuple(tables.requests[number] for number in sorted(tables.requests))


def leases(tables: Tables) -> tuple[Lease, ...]:
    """Return all leases, by name."""
    return tuple(tables.leases[name] for name in sorted(tables.leases))
