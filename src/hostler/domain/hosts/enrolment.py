"""Enrolment: which hosts get a record, and what an observation writes into one."""

from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.ids import HostId, MachineId, ResourceId, evolve
from hostler.domain.model.host import TENANT, Host, HostCondition, HostOrigin
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.domain.observation import effects

from . import cleaning, delivery, host_keys, power
from .allocation import allocated


def described(host: Host, resource: Resource | None, snapshot: AccountSnapshot) -> Host:
    """Write down what the provider says of the host; but no times of observation."""
    if resource is None:
        return host
    price = resource.price or host.billing.price
    return evolve(
        host.with_ownership(
            name=resource.name,
            adopted=host.ownership.adopted and resource.host.stage is Stage.FOREIGN,
            pool=resource.host.pool or host.ownership.pool,
        )
        .with_billing(price=price, billed_from=host.billing.billed_from or snapshot.now)
        .with_bootstrap(
            host_key=host_keys.recorded(host, resource, snapshot.capabilities, snapshot.now)
        )
        .with_purchase(
            renews=resource.host.renews,
            paid_until=resource.host.paid_until or host.purchase.paid_until,
            scheduled=resource.host.paid_until if resource.host.scheduled else None,
        ),
        observed=resource.status,
        type=resource.type or host.type,
        power=power.observed(host, resource, snapshot),
    )


def late_holder(
    host: Host, resource: Resource | None, snapshot: AccountSnapshot
) -> MachineId | None:
    """Return whose name the host shows that came too late; machines are forgotten, hosts are not.

    An observation that lacks the host says nothing of its name.
    """
    if resource is None:
        return host.ownership.late
    holder = resource.host.holder
    if resource.host.stage not in TENANT or holder is None:
        return None
    machine = snapshot.machines.get(holder) or snapshot.past.get(holder)
    if machine is not None and effects.claimed_late(machine, resource):
        return holder
    lasts = host.ownership.late == holder and (
        machine is None or resource.host.stage is Stage.PENDING
    )
    return holder if lasts else None


def listed(snapshot: AccountSnapshot) -> Iterator[HostTransition]:
    """Record each host that its owner lists, where no name has to say first that it may be taken.

    What is switched, or waits for its cleaning, is remembered from the first sight on.
    """
    if snapshot.capabilities.hosts is None or snapshot.capabilities.hosts.needs_pool:
        return
    for sighting in snapshot.inventory.sightings.values():
        resource, host = sighting.resource, HostId(sighting.resource.id)
        if resource.slot.kind != snapshot.capabilities.host_kind or host in snapshot.hosts:
            continue
        if resource.host.stage is Stage.POOL and host not in snapshot.bindings:
            blank = Host(id=host, account=snapshot.account, zone=resource.zone, since=snapshot.now)
            listed = cleaning.unused(described(blank, resource, snapshot), resource, snapshot)
            yield HostTransition(before=blank, host=listed, resource=resource)


def unrecorded(snapshot: AccountSnapshot) -> Iterator[HostTransition]:
    """Record bound hosts that were never recorded, and unbind those whose machines are deleted.

    A process died, or lost its store, between the two; of a host whose machine never had it nothing
    was asked. A machine of another account's fleet has a host that is on record there: only there
    it is known what becomes of that.
    """
    fleets, renamed = {fleet.name for fleet in snapshot.fleets}, snapshot.renamed
    for host, name in snapshot.bindings.items():
        machine = snapshot.machines.get(name) or snapshot.past.get(name)
        if host in snapshot.hosts or machine is None:
            continue
        if renamed.get(machine.fleet, machine.fleet) not in fleets:
            continue
        blank = Host(id=host, account=snapshot.account, zone=machine.offer.zone)
        if machine.phase is Phase.DELETED:
            yield HostTransition(before=blank, host=blank, unbind=machine.id)
        elif machine.host == host:
            resource = snapshot.inventory.resource(ResourceId(host))
            held = allocated(described(blank, resource, snapshot), machine, snapshot.now)
            yield HostTransition(before=blank, host=held, resource=resource)


def ordered(snapshot: AccountSnapshot) -> Iterator[HostTransition]:
    """Record each host that is seen under the name of its order for the first time."""
    renamed = snapshot.renamed
    for resource in delivery.came(snapshot):
        named = resource.host.fleet
        buyer = renamed.get(named, named) if named else None
        id_ = HostId(resource.id)
        blank = snapshot.hosts.get(id_, Host(id=id_, account=snapshot.account, zone=resource.zone))
        host = replace(
            blank.with_purchase(origin=HostOrigin.ORDERED, order=resource.host.holder, buyer=buyer),
            condition=HostCondition.COMING,
            since=snapshot.now,
            fleet=buyer,
            reason="it was ordered",
        )
        yield HostTransition(
            before=blank, host=described(host, resource, snapshot), resource=resource
        )
