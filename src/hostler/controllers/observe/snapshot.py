"""Snapshot: all that one cycle may know, gathered in order: observations first, then records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.measurements import measure_orphans
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState, Steadiness
from hostler.domain.hosts.claims import free_hosts
from hostler.domain.hosts.orphans import copied, orphans, others, set_aside, usurped
from hostler.domain.ids import CycleId, MachineId, ResourceId
from hostler.domain.model.fleet import Fleet, FleetRow, in_wave
from hostler.domain.model.host import Free
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import Orphan, Probed, Request, Snapshot
from hostler.domain.observation.ownership import Sorted, bound_in, sort_out
from hostler.ports.hosts import BuysHosts, PoolsHosts
from hostler.ports.store import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """One cycle: its id, its fleet, and by what right it is taken."""

    cycle: CycleId
    fleet: Fleet
    tenure: Tenure
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The machines that hosts' names and bindings tell of: the living, and those in the history."""

    living: Mapping[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])
    past: Mapping[MachineId, Machine] = field(default_factory=dict[MachineId, Machine])


async def gather(
    ports: Ports, state: AccountState, occasion: Occasion, steadiness: Steadiness
) -> Snapshot:
    """Return what this cycle sees. The account's inventory is older than every record read here."""
    fleet, tenure, identity = occasion.fleet, occasion.tenure, occasion.identity
    inventory, provider = state.inventory, state.account.provider
    if provider.capabilities.hosts:
        await state.host_records.refresh(ports.store)
    row, machines = await records(ports, state, fleet)
    living = {machine.id for machine in machines} | state.moving
    found = sort_out(inventory, fleet.name, living, lambda: bound_in(machines), identity.ours)
    told = Told()
    if provider.capabilities.hosts:  # their strangers are found host by host
        told = await _told(ports, state)
        foreign = (*found.foreign, *_others(state, fleet))
        found = replace(
            found, foreign=foreign, strangers=_orphan_hosts(state, fleet, told, identity)
        )
    late = await _late(ports, state, found)
    aside = _aside(state, fleet, ports.clock.now(), steadiness.steady)
    strange = bool(found.foreign or found.strangers or aside)
    orphans = await _orphans(ports, state, fleet, strange=strange)
    known = {machine.id for machine in late}
    now = ports.clock.now()
    doubted = sum(machine.doubt is not None for machine in machines)
    state.wave[fleet.name] = in_wave(fleet, row, doubted, now)
    return Snapshot(
        cycle=occasion.cycle,
        now=now,
        fleet=fleet,
        row=row,
        machines=machines,
        inventory=inventory,
        capabilities=state.account.provider.capabilities,
        epoch=tenure.epoch,
        took=tenure.took,
        steady=steadiness.steady,
        jumped=steadiness.jumped,
        ours=identity.ours,
        foreign=found.foreign,
        unexplained=tuple(
            p for p in found.strangers if p.owner_tag and p.owner_tag.machine not in known
        ),
        aside=aside,
        late=late,
        orphans=orphans,
        requests=tuple(
            w
            for w in state.requests
            if w.fleet == fleet.name and w.machine not in state.moving and _is_ripe(w, state)
        ),
        moving=frozenset(state.moving),
        probed=_living(state, machines),
        hosts=state.host_records.hosts,
        bindings=state.host_records.by_machine(),
        free=_free(state, fleet, now),
        pool=provider.pool_of(fleet.name) if isinstance(provider, PoolsHosts) else "",
        limits=provider.limits(fleet.name) if isinstance(provider, BuysHosts) else None,
        usurped=frozenset(
            usurped(inventory, state.host_records.bindings, (*told.living, *told.past))
        ),
        moving_hosts=frozenset(state.host_records.moving),
        answers={m.id: a for m in machines if (a := state.answers.get(m.id))},
    )


def _is_ripe(request: Request, state: AccountState) -> bool:
    """Tell whether a request can be granted, or be found to be about a host that there is not."""
    if request.host is None or state.inventory.resource(ResourceId(request.host)) is not None:
        return True
    kind = state.account.provider.capabilities.host_kind
    observations = [at for (_, observed), at in state.inventory.whole.items() if observed == kind]
    return bool(observations) and all(at > request.at for at in observations)


async def _late(ports: Ports, state: AccountState, found: Sorted) -> tuple[Machine, ...]:
    """Return the machines in the history whose resources turned up; not those of hosts."""
    if not found.strangers or state.account.provider.capabilities.hosts:
        return ()
    return await ports.store.history(found.machines())


