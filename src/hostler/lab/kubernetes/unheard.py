"""Unheard saves: what a store holds and its writer did not hear of is told to the checker.

A save whose answer was lost is a save. Who sent it asks again, and may die before; whoever comes
next finds it on record, and the checker is to know it by then.
"""

from hostler.domain.ids import MachineId
from hostler.domain.model.commands import Event
from hostler.domain.model.machine import Machine
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.harness.process_run import ProcessRun
from hostler.stores.records.tables import Tables


def tell(run: ProcessRun, tables: Tables) -> None:
    """Let the checker take in what a store holds that it does not know yet."""
    shadow, checker = run.shadow, run.checker
    shadow.epochs.update({name: lease.epoch for name, lease in tables.leases.items()})
    _tell_rows(run, tables)
    _tell_requests(run, tables)
    for host in tables.hosts.values():
        known = shadow.hosts.get(host.id)
        if known is None or known.version < host.version:
            checker.found(checker.known_counts.takes_back(run.name, known, host))
            shadow.hosts[host.id] = host
            checker.host_saved(shadow, host)
    for host, machine in tables.bindings.items():
        if shadow.bindings.get(host) != machine:
            shadow.bindings[host] = machine
            shadow.bound_at[host] = checker.now
    loosened = [pair for pair in shadow.bindings.items() if pair[0] not in tables.bindings]
    for machine in _machines(tables):
        before = shadow.machines.get(machine.id)
        if before is None or before.version < machine.version:
            checker.known_counts.saves(run.name, before, machine)
            checker.machine_saved(shadow, machine, _events(tables, machine.id, before))
    for host, machine in loosened:
        del shadow.bindings[host]
        checker.unbound(shadow, host, machine)
    cleared = tuple(name for name in shadow.orphans if name not in tables.orphans)
    found = tuple(one for one in tables.orphans.values() if one not in shadow.orphans.values())
    if cleared or found:
        checker.orphans_saved(shadow, found, cleared)


def _tell_rows(run: ProcessRun, tables: Tables) -> None:
    for row in tables.fleets.values():
        known = run.shadow.rows.get(row.name)
        if known is None or known.version < row.version:
            living = tables.living.get(row.name, {}).values()
            inserts = tuple(one for one in living if one.id not in run.shadow.machines)
            run.checker.fleet_saved(run.shadow, row, inserts, ())


def _tell_requests(run: ProcessRun, tables: Tables) -> None:
    for request in tables.requests.values():
        if request.host is not None:
            run.checker.asked_for(run.shadow, request)


def differences(shadow: ShadowStore, tables: Tables) -> str:
    """Return what a store lost of what was saved, or holds beside it; empty where nothing."""
    stored = {one.id: one.version for one in _machines(tables)}
    saved = {one.id: one.version for one in shadow.machines.values()}
    for name in sorted(saved.keys() | stored.keys()):
        if saved.get(name) != stored.get(name):
            return f"{name} was saved as {saved.get(name)}, and is stored as {stored.get(name)}"
    if (bound := dict(tables.bindings)) != shadow.bindings:
        return f"bound were {shadow.bindings}, and stored are {bound}"
    return ""


def _machines(tables: Tables) -> list[Machine]:
    living = (one for fleet in tables.living.values() for one in fleet.values())
    return [*living, *tables.history.values()]


def _events(tables: Tables, machine: MachineId, before: Machine | None) -> tuple[Event, ...]:
    """Return what happened to a machine since a version of it that is known."""
    if before is None:
        return ()
    stored = tables.past.events(None, machine, 0, 1000, None)
    return tuple(
        one.event for one in stored if one.image is not None and one.image.version > before.version
    )
