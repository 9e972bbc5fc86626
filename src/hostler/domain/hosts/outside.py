"""Outside: which hosts can no machine of ours have, whom no record of ours explains?

They cost as much as any other. Each is told in the orphan report, and nothing is done about it.
"""

from collections.abc import Iterator

from hostler.domain.ids import HostId
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.host import AT_HOME, OTHERS, Host, HostCondition
from hostler.domain.model.resource import OrphanClass, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.model.unused import claimant, unfit

from .orphans import is_adopted, is_kept_by_name, tagged

_OWN_WORK = frozenset(
    {
        HostCondition.COMING,
        HostCondition.WIPING,
        HostCondition.RETIRING,
        HostCondition.QUARANTINED,
    }
)


def outside(account: AccountSnapshot) -> Iterator[Resource]:
    """Yield every host that no machine and no work of its own explains, and that none can have.

    It stands in no pool, or is unfit in one. What other reports tell of by its name is left out:
    hosts under our names, and those that another installation's names give to fleets of ours.
    Where ownership is in our records alone, every host there is was listed by a person.
    """
    hosts = account.capabilities.hosts
    if hosts is None or hosts.ownership is not Ownership.NAMES:
        return
    for sighting in account.inventory.sightings.values():
        resource, host = sighting.resource, HostId(sighting.resource.id)
        if resource.slot.kind != account.capabilities.host_kind or host in account.bindings:
            continue
        record = account.hosts.get(host)
        if record is None or not _is_at_work(record, resource):
            cls = _class(resource, record, account)
            if cls is not None:
                yield tagged(resource, cls)


def _is_at_work(record: Host, resource: Resource) -> bool:
    """Tell whether work of its own explains a host; an end does not that its name stops."""
    if is_kept_by_name(record, resource):
        return False
    return record.goal is not None or record.condition in _OWN_WORK


def _class(resource: Resource, record: Host | None, account: AccountSnapshot) -> OrphanClass | None:
    stage = resource.host.stage
    if stage in AT_HOME:
        known = record is not None and record.ownership.name == resource.name
        return _unfit(resource) if known or stage is Stage.POOL else None
    if stage not in OTHERS or _is_reported(resource, account):
        return None
    if claimant(resource):
        return OrphanClass.CLAIMED_LOOKING
    return OrphanClass.FOREIGN if stage is Stage.FOREIGN else OrphanClass.OUTSIDE


def _unfit(resource: Resource) -> OrphanClass | None:
    if resource.host.scheduled:
        return OrphanClass.SCHEDULED
    return OrphanClass.LOCKED if unfit(resource) else None


def _is_reported(resource: Resource, account: AccountSnapshot) -> bool:
    """Tell whether a fleet of ours tells of it by its name, as foreign or as left over.

    No fleet does so of a name with a living machine's id, whichever installation it names.
    """
    ours = resource.host.fleet in {fleet.name for fleet in account.fleets}
    named = ours and resource.host.holder not in account.machines
    record = account.hosts.get(HostId(resource.id))
    taken_over = record is not None and record.ownership.adopted
    return is_adopted(resource, account.ours) or (named and not taken_over)
