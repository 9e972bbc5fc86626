"""Abandoned: machines on record that nobody asks for any more: who did, and may they be ended?

Where machines are asked for by id, somebody outside keeps the asking: an object of Kubernetes. When
that is removed past its finalizer, nobody asks for the machine's end either. The frontend proves
that the object is gone and says so; here such a machine is reported as the orphan that it is, and
its end, where a frontend asks for that, is refused unless everything allows for it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.fleet import FleetRow, destructions_left
from hostler.domain.model.machine import Deletion, Machine
from hostler.domain.model.requester import Requester
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan, Request, RequestKind, Snapshot
from hostler.domain.observation.blockers import protected_until

from .permission import forbidden

CAP = "cap: enough was removed for now, see per_reclaim, per_hour and share"
"""Why a reclaim waits that nothing else is in the way of."""

KINDS = frozenset({RequestKind.OWN, RequestKind.DISOWN, RequestKind.RECLAIM})
"""The requests about who asks for a machine: what stands against them is the record alone."""

_SIGHTINGS = 2
"""How often whoever says so has looked before."""


def orphans(snapshot: Snapshot) -> Iterator[Orphan]:
    """Yield each machine that nobody asks for, and whose end nobody asked for, as an orphan."""
    for machine in snapshot.machines:
        since = machine.health.abandoned
        if since is not None and machine.deletion is None:
            yield replace(
                _orphan(machine, snapshot), blocked=_blocked(machine, snapshot.row, snapshot)
            )


def _orphan(machine: Machine, snapshot: Snapshot) -> Orphan:
    main, now = snapshot.capabilities.main, snapshot.now
    since = min(machine.health.abandoned or now, now)
    return Orphan(
        resource=machine.bound(main) or next(iter(machine.ids()), ResourceId(machine.id)),
        kind=main.kind,
        zone=machine.offer.zone,
        fleet=snapshot.fleet.name,
        cls=OrphanClass.ABANDONED,
        first=since,
        last=now,
        sightings=_SIGHTINGS,
        counted=since,
        created=machine.created,
        owner=_words(machine.spec.requester),
        price=machine.billing.price,
        cost=machine.billing.cost(now),
        machine=machine.id,
    )


def _words(requester: Requester | None) -> str:
    return f"{requester} (gone)" if requester is not None else "somebody who is not on record"


def _blocked(machine: Machine, row: FleetRow, snapshot: Snapshot) -> str:
    """Return what keeps a machine from being reclaimed, or an empty string."""
    if why := _forbidden(machine, row, snapshot):
        return why
    return "" if destructions_left(snapshot.fleet, row, snapshot.now) else CAP


def _forbidden(machine: Machine, row: FleetRow, snapshot: Snapshot) -> str:
    now, grace = snapshot.now, snapshot.fleet.timers.grace
    since = max(machine.health.abandoned or now, snapshot.counted_from)
    if snapshot.fleet.protected:
        return f"fleet {snapshot.fleet.name} is protected"
    if until := protected_until(machine, now):
        return until
    if now - since < grace:
        return f"nobody asks for it for less than the grace period of {grace}"
    return forbidden(row, snapshot)


# ---------------------------------------------------------------- requests


def impossible(machine: Machine, request: Request, row: FleetRow, snapshot: Snapshot) -> str:
    """Return why what is said of a machine's requester does not hold by now; empty where it may."""
    if request.kind not in KINDS or request.kind is RequestKind.OWN:
        return ""
    if request.requester != machine.spec.requester:
        return "somebody else asks for it by now"
    if request.kind is RequestKind.DISOWN:
        return ""
    if machine.deletion is not None or machine.health.abandoned is None:
        return "it is being deleted" if machine.deletion is not None else "somebody asks for it"
    return _blocked(machine, row, snapshot)


def changed(machine: Machine, request: Request, snapshot: Snapshot) -> Machine:
    """Return the machine as such a request leaves it."""
    match request.kind:
        case RequestKind.OWN:
            spec = replace(machine.spec, requester=request.requester)
            return replace(machine, spec=spec).with_health(abandoned=None)
        case RequestKind.DISOWN:
            return machine.with_health(abandoned=machine.health.abandoned or snapshot.now)
        case RequestKind.RECLAIM:
            why = request.why or "nobody asks for it"
            deletion = Deletion(at=request.at, actor=request.actor, why=why)
            return replace(machine, deletion=deletion)
        case _:
            return machine


def counted(row: FleetRow, request: Request, snapshot: Snapshot) -> FleetRow:
    """Return the row with a reclaim counted towards its caps."""
    if request.kind is not RequestKind.RECLAIM:
        return row
    return replace(row, destructions=(*row.destructions, snapshot.now))
