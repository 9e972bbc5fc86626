"""Reclaim: which resources does no record explain, what do they cost, and may one be removed?"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.hosts.orphans import ACTIONABLE, WHY_NOT
from hostler.domain.ids import HostId, MachineId, ResourceId, Zone, evolve
from hostler.domain.model.commands import Provable, Reclaim, SaveOrphans
from hostler.domain.model.fleet import FleetRow, destructions_left
from hostler.domain.model.machine import Known, Machine, Offer, Place
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.provider import Planner
from hostler.domain.model.resource import OrphanClass, Resource
from hostler.domain.model.snapshot import Orphan, Snapshot
from hostler.domain.model.unused import claimant
from hostler.domain.observation.blockers import scope_is_known
from hostler.domain.policy.billing import cost_between

from . import abandoned
from .abandoned import CAP
from .permission import forbidden

ENOUGH = 2
"""How many complete observations must have shown an orphan; more are not counted."""


NO_CALL = "no call can be made on it now: it changes state, or another resource must go first"
NOBODYS = "it names no machine, so nobody can say whose it is"
"""What keeps an orphan that nothing forbids to remove."""
LACKED = "the newest observation lacks it: it leaves the report when the next one does too"


def orphan_report(snapshot: Snapshot) -> SaveOrphans:
    """Return the orphans of this cycle: new and old ones as they stand, and those to take out."""
    stored = {orphan.resource: orphan for orphan in snapshot.orphans}
    older = {resource: _present(orphan, snapshot) for resource, orphan in stored.items()}
    resources = [(resource, OrphanClass.FOREIGN) for resource in snapshot.foreign]
    resources += [(resource, OrphanClass.UNISSUED) for resource in snapshot.unissued]
    resources += [
        (resource, _class(resource, older.get(resource.id), snapshot))
        for resource in snapshot.unexplained
    ]
    resources += [(r, r.orphan or OrphanClass.SET_ASIDE) for r in snapshot.aside]
    now = tuple(
        _orphan(resource, cls, older.get(resource.id), snapshot) for resource, cls in resources
    )
    now = (*now, *abandoned.orphans(snapshot))
    current = {orphan.resource for orphan in now}
    changed = tuple(orphan for orphan in now if _differs(orphan, stored.get(orphan.resource)))
    unseen = [orphan for resource, orphan in older.items() if resource not in current]
    cleared = tuple(
        s.resource for s in unseen if s.machine not in snapshot.moving and _is_over(s, snapshot)
    )
    staying = tuple(_doubted(s, snapshot) for s in unseen if s.resource not in cleared)
    doubted = tuple(orphan for orphan in staying if orphan != stored[orphan.resource])
    return SaveOrphans(orphans=(*changed, *doubted), cleared=cleared)


def provable(snapshot: Snapshot, report: SaveOrphans) -> Provable:
    """Return which zones and kinds lack orphans, and when a listing can prove that they are gone.

    That is when it has to begin; where several orphans are lacking, it proves it of all.
    """
    changed = {orphan.resource: orphan for orphan in report.orphans}
    found = dict[tuple[Zone, str], datetime]()
    for older in snapshot.orphans:
        orphan = changed.get(older.resource, older)
        if orphan.missing is not None and orphan.resource not in report.cleared:
            place, at = (orphan.zone, orphan.kind), _gone_from(orphan.missing, snapshot)
            found[place] = max(at, found.get(place, at))
    return found


def _present(orphan: Orphan, snapshot: Snapshot) -> Orphan:
    """Bring dates that lie in the future back to now: the clock jumped back since they were set.

    Nothing could be observed after them until the clock is there again. What was reported for a
    fleet that this one took over is its own.
    """
    now, orphan = snapshot.now, evolve(orphan, fleet=snapshot.fleet.name)
    if max(at for at in _dates(orphan) if at is not None) <= now:
        return orphan
    first, last, *others = (at and min(at, now) for at in _dates(orphan))
    counted, tried, missing = others
    orphan = replace(orphan, first=first or now, last=last or now, missing=missing)
    return replace(orphan, counted=counted, tried=tried)


def _dates(orphan: Orphan) -> tuple[datetime | None, ...]:
    return (orphan.first, orphan.last, orphan.counted, orphan.tried, orphan.missing)


def _class(resource: Resource, older: Orphan | None, snapshot: Snapshot) -> OrphanClass:
    """Return what a resource is suspected to be; a claim that is young may still be under way."""
    cls = OrphanClass(resource.orphan or OrphanClass.UNRECORDED)
    first = older.first if older else snapshot.now
    if cls is OrphanClass.PENDING_STALE and snapshot.now - first < snapshot.fleet.timers.grace:
        return OrphanClass.PENDING_FRESH
    return cls


def _differs(orphan: Orphan, older: Orphan | None) -> bool:
    """Whether the orphan report must be written: readers compute what only grows with time."""
    if older is None:
        return True
    return replace(orphan, last=older.last, cost=older.cost) != older


def _is_over(orphan: Orphan, snapshot: Snapshot) -> bool:
    """An orphan leaves the report when it is explained, or two complete observations lack it.

    One that lacks it proves nothing: lists are empty for a minute, and what bills goes on billing.
    A machine that nobody asks for is on record: it is over when that says so.
    """
    recorded = orphan.cls is OrphanClass.ABANDONED
    if recorded or orphan.resource in snapshot.inventory.sightings:
        return True
    whole = snapshot.inventory.whole.get((orphan.zone, orphan.kind))
    if whole is None or orphan.missing is None:
        return False
    return whole >= _gone_from(orphan.missing, snapshot)


def _gone_from(missing: datetime, snapshot: Snapshot) -> datetime:
    """Return when a listing has to begin to prove the end of what one lacked since `missing`.

    Lists may lag, or be empty, for a while; only time that one clock counted is counted.
    """
    patience = max(snapshot.fleet.timers.absence_gap, snapshot.capabilities.consistency_delay)
    return max(missing, snapshot.counted_from) + patience


def _doubted(orphan: Orphan, snapshot: Snapshot) -> Orphan:
    """Note since when an orphan is lacking, where a complete observation could have shown it."""
    whole = snapshot.inventory.whole.get((orphan.zone, orphan.kind))
    gap = snapshot.fleet.timers.absence_gap
    if orphan.missing is not None or whole is None or whole <= orphan.last + gap:
        return orphan
    return replace(orphan, missing=whole, blocked=LACKED)


def _orphan(
    resource: Resource, cls: OrphanClass, older: Orphan | None, snapshot: Snapshot
) -> Orphan:
    observed = _observed(resource, older, snapshot)
    first = older.first if older else snapshot.now
    created = resource.created or first
    orphan = Orphan(
        resource=resource.id,
        kind=resource.slot.kind,
        zone=resource.zone,
        fleet=snapshot.fleet.name,
        cls=cls,
        first=first,
        last=snapshot.inventory.observed_at(snapshot.inventory.sightings[resource.id]),
        sightings=_sightings(older, observed, snapshot),
        counted=_counted(older, observed, snapshot),
        tried=older.tried if older else None,
        created=resource.created,
        owner=_owner(resource),
        price=resource.price,
        cost=cost_between(resource.price, created, snapshot.now),
        installation=resource.owner_tag.installation if resource.owner_tag else None,
        machine=(resource.owner_tag.machine or None) if resource.owner_tag else None,
    )
    return replace(orphan, blocked=blocked(orphan, snapshot))


def _owner(resource: Resource) -> str:
    """Return whom the owner tag names, or who seems to have claimed it by its name."""
    tag = resource.owner_tag
    if tag is None or not (tag.machine or tag.installation):
        return claimant(resource)
    return f"{tag.machine or 'an unknown machine'} of {tag.installation}"


def _observed(resource: Resource, older: Orphan | None, snapshot: Snapshot) -> datetime:
    """Return when the newest complete observation began that showed the resource."""
    sighting = snapshot.inventory.observed_at(snapshot.inventory.sightings[resource.id])
    whole = snapshot.inventory.whole.get((resource.zone, resource.slot.kind))
    if older is None or older.counted is None or sighting == whole:
        return sighting
    return older.counted


def _counted(older: Orphan | None, observed: datetime, snapshot: Snapshot) -> datetime:
    if older is None or older.counted is None:
        return observed
    if older.sightings >= ENOUGH:
        return older.counted
    gap = snapshot.fleet.timers.sighting_gap
    since = max(older.counted, snapshot.counted_from)
    return observed if observed - since >= gap else older.counted


def _sightings(older: Orphan | None, observed: datetime, snapshot: Snapshot) -> int:
    if older is None:
        return 1
    return older.sightings + (_counted(older, observed, snapshot) != older.counted)


def age_of(orphan: Orphan, snapshot: Snapshot) -> timedelta:
    """Return how old an orphan surely is: what another engine dated may be another clock's."""
    seen = max(orphan.first, snapshot.counted_from)
    since = seen if snapshot.capabilities.hosts else orphan.since(seen)
    return snapshot.now - max(since, snapshot.jumped or since)


