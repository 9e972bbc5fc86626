"""Snapshot: the facts of one cycle, gathered once, in order: observations, records, the clock."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.measurements import measure_orphans
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.decision.view import named
from hostler.domain.ids import CycleId, FleetName, HostId, MachineId, Zone
from hostler.domain.model.fleet import Fleet, FleetRow, Timers
from hostler.domain.model.machine import Machine
from hostler.domain.model.snapshot import AccountSnapshot, Orphan, Request
from hostler.ports.store import Identity


class Occasion(Struct, frozen=True, kw_only=True):
    """One cycle: its id, by what right it is taken, and the fleets whose records it is about."""

    cycle: CycleId
    tenure: Tenure
    identity: Identity
    fleets: tuple[Fleet, ...] = ()


async def gather(
    ports: Ports, state: AccountState, occasion: Occasion, steadiness: Steadiness
) -> AccountSnapshot:
    """Return all that a cycle may know; the account's inventory is older than every record here.

    The records of fleets that the cycle is not about are those that were read or saved last.
    """
    if state.account.provider.capabilities.hosts:
        await state.host_records.refresh(ports.store)
    await read_all(ports, state, beside=occasion.fleets)
    read = {fleet.name: await records(ports, state, fleet) for fleet in occasion.fleets}
    facts = _facts(ports, state, occasion, steadiness)
    living = {**facts.living, **{fleet: machines for fleet, (_, machines) in read.items()}}
    facts = replace(
        facts,
        living=living,
        machines={machine.id: machine for one in living.values() for machine in one},
    )
    elsewhere, past, issued = await _unknown(ports, state, facts)
    orphans = await _orphans(ports, state)
    now = ports.clock.now()
    return replace(
        facts,
        machines={**facts.machines, **elsewhere},
        past=past,
        issued=issued,
        orphans=orphans,
        now=now,
        protected={f.name: why for f in facts.fleets if (why := state.protection(f.name, now))},
    )


def _facts(
    ports: Ports, state: AccountState, occasion: Occasion, steadiness: Steadiness
) -> AccountSnapshot:
    """Return what is in memory by now; nothing of it is changed afterwards."""
    host_records, fleets, tenure = state.host_records, state.account.fleets, occasion.tenure
    return AccountSnapshot(
        cycle=occasion.cycle,
        now=ports.clock.now(),
        account=state.account.name,
        fleets=fleets,
        rows=dict(state.rows),
        living={fleet.name: state.living(fleet.name) for fleet in fleets},
        machines={},
        past={},
        issued=frozenset(),
        hosts=host_records.hosts,
        bindings=dict(host_records.bindings),
        inventory=state.inventory,
        capabilities=state.account.provider.capabilities,
        epoch=tenure.epoch,
        took=tenure.took,
        took_over=tenure.took_over,
        steady=steadiness.steady,
        jumped=steadiness.jumped,
        ours=occasion.identity.ours,
        requests=_requests(state, ports.clock.now()),
        moving=frozenset(state.moving),
        moving_hosts=frozenset(host_records.moving),
        probed=dict(state.probed),
        answers=dict(state.answers),
        absence_gap=max((f.timers.absence_gap for f in fleets), default=Timers().absence_gap),
        starved=frozenset(fleet for fleet, many in state.missing.items() if many),
        orders=state.orders(),
        guarded=ports.guarded(state.account, _hosts(state)),
    )


def _hosts(state: AccountState) -> Iterator[tuple[Zone, HostId]]:
    """Yield all hosts that are listed, each with its zone."""
    kind = state.account.provider.capabilities.host_kind
    for sighting in state.inventory.sightings.values():
        if sighting.resource.slot.kind == kind:
            yield sighting.resource.zone, HostId(sighting.resource.id)


def _requests(state: AccountState, now: datetime) -> tuple[Request, ...]:
    """Return what is asked for now: an adoption waits until everything was listed since."""
    return tuple(r for r in state.requests if not state.awaits_listing(r, now))


async def read_all(
    ports: Ports, state: AccountState, beside: tuple[Fleet, ...] = ()
) -> tuple[FleetName, ...]:
    """Read the records of fleets that are not known (any more), but for those `beside`.

    Return those that were taken over. What one fleet may do hangs on the row of another that takes
    over its machines. A fleet that was taken over has no row any more, and is not recorded again.
    """
    fleets = [fleet for fleet in state.account.fleets if fleet not in beside]
    unread = [f for f in fleets if f.name not in state.rows or f.name in state.stale]
    if not unread:
        return ()
    stored = {row.name: row for row in await ports.store.fleets()}
    state.recorded = frozenset(stored)
    former = {name for row in stored.values() for name in row.former}
    taken = {f.name for f in unread if f.removed and f.name in former - stored.keys()}
    for fleet in unread:
        if fleet.name not in taken:
            await records(ports, state, fleet)
    return tuple(taken)


async def records(
    ports: Ports, state: AccountState, fleet: Fleet
) -> tuple[FleetRow, tuple[Machine, ...]]:
    """Return the fleet's row and living machines; from memory where nobody else can write them."""
    known = fleet.name in state.rows and fleet.name not in state.stale
    if not ports.store.exclusive or not known:
        state.stale.discard(fleet.name)  # a save that fails meanwhile has them read again
        try:
            await _read(ports, state, fleet)
        except BaseException:
            state.stale.add(fleet.name)
            raise
    return state.rows[fleet.name], state.living(fleet.name)


