"""Pool: hosts that somebody puts into a pool, makes a machine of, or gives up, by naming them.

What is put into the pool keeps its disk until it is claimed, and is wiped before that: anybody may
have used it. What is adopted goes on as it is where its disk is to be kept.
"""

import hashlib
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, MachineId, ResourceId, machine_id
from hostler.domain.model.commands import SaveHost
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import (
    OTHERS,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    ReleasePolicy,
)
from hostler.domain.model.machine import CallState, Machine, MachineSpec, Offer, Origin
from hostler.domain.model.phases import Goal, Phase, Reason
from hostler.domain.model.resource import OrphanClass, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Request, RequestKind, Snapshot

from . import holds
from .claims import ADOPTED, CLEAN


def standing(record: Host | None, snapshot: Snapshot) -> dict[RequestKind, str]:
    """Return which requests about a host still stand on its record, in words."""
    if record is None:
        return {}
    found = holds.standing(record, snapshot)
    if record.goal is HostGoal.POOLED:
        found[RequestKind.POOL_ADD] = "its way into the pool"
    if record.goal is HostGoal.RETIRED:
        found[RequestKind.RETIRE] = "its retirement"
    return found


_POOLS = frozenset({RequestKind.POOL_ADD, RequestKind.POOL_ADOPT})


def impossible(request: Request, host: HostId, snapshot: Snapshot) -> str:
    """Return why what is asked of a host cannot be, by what is seen of it; empty where it can.

    The name of a machine of ours protects the host that bears it, whichever has that machine. What
    a person holds can be let go wherever the host is: only its record is about that.
    """
    if request.kind is RequestKind.LIFT and host in snapshot.hosts:
        return ""
    resource = snapshot.inventory.resource(ResourceId(host))
    if resource is None:
        return "complete observations do not show it"
    if _is_foreign(resource):
        return "another installation has it"
    if request.kind in holds.KINDS:
        return holds.impossible(request, host, snapshot)
    return _out_of_place(request, host, resource, snapshot)


def _out_of_place(request: Request, host: HostId, resource: Resource, snapshot: Snapshot) -> str:
    """Return what in a host's name, or its end, speaks against what is asked; empty: nothing."""
    if holder := _other_tenant(resource, host, snapshot):
        return f"it bears the name of machine {holder}, which has another host: rename it first"
    if request.kind is RequestKind.POOL_ADOPT and not request.machines:
        return "no id was given for its machine"
    record = snapshot.hosts.get(host)
    called_off = record is not None and record.goal in {HostGoal.RETIRED, HostGoal.POOLED}
    if request.kind in _POOLS and resource.host.scheduled and not called_off:
        return "its provider is going to delete it: call that off first"
    if request.kind is RequestKind.RETIRE and _is_outside(resource, record):
        return "it is not in the pool: add it first, or delete it in the provider's console"
    return ""


def _other_tenant(resource: Resource, host: HostId, snapshot: Snapshot) -> MachineId | None:
    """Return the living machine that a host's name tells of, where that has another host."""
    holder = resource.host.holder
    return holder if holder and snapshot.bindings.get(holder, host) != host else None


def taken_by_another(resource: Resource, account: AccountSnapshot) -> str:
    """Return whose a host is by its name, which may be newer than the request for the pool.

    What would be refused by now is not done any more. Empty where it may be put there.
    """
    if _is_foreign(resource):
        return "another installation has it"
    holder = resource.host.holder
    elsewhere = holder is not None and holder in account.bindings.values()
    return f"it bears the name of machine {holder}, which has another host" if elsewhere else ""


def _is_outside(resource: Resource, record: Host | None) -> bool:
    """Tell whether a host is in no pool, and nobody asked for it to be: a name may come late."""
    asked = record is not None and record.goal in {HostGoal.POOLED, HostGoal.RETIRED}
    return resource.host.stage in OTHERS and not asked


def pooled(account: AccountName, snapshot: Snapshot) -> Iterator[SaveHost]:
    """Yield the record of each host that is asked into the pool; one that is in use stays out."""
    for request, resource, record in _requested(RequestKind.POOL_ADD, account, snapshot):
        dirty = replace(
            of_pool(record, snapshot.pool, resource),
            fleet=snapshot.fleet.name,
            goal=HostGoal.POOLED,
            type=resource.type,
            condition=HostCondition.DIRTY,
            since=snapshot.now,
            reason=f"put in by {request.actor}",
        )
        yield SaveHost(host=dirty)


def of_pool(record: Host, pool: str, resource: Resource) -> Host:
    """Return a host's record as its pool's: nobody proved it clean, and no window ends it."""
    return (
        record.with_ownership(pool=pool, name=resource.name)
        .with_purchase(
            policy=ReleasePolicy.KEEP if record.purchase.origin is HostOrigin.ORDERED else None,
            scheduled=None,
        )
        .with_health(quarantined_until=None)
        .with_cleaning(wiped=None, wiping=None)
    )


def given_up(account: AccountName, snapshot: Snapshot) -> Iterator[SaveHost]:
    """Yield the record of each host that is asked for to be given up, and that nobody has."""
    for request, resource, record in _requested(RequestKind.RETIRE, account, snapshot):
        retired = replace(
            record.with_purchase(policy=ReleasePolicy.TERMINATE)
            .with_ownership(name=resource.name)
            .with_health(quarantined_until=None),
            fleet=record.fleet or snapshot.fleet.name,
            machine=record.machine or _nobody(record.id),
            goal=HostGoal.RETIRED,
            type=resource.type,
            asked=tuple(asked for asked in record.asked if asked.call_state is CallState.OPEN),
        )
        why = f"given up by {request.actor}: {request.why}"
        yield SaveHost(host=retired.now(HostCondition.RETIRING, snapshot.now, why))


