"""Orphans: which hosts that bear our names does no record explain, and of which class are they?

A host is owned by its binding, whatever its name says, or by its own record's work. What is left is
told in the orphan report; only some classes may ever be reclaimed.
"""

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.host import (
    GIVEN_UP,
    KEPT,
    OTHERS,
    OURS,
    TENANT,
    Host,
    HostCondition,
    HostGoal,
)
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.resource import Condition, OrphanClass, OwnerTag, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.observation.effects import claimed_late, is_unknown

from .delivery import copies
from .overdue import is_overdue

ACTIONABLE = frozenset(
    {OrphanClass.UNRECORDED, OrphanClass.PENDING_STALE, OrphanClass.RELEASING_STUCK}
)
"""The classes of hosts that a reclaim may take back; all others are only reported."""

TWOFOLD = frozenset({OrphanClass.DUPLICATE_NAME, OrphanClass.DOUBLE, OrphanClass.PENDING_FRESH})
"""The classes of hosts that may be somebody else's: only people can tell, one host at a time."""

WHY_NOT: Mapping[OrphanClass, str] = {
    OrphanClass.UNISSUED: "our store never issued its id: it was put back from a backup, or "
    "another engine runs on a copy of it: stop that engine, then `hostler adopt FILE`",
    OrphanClass.NO_FLEET: "it carries our owner tag, and nobody looks after the fleet that this "
    "names: put that fleet's table into the file, or delete it in the provider's console",
    OrphanClass.PARTIAL_TAG: "only a part of our owner tag can be read on it, so nobody can say "
    "which machine's it is: write the whole tag back, or delete it in the provider's console",
    OrphanClass.PENDING_FRESH: "somebody may be claiming it just now",
    OrphanClass.DUPLICATE_NAME: "its name is that of a machine or an order which has, or had, "
    "another host: find out who uses it, then give it its own name back",
    OrphanClass.SCHEDULED: "the provider will delete it: see its date",
    OrphanClass.LOCKED: "the provider locked it, says that it is in error, or shows a status that "
    "nobody knows",
    OrphanClass.DOUBLE: "two may have it, for a claim came too late, or records are older than "
    "its name: find out who uses it, then rename it into the pool or retire it",
    OrphanClass.SET_ASIDE: "it failed too often, or cannot be wiped, pooled or given up, and is "
    "paid for: `hostler explain` says more, `hostler pool` adds it to its pool again or retires it",
    OrphanClass.CLAIMED_LOOKING: "its name looks like a claim that nobody of ours made: find out "
    "who uses it, then rename it, or `hostler pool` adds it to a pool",
    OrphanClass.OUTSIDE: "its name is in no pool, and it is paid for: `hostler pool` adds it to "
    "one, or delete it in the provider's console",
}

_STAGES = {
    Stage.PENDING: OrphanClass.PENDING_STALE,
    Stage.RELEASING: OrphanClass.RELEASING_STUCK,
    Stage.WIPING: OrphanClass.RELEASING_STUCK,
}
_AT_WORK = frozenset(
    {
        HostCondition.WIPING,
        HostCondition.RETIRING,
        HostCondition.QUARANTINED,
        HostCondition.FREE,
    }
)


