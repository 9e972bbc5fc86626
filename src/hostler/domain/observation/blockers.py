"""Blockers: what stops a decision: protection, pauses, foreign resources, incomplete scopes."""

from collections.abc import Iterator
from datetime import datetime

from hostler.domain.ids import FleetName, Zone
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, RequestKind, Snapshot


def world_is_right(snapshot: Snapshot) -> str:
    """Return why nothing may be created here (G8), or an empty string.

    What stands in the orphan report counts until that is proved gone: while lists were empty for a
    minute, the fleet would be bought twice.
    """
    if why := others_are_right(snapshot):
        return why
    unexplained = len(snapshot.unexplained) + len(snapshot.removing)
    unexplained += sum(o.cls not in _ANOTHERS for o in _lacking(snapshot))
    if unexplained and not snapshot.capabilities.hosts:
        return (
            f"no record explains {unexplained} of the resources that carry our owner "
            "tag: see `hostler orphans FILE`, then `hostler adopt FILE` or set `reclaim = true`"
        )
    return ""


def others_are_right(snapshot: Snapshot) -> str:
    """Return why not even what no record explains may be removed (G8), or an empty string."""
    if source := _taken_over(snapshot):
        return (
            f"it takes over the machines of the fleet {source}: nothing is made or reclaimed until "
            "it has them"
        )
    if why := _is_foreign(snapshot):
        return why
    return store_is_old(snapshot)


_ANOTHERS = frozenset(
    {OrphanClass.FOREIGN, OrphanClass.UNISSUED, OrphanClass.NO_FLEET, OrphanClass.PARTIAL_TAG}
)


def _is_sighted(orphan: Orphan, snapshot: Snapshot) -> bool:
    return orphan.resource in snapshot.inventory.sightings


def _lacking(snapshot: Snapshot) -> Iterator[Orphan]:
    """Yield the orphans that the newest listing lacks, and that nothing proves gone.

    A machine that nobody asks for any more is none of them: it is on record, and counts by that.
    """
    for orphan in snapshot.orphans:
        listed = (orphan.zone, orphan.kind) in snapshot.inventory.whole
        if listed and orphan.cls is not OrphanClass.ABANDONED and not _is_sighted(orphan, snapshot):
            yield orphan


def _is_foreign(snapshot: Snapshot) -> str:
    """Return who else has this fleet's name on how much, or an empty string."""
    lacking = [orphan for orphan in _lacking(snapshot) if orphan.cls is OrphanClass.FOREIGN]
    owners = {p.owner_tag.installation for p in snapshot.foreign if p.owner_tag}
    whose = sorted(map(str, owners | {orphan.installation for orphan in lacking}))
    many = len(snapshot.foreign) + len(lacking)
    if not many:
        return ""
    return (
        f"another installation ({', '.join(whose)}) has this fleet's name on {many} of its "
        f"resources: `hostler adopt FILE --from {whose[0]}` if they are yours, else give this "
        "fleet another name"
    )


def store_is_old(snapshot: Snapshot) -> str:
    """Return how it shows that our store is old, or has a twin; empty where nothing speaks for it.

    It is the fleet's condition even where all that is desired is there. What was reported counts
    until it would be listed, and is proved gone.
    """
    found = {resource.id for resource in snapshot.unissued}
    found |= {
        orphan.resource
        for orphan in snapshot.orphans
        if orphan.cls is OrphanClass.UNISSUED and not _is_sighted(orphan, snapshot)
    }
    if not found:
        return ""
    return (
        f"{len(found)} of its resources carry our owner tag with ids that this "
        "store never issued: it was put back from a backup, or another engine runs on a copy "
        "of it. Stop the other engine, then `hostler adopt FILE` makes them ours"
    )


def _taken_over(snapshot: Snapshot) -> FleetName | None:
    """Return the fleet whose machines this one is getting, or is about to; they count for it."""
    asked = (r.source for r in snapshot.requests if r.kind is RequestKind.ADOPT_FLEET)
    return snapshot.row.adopts or next(asked, None)


def zone_is_known(snapshot: Snapshot, offer: Offer) -> bool:
    """Tell whether every kind of resource in the offer's zone was listed whole, and lately (S3)."""
    return all(scope_is_known(snapshot, offer.zone, kind) for kind in snapshot.capabilities.kinds)