_BEREFT = frozenset({OrphanClass.UNRECORDED, OrphanClass.UNISSUED})
"""The classes of a host which is bound to a machine that no record knows."""


def taken_over(resources: Iterable[Resource], snapshot: Snapshot) -> Iterator[SaveHost]:
    """Yield a record for each host that another installation kept and that is adopted: wiped again.

    What was being given up goes on to its end. A host that a machine of ours has stays as it is,
    whatever it is called; one whose machine's record somebody removed has none.
    """
    tied = frozenset(snapshot.bindings.values())
    for resource in resources:
        if (
            resource.slot.kind != snapshot.capabilities.host_kind
            or resource.owner_tag is None
            or (HostId(resource.id) in tied and resource.orphan not in _BEREFT)
        ):
            continue
        retires = resource.host.tagged is Stage.RETIRING
        known = snapshot.hosts.get(HostId(resource.id))
        record = known or Host(
            id=HostId(resource.id), account=snapshot.fleet.account, zone=resource.zone
        )
        host = replace(
            record.with_ownership(
                adopted=True, pool=resource.host.pool or snapshot.pool, name=resource.name
            ).with_cleaning(image=snapshot.fleet.offers[0].image, wiped=None, wiping=None),
            fleet=snapshot.fleet.name,
            machine=resource.owner_tag.machine,
            goal=HostGoal.RETIRED if retires else HostGoal.CLEAN,
            type=resource.type,
        )
        condition = HostCondition.RETIRING if retires else HostCondition.DIRTY
        yield SaveHost(host=host.now(condition, snapshot.now, str(Reason.ADOPTED)))


def adopted(snapshot: Snapshot, serial: int) -> Iterator[Machine]:
    """Yield a machine for each host that is asked for to be one; they begin with their hosts."""
    if not snapshot.requests:  # as mostly: what follows goes over every machine
        return
    tied = frozenset(snapshot.bindings.values())
    known = {machine.id for machine in snapshot.machines}
    for request in snapshot.requests:
        resource = _named(request, RequestKind.POOL_ADOPT, snapshot)
        if (
            resource is None
            or request.host in tied
            or request.host is None
            or impossible(request, request.host, snapshot)
        ):
            continue
        if request.machines[0] in known:
            continue
        serial += 1
        yield _machine(request, resource, serial, snapshot)


def joining(snapshot: Snapshot) -> int:
    """Return how many machines come with hosts in this cycle: no others are made in their place."""
    return sum(1 for _ in adopted(snapshot, 0))


def with_room(row: FleetRow, machines: Iterable[Machine], snapshot: Snapshot) -> FleetRow:
    """Return the row with a size that has room for those that come, or one would be shed for them.

    What is shed is wiped, and it would be the youngest. A fleet that lacks machines grows less.
    """
    many = joining(snapshot)
    wanted = sum(m.wanted and m.goal is not Goal.STANDBY for m in machines) if many else 0
    return replace(row, size=max(row.desired(snapshot.fleet), wanted + many)) if many else row


def _machine(request: Request, resource: Resource, serial: int, snapshot: Snapshot) -> Machine:
    image = snapshot.fleet.offers[0].image
    machine = Machine(
        id=request.machines[0],
        fleet=snapshot.fleet.name,
        serial=serial,
        created=snapshot.now,
        since=snapshot.now,
        phase=Phase.STARTING,
        offer=Offer(type=resource.type, zone=resource.zone, image=image),
        reason=str(Reason.ADOPTED),
        template=snapshot.fleet.template,
        origin=Origin.ADOPTED,
        host=request.host,
        spec=MachineSpec(requester=request.requester),
    ).with_fact(ADOPTED, snapshot.now)
    return machine.with_fact(CLEAN, snapshot.now) if request.keep else machine


def _requested(
    kind: RequestKind, account: AccountName, snapshot: Snapshot
) -> Iterator[tuple[Request, Resource, Host]]:
    """Yield each request of this kind for a host that no machine has, with the host as it stands.

    Its record is a blank one where there is none yet.
    """
    tied = frozenset(snapshot.bindings.values())
    for request in snapshot.requests:
        resource = _named(request, kind, snapshot)
        if resource is None or request.host is None or request.host in tied:
            continue
        if not impossible(request, request.host, snapshot):
            blank = Host(id=request.host, account=account, zone=resource.zone)
            yield request, resource, snapshot.hosts.get(request.host, blank)


def _named(request: Request, kind: RequestKind, snapshot: Snapshot) -> Resource | None:
    """Return the host that a request of this kind names, if observations show it."""
    if request.kind is not kind or request.host is None:
        return None
    return snapshot.inventory.resource(ResourceId(request.host))


def _nobody(host: HostId) -> MachineId:
    """Return an id for the name of a host that never had a machine: no machine has it."""
    return machine_id(int.from_bytes(hashlib.sha256(host.encode()).digest()[:7], "big"))


def _is_foreign(resource: Resource) -> bool:
    """Tell whether another installation has it: that is not ours to take, whoever asks."""
    return resource.host.stage is Stage.FOREIGN