def blocked(orphan: Orphan, snapshot: Snapshot) -> str:
    """Return what keeps this orphan from being reclaimed, or an empty string."""
    timers = snapshot.fleet.timers
    if why := _never(orphan):
        return why
    if snapshot.capabilities.hosts and not _has_pool(orphan.resource, snapshot):
        return "no pool is known that it could go back to: set `pool_prefix`"
    if age_of(orphan, snapshot) < timers.grace:
        return f"younger than the grace period of {timers.grace}"
    if orphan.sightings < ENOUGH:
        return f"seen once; a second complete observation is needed, {timers.sighting_gap} later"
    return _forbidden(orphan, snapshot)


def _never(orphan: Orphan) -> str:
    """Return what keeps an orphan from being reclaimed at any time, or an empty string."""
    if orphan.cls is OrphanClass.FOREIGN:
        return "it carries the owner tag of another installation"
    if orphan.cls not in ACTIONABLE:
        return WHY_NOT[orphan.cls]
    return "" if orphan.owner else NOBODYS


def _has_pool(resource: ResourceId, snapshot: Snapshot) -> bool:
    sighting, host = (
        snapshot.inventory.sightings.get(resource),
        snapshot.hosts.get(HostId(resource)),
    )
    hosts = snapshot.capabilities.hosts
    if hosts is not None and not hosts.needs_pool:
        return True
    named = sighting is not None and bool(sighting.resource.host.pool)
    return named or (host is not None and bool(host.ownership.pool))


