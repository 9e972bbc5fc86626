"""View: what of an account one fleet's cycle may know, out of the facts gathered for all of it."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from hostler.domain.hosts.free import free_hosts
from hostler.domain.hosts.orphans import bereft, copied, orphans, others, set_aside, usurped
from hostler.domain.hosts.outside import outside
from hostler.domain.ids import FleetName, HostId, MachineId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.host import host_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.resource import OrphanClass, OwnerTag, Resource
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot
from hostler.domain.model.unused import Fits
from hostler.domain.observation.ownership import (
    Explained,
    Owners,
    bound_in,
    explain,
    fleetless,
    partly_tagged,
    sort_out,
)
from hostler.domain.policy.purchasing import Limits

from .ripe import ripe

Renamed = Mapping[FleetName, FleetName]
"""Under which name a fleet goes on that had another one."""


class HostTerms(Struct, frozen=True, kw_only=True):
    """What a provider says of the hosts that a fleet may have, where hosts outlive machines.

    `fits` says why a host is none for an offer; `pool` is how the names in the fleet's pool begin,
    empty where it has none; `limits` are those of ordering hosts, None where none may be ordered.
    """

    fits: Fits
    pool: str = ""
    limits: Limits | None = None


def named(account: AccountSnapshot) -> tuple[MachineId, ...]:
    """Return the machines that are not living and that tags, bindings or hosts' names name."""
    inventory, ours = account.inventory, account.ours
    unknown = inventory.tagged.keys() - account.machines.keys()
    tags = (
        (machine, inventory.sightings[resource].resource.owner_tag)
        for machine in unknown
        for resource in inventory.tagged[machine]
    )
    found = {machine for machine, tag in tags if not tag or tag.installation in ours}
    if account.capabilities.hosts:
        found |= {resource.host.holder for resource in _hosts(account) if resource.host.holder}
        found |= {*account.bindings.values()}
    return tuple(sorted(found - account.machines.keys()))


def _hosts(account: AccountSnapshot) -> Iterable[Resource]:
    kind, sightings = account.capabilities.host_kind, account.inventory.sightings.values()
    return (s.resource for s in sightings if s.resource.slot.kind == kind)


def view_of(account: AccountSnapshot, fleet: Fleet, terms: HostTerms | None) -> Snapshot:
    """Return what a cycle of this fleet may know; `terms` where hosts outlive machines."""
    renamed = account.renamed
    foreign, strangers = _strange(account, fleet, renamed)
    return Snapshot(
        cycle=account.cycle,
        now=account.now,
        fleet=fleet,
        row=account.rows[fleet.name],
        machines=account.living[fleet.name],
        inventory=account.inventory,
        capabilities=account.capabilities,
        epoch=account.epoch,
        took=account.took,
        took_over=account.took_over,
        steady=account.steady,
        jumped=account.jumped,
        ours=account.ours,
        foreign=foreign,
        unissued=strangers.unissued,
        unexplained=strangers.unexplained,
        removing=strangers.removing,
        aside=_of_fleet(_aside(account, renamed), account, fleet, renamed),
        late=strangers.late,
        ended=strangers.ended,
        orphans=tuple(o for o in account.orphans if renamed.get(o.fleet, o.fleet) == fleet.name),
        requests=tuple(ripe(account, fleet.name)),
        moving=account.moving,
        probed=account.probed,
        hosts=account.hosts,
        guarded=account.guarded,
        bindings={machine: host for host, machine in account.bindings.items()},
        free=free_hosts(account, fleet, terms.fits) if terms else (),
        pool=terms.pool if terms else "",
        limits=terms.limits if terms else None,
        usurped=frozenset(usurped(account)),
        moving_hosts=account.moving_hosts,
        answers=account.answers,
        left={
            one.name: account.rows[one.name] for one in account.fleets if _has_left(one, account)
        },
        adopted=frozenset(row.adopts for row in account.rows.values() if row.adopts),
        neighbours=_neighbours(account, fleet),
        owner_of=Owners(account.machines.values()),
    )


