"""Host calls: the pure half for hosts that no machine has: wiped, put back, ordered, given up."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import FleetName, MachineId
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.fleet import Order
from hostler.domain.model.host import (
    HOST,
    Host,
    HostCondition,
    HostGoal,
    HostOrigin,
    renamed_to_end,
)
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import Resource, Stage
from hostler.providers.scaleway.macs.api.networks import named

from .machine_calls import (
    DELETE,
    DETACH,
    FREE,
    ORDER,
    SCHEDULE,
    UNCOMMIT,
    UNSCHEDULE,
    expecting,
    marking,
    reinstall,
)
from .names import STAGES, pool_name

OVERDUE = timedelta(minutes=5)
"""So long after its date a host that was to be deleted by itself is left to that."""


def host_calls(goal: HostGoal, host: Host, resource: Resource, now: datetime) -> tuple[Call, ...]:
    """Return the calls that may be made now for a host that no machine has."""
    if goal is HostGoal.POOLED:
        waits = resource.host.stage is not Stage.POOL and bool(host.ownership.pool)
        return (_free(host, resource),) if waits else ()
    if not _is_open(goal, host, resource):
        return ()
    match goal:
        case HostGoal.OFF | HostGoal.ON:
            return ()
        case HostGoal.CLEAN:
            return _wiped(host, resource)
        case HostGoal.RETIRED:
            return _retired(host, resource, now)


def _is_open(goal: HostGoal, host: Host, resource: Resource) -> bool:
    """Tell whether a host may be changed for its goal.

    From the pool it can be given up, unless somebody put it back there when it already was: a
    rename that was refused, or had no effect, is made again.
    """
    if goal is HostGoal.RETIRED and resource.host.stage is Stage.POOL:
        return renamed_to_end(host.asked, host.since) is None
    return resource.host.stage in STAGES or (host.ownership.adopted and bool(resource.host.tagged))


def _wiped(host: Host, resource: Resource) -> tuple[Call, ...]:
    """Wipe a host, and put it back once its wipe is proved; in quarantine it stays by itself.

    A deletion that we scheduled is called off; one that somebody else scheduled stays.
    """
    if resource.host.scheduled and _is_scheduled_by_us(host):
        return (_plain(UNSCHEDULE, resource),)
    if host.cleaning.wiped is not None and resource.host.stage is Stage.PARKED:
        return ()
    alone = host.condition is HostCondition.QUARANTINED
    stage = Stage.QUARANTINED if alone else Stage.WIPING
    if resource.host.stage != stage:
        return (_rename(host, resource, stage),)
    return () if alone else _cleaned(host, resource)


def _is_scheduled_by_us(host: Host) -> bool:
    """Tell whether we had its deletion scheduled, by either call, and did not call it off since.

    What was refused scheduled nothing: somebody else did, then.
    """
    known = [host.last_asked(kind) for kind in (SCHEDULE, DELETE)]
    asked = [a for a in known if a is not None and a.call_state is not CallState.REFUSED]
    off = host.last_asked(UNSCHEDULE)
    done = off.at if off is not None and off.call_state is CallState.DONE else None
    return any(done is None or one.at > done for one in asked)


def _cleaned(host: Host, resource: Resource) -> tuple[Call, ...]:
    """Wipe a host that bears its name for that, or put it back if that is proved."""
    if host.cleaning.wiped is not None:
        return _out_of_networks(host, resource) or _put_back(host, resource)
    if host.cleaning.wiping is not None or resource.status not in {"ready", "error"}:
        return ()
    return (reinstall(resource, HOST, resource.id, Effect.DESTROY, host.cleaning.image),)


def _out_of_networks(host: Host, resource: Resource) -> tuple[Call, ...]:
    """Take a host out of its last tenant's networks, before anybody else may take it.

    A listing that shows it in none is nothing: lists are empty for a while. So each network that
    tenants ask for, or that it was shown in, is asked about by itself, once after the wipe.
    """
    asked, unlisted = host.last_asked(DETACH), resource.note("unlisted")
    listed = resource.note("nics")
    wiped = host.cleaning.wiped
    sure = asked is not None and wiped is not None and asked.at >= wiped
    sure = sure and _asked_well(host, DETACH)
    if not listed and (sure or not unlisted):
        return ()
    networks = ",".join(sorted(named(listed) | named(unlisted)))
    call = expecting(resource, DETACH, HOST, ("networks", networks))
    return (replace(call, effect=Effect.DESTROY),)


def _put_back(host: Host, resource: Resource) -> tuple[Call, ...]:
    """Put a clean host where machines take it from: one that we pay for is kept by our own name."""
    if resource.note("leaving"):
        return ()
    if host.purchase.origin is HostOrigin.ORDERED and not host.purchase.policy:
        return (_rename(host, resource, Stage.PARKED),)
    return (_free(host, resource),) if host.ownership.pool else ()


def _rename(host: Host, resource: Resource, stage: Stage) -> Call:
    """Give a host a name of its own: of its last machine, or of its order, as nobody had it yet."""
    call = marking(
        resource,
        stage,
        HOST,
        ("host", host.id),
        ("fleet", host.fleet or host.purchase.buyer or FleetName("")),
        ("machine", host.machine or host.purchase.order or MachineId("")),
        ("pool", host.ownership.pool),
    )
    return replace(call, effect=Effect.DESTROY)


def _free(host: Host, resource: Resource) -> Call:
    """Return the rename into the pool: the last thing, after a wipe that was proved."""
    name = pool_name(
        host.ownership.pool, host.id, host.cleaning.wiped.isoformat() if host.cleaning.wiped else ""
    )
    call = expecting(resource, FREE, HOST, ("host", host.id), ("name", name))
    return replace(call, shows=Shows.OWNER_TAG, aim=Stage.POOL)


def _retired(host: Host, resource: Resource, now: datetime) -> tuple[Call, ...]:
    """Give a host up: no renewal, no networks, deleted; or its deletion scheduled at its date."""
    if resource.host.stage is not Stage.RETIRING:
        return (_rename(host, resource, Stage.RETIRING),)
    if resource.host.renews:
        return (_plain(UNCOMMIT, resource),)
    if resource.note("networks") and not _asked_well(host, DETACH):
        return (_plain(DETACH, resource),)
    return _ended(host, resource, now)


def _ended(host: Host, resource: Resource, now: datetime) -> tuple[Call, ...]:
    """Delete it if that may be, or have it deleted at its date; then wait for that date.

    What is deleted by itself at its date is deleted by us only when that is overdue: by whose clock
    a host is paid for until then is not ours to say.
    """
    deletable = resource.host.paid_until or host.purchase.scheduled or host.purchase.paid_until
    delete = replace(_plain(DELETE, resource), ends_payment=True)
    if resource.host.scheduled:
        overdue = deletable is not None and now >= deletable + OVERDUE
        return (delete,) if overdue else ()
    early = deletable is not None and now < deletable
    return (_plain(SCHEDULE, resource) if early else delete,)


def order(fleet: FleetName, pool: str, orders: tuple[Order, ...]) -> Call:
    """Return the order of as many hosts, all or none; each bears its order's id in its name."""
    first = orders[0].offer
    return Call(
        kind=ORDER,
        slot=HOST,
        zone=first.zone,
        effect=Effect.MAKE,
        args=(
            ("fleet", fleet),
            ("pool", pool),
            ("machines", tuple(str(one.id) for one in orders)),
            ("type", first.type),
            ("family", first.image),
        ),
    )


def _asked_well(host: Host, kind: str) -> bool:
    asked = host.last_asked(kind)
    return asked is not None and asked.call_state is CallState.DONE


def _plain(kind: str, resource: Resource) -> Call:
    return replace(expecting(resource, kind, HOST), effect=Effect.DESTROY)