def orphans(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host under a name of ours that no record explains, with its class.

    Its owner tag is what its name says, so that it is grouped with the machine that it names; what
    names nobody whose id our store issued is another store's. Names of installations that were
    adopted are ours too: what they told of twice is left over.
    """
    kind = account.capabilities.host_kind
    for sighting in account.inventory.sightings.values():
        resource = sighting.resource
        adopted = is_adopted(resource, account.ours)
        if resource.slot.kind != kind or not (adopted or resource.host.stage in OURS | GIVEN_UP):
            continue
        record = account.hosts.get(HostId(resource.id))
        if _is_owned(resource, record, account):
            continue
        double = adopted or (record is not None and _came_late(record, resource))
        cls = OrphanClass.DOUBLE if double else _class(resource, account)
        if cls in ACTIONABLE and not _is_issued(resource.host.holder, account):
            cls = OrphanClass.UNISSUED
        yield tagged(resource, cls)


def _is_issued(holder: MachineId | None, account: AccountSnapshot) -> bool:
    """Tell whether our store ever gave this id to a machine or to an order."""
    if holder is None:
        return False
    known = (account.machines, account.past, account.orders, account.issued)
    return any(holder in ids for ids in known)


def _came_late(record: Host, resource: Resource) -> bool:
    """Tell whether a host shows a name that came after it was given back: another may have it."""
    given_back = any(a.aim is Stage.POOL and a.call_state is CallState.DONE for a in record.asked)
    wiping_again = resource.host.stage is Stage.WIPING and given_back
    return wiping_again or record.ownership.late == resource.host.holder


def is_adopted(resource: Resource, ours: Collection[InstallationId]) -> bool:
    """Tell whether a host bears a tenant's name of an installation that was adopted."""
    tenant = resource.host.stage is Stage.FOREIGN and resource.host.tagged in TENANT
    return tenant and resource.host.installation in ours


def copied(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that bears the name of an order, and was not ordered by us."""
    for resource in copies(account):
        known = _is_issued(resource.host.holder, account)
        cls = OrphanClass.DUPLICATE_NAME if known else OrphanClass.UNISSUED
        yield tagged(resource, cls)


def bereft(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that is bound to a machine which no record knows, whatever it is called.

    Somebody removed that record. Only our records tell of some hosts whose they are: without this
    nobody would hear of those, and no machine could ever have them.
    """
    living, past = account.machines, account.past
    for host, machine in account.bindings.items():
        resource, record = account.inventory.resource(ResourceId(host)), account.hosts.get(host)
        if resource is None or record is None or record.goal is not None:
            continue
        by_name = resource.host.stage in OURS | GIVEN_UP or is_adopted(resource, account.ours)
        if machine in living or machine in past or by_name:
            continue
        cls = OrphanClass.UNRECORDED if machine in account.issued else OrphanClass.UNISSUED
        fleet = record.fleet or account.fleets[0].name
        owner_tag = OwnerTag(installation=account.ours[0], fleet=fleet, machine=machine, attempt=0)
        yield replace(resource, owner_tag=owner_tag, orphan=cls)


def others(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that another installation's name says is being kept, without an allocation.

    Those are what a lost store leaves of wipes, parked hosts and ends; allocations are resources of
    their own. One of which a record of ours says more is ours by now.
    """
    kind = account.capabilities.host_kind
    for sighting in account.inventory.sightings.values():
        resource = sighting.resource
        if resource.slot.kind != kind or resource.host.stage is not Stage.FOREIGN:
            continue
        record = account.hosts.get(HostId(resource.id))
        if (
            resource.host.tagged in KEPT
            and HostId(resource.id) not in account.bindings
            and (record is None or not record.ownership.adopted)
        ):
            yield tagged(resource)


def set_aside(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that no machine can have for now: in quarantine, or its work is overdue.

    It is explained, and costs as much as any; nothing but its own work is done about it. One whose
    end a name stops that nobody of ours wrote is told as what that name says.
    """
    now = account.now
    for host in account.hosts.values():
        resource = account.inventory.resource(ResourceId(host.id))
        if resource is None or host.id in account.bindings or is_kept_by_name(host, resource):
            continue
        row = account.rows.get(host.fleet) if host.fleet is not None else None
        late = is_overdue(host, now, account.steady, row)
        if not (late or (host.goal is HostGoal.CLEAN and host.quarantined(now))):
            continue
        aside = tagged(resource)
        if aside.owner_tag is not None and (fleet := host.fleet or host.purchase.buyer):
            aside = replace(aside, owner_tag=replace(aside.owner_tag, fleet=fleet))
        yield replace(aside, orphan=OrphanClass.SET_ASIDE)


def is_kept_by_name(host: Host, resource: Resource) -> bool:
    """Tell whether a host that is given up bears a name by which it is not ours to delete any more.

    A person renamed it; what its provider deletes by itself goes all the same.
    """
    ends = host.goal is HostGoal.RETIRED and not resource.host.scheduled
    return ends and not host.ownership.adopted and resource.host.stage in OTHERS


def tagged(resource: Resource, orphan: OrphanClass | None = None) -> Resource:
    """Return a host with the owner tag that its name is, and what it is an orphan as."""
    facts = resource.host
    owner_tag = OwnerTag(
        installation=facts.installation or InstallationId(""),
        fleet=facts.fleet or FleetName(""),
        machine=facts.holder or MachineId(""),
        attempt=0,
    )
    return replace(resource, owner_tag=owner_tag, orphan=orphan or resource.orphan)


def _is_owned(resource: Resource, record: Host | None, account: AccountSnapshot) -> bool:
    """Tell whether a binding, the host's own work, or a machine that has no other host explains it.

    A binding to a machine that is in the history is about to be unbound, in order.
    """
    binding, living, past = (
        account.bindings.get(HostId(resource.id)),
        account.machines,
        account.past,
    )
    if binding is not None:
        return (binding in living or binding in past) and not is_unknown(resource, (*living, *past))
    if record is None:
        return False
    return record.goal is not None or (
        record.condition in _AT_WORK and record.ownership.name == resource.name
    )


def usurped(account: AccountSnapshot) -> Iterator[HostId]:
    """Yield the hosts with machines of ours whose names tell of tenants that no record knows.

    The records are older than those names: a backup was put back, or two engines keep two copies
    of one store. Somebody may use the host, so that nothing is done to it.
    """
    known = (*account.machines, *account.past) if account.bindings else ()
    for host in account.bindings:
        resource = account.inventory.resource(ResourceId(host))
        if resource is not None and is_unknown(resource, known):
            yield host


def _class(resource: Resource, account: AccountSnapshot) -> OrphanClass:
    holder, bindings = resource.host.holder or MachineId(""), account.bindings
    if bindings.get(HostId(resource.id), holder) != holder:
        return OrphanClass.DOUBLE
    machine = account.machines.get(holder) or account.past.get(holder)
    if machine is not None and claimed_late(machine, resource):
        return OrphanClass.DOUBLE
    if holder in account.machines:
        return (
            OrphanClass.DUPLICATE_NAME if holder in bindings.values() else OrphanClass.PENDING_FRESH
        )
    if resource.host.scheduled:
        return OrphanClass.SCHEDULED
    if resource.condition in {Condition.LOCKED, Condition.FAILED}:
        return OrphanClass.LOCKED
    copied = _had_another(machine, resource)
    unknown = _STAGES.get(resource.host.stage, OrphanClass.UNRECORDED)
    return OrphanClass.DUPLICATE_NAME if copied else unknown


def _had_another(machine: Machine | None, resource: Resource) -> bool:
    """Tell whether a machine that is over had another host, as its record says, to its end."""
    return machine is not None and machine.host not in {None, HostId(resource.id)}