def _neighbours(account: AccountSnapshot, fleet: Fleet) -> tuple[Machine, ...]:
    """Return the machines of other fleets, where limits of power are theirs as well."""
    if account.capabilities.power is None or len(account.fleets) < 2:
        return ()
    return tuple(one for one in account.machines.values() if one.fleet != fleet.name)


def _has_left(fleet: Fleet, account: AccountSnapshot) -> bool:
    """Tell whether a fleet is on record and no longer in the file."""
    return fleet.removed and fleet.name in account.rows


def _strange(
    account: AccountSnapshot, fleet: Fleet, renamed: Renamed
) -> tuple[tuple[Resource, ...], Explained]:
    """Return what is foreign, and what no record explains; among hosts, host by host.

    Machines that are being taken over are as good as the fleet's own; and those that another fleet
    took over may still bear this one's name.
    """
    names = frozenset({fleet.name, *(old for old, now in renamed.items() if now == fleet.name)})
    machines = tuple(m for name in _kin(account, names) for m in account.living.get(name, ()))
    living = {machine.id for machine in machines}
    recorded = account.machines.values()  # those of other fleets are none of this one's strangers
    found = sort_out(account.inventory, names, living, lambda: bound_in(recorded), account.ours)
    explained = explain(found.strangers, account.past, account.issued, account.moving)
    if not account.capabilities.host_kind:
        return found.foreign, explained
    own = (r for r in others(account) if r.owner_tag and r.owner_tag.fleet in names)
    strange = (*orphans(account), *copied(account), *bereft(account))
    hosts = _of_fleet(strange, account, fleet, renamed)
    return (*found.foreign, *own), _of_hosts(hosts, explained.unissued, account)


def _aside(account: AccountSnapshot, renamed: Renamed) -> tuple[Resource, ...]:
    """Return what is told of and left alone, whichever fleet tells of it."""
    if account.capabilities.host_kind:
        return (*set_aside(account), *outside(account))
    names = {*renamed, *(fleet.name for fleet in account.fleets)}
    found = fleetless(account.inventory, names, account.machines, account.ours)
    return (*found, *partly_tagged(account.inventory, account.machines.values(), account.ours))


def _kin(account: AccountSnapshot, names: frozenset[FleetName]) -> tuple[FleetName, ...]:
    """Return the fleets of these names, and those that once took over one of them."""
    rows = account.rows.values()
    return tuple({*names, *(row.name for row in rows if not names.isdisjoint(row.former))})


def _of_hosts(
    hosts: Iterable[Resource], allocations: Iterable[Resource], account: AccountSnapshot
) -> Explained:
    """Return what strange hosts are; one that another store gave to a machine is that allocation.

    Where a machine of ours has the host, two may have it, and that is what is said of it.
    """
    taken = {host: a for a in allocations if (host := host_of(a.id)) not in account.bindings}
    unissued = {r.id: r for r in hosts if r.orphan is OrphanClass.UNISSUED}
    rest = (r for r in unissued.values() if HostId(r.id) not in taken)
    return Explained(
        unexplained=tuple(r for r in hosts if r.id not in unissued and HostId(r.id) not in taken),
        unissued=(*taken.values(), *rest),
    )


def _of_fleet(
    found: Iterable[Resource], account: AccountSnapshot, fleet: Fleet, renamed: Renamed
) -> tuple[Resource, ...]:
    """Return those under the fleet's name; those of no fleet in the file are the first one's."""
    names, first = {one.name for one in account.fleets}, account.fleets[0].name

    def whose(tag: OwnerTag) -> FleetName:
        name = renamed.get(tag.fleet, tag.fleet)
        return name if name in names else first

    return tuple(r for r in found if r.owner_tag and whose(r.owner_tag) == fleet.name)