def scope_is_known(snapshot: Snapshot, zone: Zone, kind: str) -> bool:
    """Tell whether all resources of a kind in a zone were listed whole, and lately (S3)."""
    whole = snapshot.inventory.whole.get((zone, kind))
    limit = snapshot.fleet.timers.observation_limit
    return whole is not None and snapshot.now - whole <= limit


def unobserved(snapshot: Snapshot) -> str:
    """Return which of the fleet's zones no longer show how they stand; empty where all do.

    Nobody would hear otherwise that a key was revoked: records go on saying what was seen last.
    Where our records alone say whose hosts are, one that does not answer leaves the others known.
    """
    hosts = snapshot.capabilities.hosts
    if not snapshot.inventory.failed or (hosts and hosts.ownership is not Ownership.NAMES):
        return ""
    zones = {offer.zone for offer in snapshot.fleet.offers}
    zones |= {machine.offer.zone for machine in snapshot.machines}
    limit, oldest = snapshot.fleet.timers.observation_limit, dict[Zone, datetime]()
    for place in snapshot.inventory.failed:
        seen = snapshot.inventory.whole.get(place, snapshot.took)
        if place[0] in zones and snapshot.now - seen > limit:
            oldest[place[0]] = min(seen, oldest.get(place[0], seen))
    if not oldest:
        return ""
    texts = (f"{zone} from {at:%H:%M:%S} UTC on" for zone, at in sorted(oldest.items()))
    return (
        f"{UNOBSERVED} {', '.join(texts)}: what is said of it is as it was then, and "
        "`hostler check FILE --online` says why"
    )


UNOBSERVED = "no listing shows all of"
"""How the condition begins of a fleet whose zones can no longer be observed."""


def protected_until(machine: Machine, now: datetime) -> str:
    """Return the sentence that says who protects this machine, or an empty one."""
    if machine.protection is None or not machine.is_protected(now):
        return ""
    protection = machine.protection
    until = f"{protection.until:%Y-%m-%d %H:%M} UTC"
    return f"protected until {until} by {protection.actor}: {protection.why}".removesuffix(": ")


def paused(row: FleetRow, now: datetime) -> str:
    """Return why the fleet is left as it is, or an empty sentence.

    Somebody paused it, or it is no longer in the file and is kept.
    """
    if row.is_kept:
        return (
            "the fleet is no longer in the file, and its machines are kept as they are: put it "
            "back, or end them"
        )
    return paused_by(row, now)


def paused_by(row: FleetRow, now: datetime) -> str:
    """Return the sentence that says who paused the fleet, or an empty one."""
    if row.pause is None or now >= row.pause.until:
        return ""
    return f"the fleet is paused by {row.pause.actor}: {row.pause.why}".removesuffix(": ")


def protection(machine: Machine, row: FleetRow, snapshot: Snapshot) -> str:
    """Return why what was once ready may not be destroyed now, or an empty string (G5).

    A rollback of what was never ready is kept from it by a hold of the machine alone.
    """
    return recorded_protection(machine, row, snapshot.fleet, snapshot.now)


def recorded_protection(machine: Machine, row: FleetRow, fleet: Fleet, now: datetime) -> str:
    """Return the same by what is on record, without what was observed."""
    if held := protected_until(machine, now):
        return held
    if machine.health.was_ready is None:
        return ""
    if fleet.protected:
        return "the fleet is protected: set `protected = false` to let its machines end"
    if machine.deletion is not None:  # a fleet that is kept keeps nobody from ending its machines
        return paused_by(row, now)
    return paused(row, now)


def is_ending(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether a machine was asked to end, and nothing keeps it: how it stands counts no more.

    One that is kept stays what it is seen to be, for as long as that lasts.
    """
    return machine.deletion is not None and not protection(machine, snapshot.row, snapshot)


def ends_at_once(machine: Machine) -> bool:
    """Tell whether an ending needs no drain: nothing can run on what was never ready."""
    return machine.phase in {Phase.PENDING, Phase.STARTING, Phase.FAILED} or (
        machine.deletion is not None and machine.deletion.now
    )