async def _read(ports: Ports, state: AccountState, fleet: Fleet) -> None:
    """Remember a fleet as it is stored: its machines first, for its row says which were granted."""
    row = await _row(ports, state, fleet)
    stored = await ports.store.machines(fleet.name)
    if not ports.store.exclusive:
        rows = {entry.name: entry for entry in await ports.store.fleets()}
        state.recorded = frozenset(rows)
        row = rows.get(fleet.name, row)
    cached = state.machines.get(fleet.name, {})
    state.ordered.pop(fleet.name, None)
    state.machines[fleet.name] = {m.id: _newer(m, cached.get(m.id)) for m in stored}
    state.rows[fleet.name] = row


async def _row(ports: Ports, state: AccountState, fleet: Fleet) -> FleetRow:
    """Return the fleet's row; a new fleet's is recorded, unless this is for reading only."""
    row = FleetRow(name=fleet.name, created=ports.clock.now())
    if not state.reads_only:
        return await ports.store.add_fleet(row)
    return next((known for known in await ports.store.fleets() if known.name == fleet.name), row)


def _newer(stored: Machine, cached: Machine | None) -> Machine:
    """Return the newer of two: what is in flight may have been saved while we were reading.

    Of the same version, the one that we have stays: decisions know it again.
    """
    return cached if cached is not None and cached.version >= stored.version else stored


_Machines = Mapping[MachineId, Machine]


async def _unknown(
    ports: Ports, state: AccountState, facts: AccountSnapshot
) -> tuple[_Machines, _Machines, frozenset[MachineId]]:
    """Return what is known of machines that something names, and that are none of our fleets'.

    Those that live in fleets that only another process runs, those of the history, and the other
    ids that our store once issued.
    """
    lost = named(facts)
    if not (lost or facts.inventory.partial):
        return {}, {}, frozenset()
    past = {machine.id: machine for machine in await ports.store.history(lost)} if lost else {}
    others = tuple(machine for machine in lost if machine not in past)
    elsewhere = await _elsewhere(ports, state, facts, others)
    forgotten = tuple(machine for machine in others if machine not in elsewhere)
    issued = await ports.store.issued(forgotten) if forgotten else frozenset[MachineId]()
    return elsewhere, past, issued


async def _elsewhere(
    ports: Ports, state: AccountState, facts: AccountSnapshot, others: tuple[MachineId, ...]
) -> _Machines:
    """Return those machines that live in fleets which are not this account's (yet, or any more).

    A process that has just taken over may have an older file than the one before: the fleets that
    it does not know have machines, and these have hosts. Two accounts of a file may also be of one
    project, and then each lists what the other one has; of what lost a part of its owner tag, the
    records alone say whether somebody has it.
    """
    partial = facts.inventory.partial
    if not (others or partial):
        return {}
    if partial:
        names = {row.name for row in await ports.store.fleets()}
    elif not state.account.provider.capabilities.hosts:
        names = _named_fleets(facts, others)
    elif ports.store.exclusive:
        return {}
    else:
        names = set(state.recorded)
    names = sorted(names - {fleet.name for fleet in state.account.fleets})
    living = [machine for name in names for machine in await ports.store.machines(name)]
    return {
        machine.id: machine
        for machine in living
        if machine.id in others or not frozenset(partial).isdisjoint(machine.ids())
    }


def _named_fleets(facts: AccountSnapshot, machines: tuple[MachineId, ...]) -> set[FleetName]:
    """Return the fleets that the owner tags of these machines name."""
    inventory = facts.inventory
    ids = (id_ for machine in machines for id_ in inventory.tagged.get(machine, ()))
    tags = (inventory.sightings[id_].resource.owner_tag for id_ in ids)
    return {tag.fleet for tag in tags if tag is not None} - facts.renamed.keys()


async def _orphans(ports: Ports, state: AccountState) -> tuple[Orphan, ...]:
    """Return the orphan report; from memory where nobody else can write it, and we did not."""
    if state.unread or not ports.store.exclusive:
        state.orphans = await ports.store.orphans()
        state.unread = False
        measure_orphans(ports.metrics, state.orphans)
    return state.orphans
