"""View: what of an account one fleet's cycle may know, out of the facts gathered for all of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hostler.domain.hosts.free import Fits, free_hosts
from hostler.domain.hosts.orphans import copied, orphans, others, set_aside, usurped
from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.resource import Resource
from hostler.domain.model.snapshot import AccountSnapshot, Request, Snapshot
from hostler.domain.observation.ownership import Sorted, bound_in, sort_out
from hostler.domain.policy.purchasing import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTerms:
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
    if account.capabilities.hosts:
        holders = {resource.host.holder for resource in _hosts(account) if resource.host.holder}
        return tuple(sorted({*holders, *account.bindings.values()} - account.machines.keys()))
    unknown = inventory.tagged.keys() - account.machines.keys() - account.moving
    tags = (
        (machine, inventory.sightings[resource].resource.owner_tag)
        for machine in unknown
        for resource in inventory.tagged[machine]
    )
    return tuple(sorted({machine for machine, tag in tags if not tag or tag.installation in ours}))


def _hosts(account: AccountSnapshot) -> Iterable[Resource]:
    kind, sightings = account.capabilities.host_kind, account.inventory.sightings.values()
    return (s.resource for s in sightings if s.resource.slot.kind == kind)


def view_of(account: AccountSnapshot, fleet: Fleet, terms: HostTerms | None) -> Snapshot:
    """Return what a cycle of this fleet may know; `terms` where hosts outlive machines."""
    found = _unexplained(account, fleet)
    named_late = () if account.capabilities.hosts else found.machines()
    late = tuple(machine for m in named_late if (machine := account.past.get(m)) is not None)
    known = {machine.id for machine in late}
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
        steady=account.steady,
        jumped=account.jumped,
        ours=account.ours,
        foreign=found.foreign,
        unexplained=tuple(
            p for p in found.strangers if p.owner_tag and p.owner_tag.machine not in known
        ),
        aside=_of_fleet(set_aside(account), account, fleet),
        late=late,
        orphans=tuple(orphan for orphan in account.orphans if orphan.fleet == fleet.name),
        requests=tuple(
            request
            for request in account.requests
            if request.fleet == fleet.name
            and request.machine not in account.moving
            and _is_ripe(request, account)
        ),
        moving=account.moving,
        probed=account.probed,
        hosts=account.hosts,
        bindings={machine: host for host, machine in account.bindings.items()},
        free=free_hosts(account, fleet, terms.fits) if terms else (),
        pool=terms.pool if terms else "",
        limits=terms.limits if terms else None,
        usurped=frozenset(usurped(account)),
        moving_hosts=account.moving_hosts,
        answers=account.answers,
    )


def _is_ripe(request: Request, account: AccountSnapshot) -> bool:
    """Tell whether a request can be granted, or be found to be about a host that there is not."""
    if request.host is None or account.inventory.resource(ResourceId(request.host)) is not None:
        return True
    kind = account.capabilities.host_kind
    observations = [at for (_, observed), at in account.inventory.whole.items() if observed == kind]
    return bool(observations) and all(at > request.at for at in observations)


def _unexplained(account: AccountSnapshot, fleet: Fleet) -> Sorted:
    """Return what is foreign, and what no record explains; among hosts, host by host."""
    inventory, machines = account.inventory, account.living[fleet.name]
    living = {machine.id for machine in machines} | account.moving
    found = sort_out(inventory, fleet.name, living, lambda: bound_in(machines), account.ours)
    if not account.capabilities.host_kind:
        return found
    own = (r for r in others(account) if r.owner_tag and r.owner_tag.fleet == fleet.name)
    strange = (*orphans(account), *copied(account))
    return Sorted(foreign=(*found.foreign, *own), strangers=_of_fleet(strange, account, fleet))


def _of_fleet(
    found: Iterable[Resource], account: AccountSnapshot, fleet: Fleet
) -> tuple[Resource, ...]:
    """Return those under the fleet's name; those of no fleet in the file are the first one's."""
    names = {one.name for one in account.fleets}
    if fleet.name == account.fleets[0].name:
        names.remove(fleet.name)
        return tuple(r for r in found if r.owner_tag and r.owner_tag.fleet not in names)
    return tuple(r for r in found if r.owner_tag and r.owner_tag.fleet == fleet.name)