def _forbidden(orphan: Orphan, snapshot: Snapshot) -> str:
    return forbidden(snapshot.row, snapshot) or _not_yet(orphan, snapshot)


def _not_yet(orphan: Orphan, snapshot: Snapshot) -> str:
    """Return why an orphan that may go waits for a moment; unknown counts let nothing go (S3)."""
    if not scope_is_known(snapshot, orphan.zone, orphan.kind):
        return f"{orphan.zone} could not be observed whole lately"
    if (
        orphan.tried is not None
        and snapshot.now - orphan.tried < snapshot.fleet.timers.sighting_gap
    ):
        return f"its removal was tried at {orphan.tried:%H:%M:%S} UTC"
    return ""


def without(adopted: Collection[MachineId], snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without what no record explained until these were adopted."""
    if not adopted:
        return snapshot
    left = (r for r in snapshot.unexplained if not (r.owner_tag and r.owner_tag.machine in adopted))
    return replace(snapshot, unexplained=tuple(left))


def reclaims(
    keep: SaveOrphans, row: FleetRow, snapshot: Snapshot, planner: Planner
) -> tuple[tuple[Reclaim, ...], SaveOrphans, FleetRow]:
    """Return what may be removed now within the caps, grouped by the machine that owner tags name.

    With it come the report and the row that are saved first: the row counts what is new. Trying
    again what was counted once takes no more of the caps; what has no call now waits. What waits
    says in the report for what.
    """
    current = {s.resource: s for s in (*snapshot.orphans, *keep.orphans)}
    left = destructions_left(snapshot.fleet, row, snapshot.now)
    found, tried, counted = list[Reclaim](), dict[ResourceId, Orphan](), 0
    waiting = dict[ResourceId, str]()
    for machine, resources in _groups(current, snapshot).items():
        record = placeholder(machine, resources, snapshot)
        aims = _aims(record, resources, snapshot, planner)
        fresh = [resource for resource in aims if current[resource.id].tried is None][
            : left - counted
        ]
        may = [
            resource
            for resource in aims
            if current[resource.id].tried is not None or resource in fresh
        ]
        able = {resource.id for resource in aims}
        waiting |= {one.id: CAP if one.id in able else NO_CALL for one in resources}
        if not may:
            continue
        counted += len(fresh)
        orphans = tuple(replace(current[resource.id], tried=snapshot.now) for resource in may)
        tried |= {orphan.resource: orphan for orphan in orphans}
        found.append(Reclaim(placeholder=record, resources=tuple(may), orphans=orphans))
    listed = {orphan.resource: orphan for orphan in keep.orphans} | tried
    for resource in waiting.keys() - tried.keys():
        listed[resource] = replace(current[resource], blocked=waiting[resource])
    older = {orphan.resource: orphan for orphan in snapshot.orphans}
    news = tuple(entry for entry in listed.values() if _differs(entry, older.get(entry.resource)))
    report = replace(keep, orphans=news)
    destructions = (*row.destructions, *(snapshot.now,) * counted)
    return tuple(found), report, evolve(row, destructions=destructions)


def _aims(
    record: Machine, resources: tuple[Resource, ...], snapshot: Snapshot, planner: Planner
) -> list[Resource]:
    """Return the resources that something can be done about now; a host is taken into a record."""
    if snapshot.capabilities.hosts:
        return list(resources)
    calls = planner.next_calls(Goal.ABSENT, record, resources, snapshot.now)
    return [resource for resource in resources if resource.id in {call.target for call in calls}]


def _groups(
    current: Mapping[ResourceId, Orphan], snapshot: Snapshot
) -> dict[MachineId, tuple[Resource, ...]]:
    """Return the resources that nothing keeps from being reclaimed, by the machine they name."""
    groups = dict[MachineId, tuple[Resource, ...]]()
    for resource in snapshot.unexplained:
        orphan = current.get(resource.id)
        if orphan is not None and resource.owner_tag is not None and not blocked(orphan, snapshot):
            groups[resource.owner_tag.machine] = (
                *groups.get(resource.owner_tag.machine, ()),
                resource,
            )
    return groups


def placeholder(machine: MachineId, resources: tuple[Resource, ...], snapshot: Snapshot) -> Machine:
    """Return a record that stands for a machine nobody recorded; it is never saved."""
    places = dict[str, Place]()
    for resource in resources:
        place = places.get(str(resource.slot), Place(slot=resource.slot))
        known = Known(id=resource.id, zone=resource.zone, since=snapshot.now)
        places[str(resource.slot)] = replace(
            place, bound=place.bound or resource.id, known=(*place.known, known)
        )
    return Machine(
        id=machine,
        fleet=snapshot.fleet.name,
        serial=0,
        created=snapshot.now,
        since=snapshot.now,
        phase=Phase.STOPPING,
        goal=Goal.ABSENT,
        offer=Offer(type="", zone=resources[0].zone),
        places=tuple(places.values()),
    )