async def _told(ports: Ports, state: AccountState) -> Told:
    """Return the machines that the account's hosts and bindings tell of."""
    host_records, fleets = state.host_records, state.account.fleets
    living = {m.id: m for one in fleets for m in state.living(one.name)}
    kind = state.account.provider.capabilities.host_kind
    resources = (
        s.resource for s in state.inventory.sightings.values() if s.resource.slot.kind == kind
    )
    holders = {resource.host.holder for resource in resources if resource.host.holder}
    lost = tuple(sorted({*holders, *host_records.bindings.values()} - living.keys()))
    past = {m.id: m for m in (await ports.store.history(lost) if lost else ())}
    return Told(living=living, past=past)


def _orphan_hosts(
    state: AccountState, fleet: Fleet, told: Told, identity: Identity
) -> tuple[Resource, ...]:
    """Return the hosts under this fleet's name that no record explains."""
    host_records = state.host_records
    kind = state.account.provider.capabilities.host_kind
    explains = host_records.hosts, host_records.bindings, told.living, told.past
    found = orphans(state.inventory, kind, *explains, identity.ours)
    twice = copied(state.inventory, kind, host_records.hosts, state.orders())
    return _of_fleet((*found, *twice), state, fleet)


def _aside(
    state: AccountState, fleet: Fleet, now: datetime, since: datetime
) -> tuple[Resource, ...]:
    """Return the hosts of this fleet that no machine can have for now."""
    host_records = state.host_records
    return _of_fleet(
        set_aside(state.inventory, host_records.hosts, host_records.bindings, now, since),
        state,
        fleet,
    )


def _of_fleet(found: Iterable[Resource], state: AccountState, fleet: Fleet) -> tuple[Resource, ...]:
    """Return those under the fleet's name; those of no fleet in the file are the first one's."""
    fleets = state.account.fleets
    names = {one.name for one in fleets}
    first = fleet.name == fleets[0].name
    return tuple(
        resource
        for resource in found
        if resource.owner_tag
        and (
            resource.owner_tag.fleet == fleet.name
            or (first and resource.owner_tag.fleet not in names)
        )
    )


def _others(state: AccountState, fleet: Fleet) -> tuple[Resource, ...]:
    """Return the hosts under this fleet's name that another installation keeps, or kept."""
    host_records, kind = state.host_records, state.account.provider.capabilities.host_kind
    found = others(state.inventory, kind, host_records.hosts, host_records.bindings)
    return tuple(
        resource
        for resource in found
        if resource.owner_tag and resource.owner_tag.fleet == fleet.name
    )


def _free(state: AccountState, fleet: Fleet, now: datetime) -> tuple[Free, ...]:
    """Return the hosts that machines of this fleet may take now, where machines take hosts.

    Not those that a request names, which says what becomes of them.
    """
    if state.keeps is None:
        return ()
    host_records = state.host_records
    named = {request.host for request in state.requests if request.host is not None}
    tied = {*host_records.bindings, *host_records.moving, *named}
    return free_hosts(
        fleet,
        state.inventory,
        state.account.provider.capabilities,
        host_records.hosts,
        tied,
        partial(state.keeps.fits, fleet.name),
        now,
    )


async def records(
    ports: Ports, state: AccountState, fleet: Fleet
) -> tuple[FleetRow, tuple[Machine, ...]]:
    """Return the fleet's row and living machines; from memory where nobody else can write them."""
    known = fleet.name in state.rows and fleet.name not in state.stale
    if not ports.store.exclusive or not known:
        state.stale.discard(fleet.name)
        row = FleetRow(name=fleet.name, created=ports.clock.now())
        state.rows[fleet.name] = await ports.store.add_fleet(row)
        stored = await ports.store.machines(fleet.name)
        if not ports.store.exclusive:
            rows = {entry.name: entry for entry in await ports.store.fleets()}
            state.rows[fleet.name] = rows[fleet.name]
        cached = state.machines.get(fleet.name, {})
        state.ordered.pop(fleet.name, None)
        state.machines[fleet.name] = {m.id: _newer(m, cached.get(m.id)) for m in stored}
    return state.rows[fleet.name], state.living(fleet.name)


def _living(state: AccountState, machines: tuple[Machine, ...]) -> dict[MachineId, Probed]:
    """Return the newest probes of these machines."""
    probed = state.probed
    return {m.id: probed[m.id] for m in machines if m.id in probed} if probed else {}


def _newer(stored: Machine, cached: Machine | None) -> Machine:
    """Return the newer of two: what is in flight may have been saved while we were reading.

    Of the same version, the one that we have stays: decisions know it again.
    """
    return cached if cached is not None and cached.version >= stored.version else stored


async def _orphans(
    ports: Ports, state: AccountState, fleet: Fleet, *, strange: bool
) -> tuple[Orphan, ...]:
    """Return this fleet's orphans; the orphan report is read only when there is a reason to."""
    if strange or state.orphans or state.unread:
        state.orphans = await ports.store.orphans()
        state.unread = False
        measure_orphans(ports.metrics, state.orphans)
    return tuple(orphan for orphan in state.orphans if orphan.fleet == fleet.name)
