"""Wiping: how far is the wipe of a host that no machine has, and does its name speak against it?

A wipe is proved by what an observation shows of it, and counts only while the host bears the name
that it was given for that: under any other name somebody may have used it since.
"""

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.host import (
    AT_HOME,
    GIVEN_UP,
    OTHERS,
    TENANT,
    WAITING,
    Host,
    HostCondition,
    HostGoal,
)
from hostler.domain.model.machine import Asked, CallState
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.observation import effects
from hostler.domain.policy.bootstrap_data import DataRun
from hostler.domain.policy.remediation import LADDER, pause_after, wipe_failed
from hostler.domain.policy.revisions import Drift

from .overdue import is_overdue

_IN_USE = TENANT - {Stage.RELEASING}
"""The stages of names that a wipe of ours never leaves."""


def left(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """A free host that bears another name now was used by somebody: its proof is void.

    Also where it is a name of the pool: that is not the one that we gave it after its wipe.
    """
    if resource.host.stage in AT_HOME and resource.name == snapshot.hosts[host.id].ownership.name:
        broken = resource.condition is Condition.FAILED and resource.host.stage in WAITING
        return _mended(host, snapshot) if broken else host
    goal = HostGoal.CLEAN if _is_named_late(host, resource) else None
    void = replace(unproved(host), goal=goal)
    why = "an older name came late" if goal else "somebody else took it"
    return void.now(HostCondition.DIRTY, snapshot.now, why)


def _mended(host: Host, snapshot: AccountSnapshot) -> Host:
    """Return a host in error that waits under our own name, which we pay for: a wipe mends it."""
    void = replace(unproved(host), goal=HostGoal.CLEAN)
    return void.now(HostCondition.DIRTY, snapshot.now, "it is in error")


def _is_named_late(host: Host, resource: Resource) -> bool:
    """Tell whether a parked host bears a name again that we gave it on its way there.

    Nobody else takes what we parked, so that it is ours to wipe still.
    """
    parked = any(a.aim is Stage.PARKED and a.call_state is CallState.DONE for a in host.asked)
    facts = resource.host
    older = facts.stage in GIVEN_UP | {Stage.WIPING} and facts.holder == host.machine
    return parked and older and not _was_offered(host)


def wiped(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Follow a wipe: begun when it was seen, over when the host is ready in a later observation."""
    if (renamed := _renamed(host, resource, snapshot)) is not None:
        return renamed
    at = snapshot.inventory.observed_at(snapshot.inventory.sightings[ResourceId(host.id)])
    wipe = next((a for a in host.asked if a.shows is effects.Shows.WIPE), None)
    if host.cleaning.wiping is None and wipe is not None and wipe.call_state is CallState.DONE:
        begun = host.with_cleaning(wiping=wipe.closed)
        host = begun.now(HostCondition.WIPING, snapshot.now, "its wipe was seen")
    if host.cleaning.wiping is None:  # in the pool it is wiped before it is claimed, and not before
        pooled = resource.host.stage is Stage.POOL
        return replace(host, goal=None) if pooled else _begun(host, wipe, resource, snapshot)
    if resource.condition is Condition.FAILED:
        return struck(host, snapshot, "its wipe ended in error")
    if (
        host.cleaning.wiped is None
        and resource.condition is Condition.UP
        and at > host.cleaning.wiping
    ):
        host = host.with_cleaning(
            wiped=snapshot.now, cleaned=snapshot.now, witness=resource.host.witness
        )
        host = replace(
            host.with_bootstrap(applied="", drift=Drift(), run=DataRun()),
            asked=_without_wipes(host),
        )
    return host if host.cleaning.wiped is None else _clean(host, resource, snapshot)


def _clean(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Return a host whose wipe is proved: free once it stands where machines take it from."""
    stage = resource.host.stage
    if host.quarantined(snapshot.now):
        return host.now(HostCondition.QUARANTINED, snapshot.now, f"{host.health.strikes} strikes")
    if stage is Stage.POOL and not _is_put_back(host, resource):
        return _pooled_by_hand(host, snapshot)
    if stage in AT_HOME:
        return replace(host, goal=None).now(HostCondition.FREE, snapshot.now, "wiped, and put back")
    return host


def _renamed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host | None:
    """Return a host whose wipe is followed and that somebody renamed, or None where nobody did.

    One that bears somebody else's name is not ours to wipe: a person lends it, or another
    installation claimed it as soon as it was back in the pool. One that bears a tenant's name, or
    is in the pool before its wipe was seen to end, may have been used since: that proof is void. It
    is wiped again, unless it was in the pool before: then somebody else may use it, and it is
    reported.
    """
    stage = resource.host.stage
    if stage in OTHERS and not host.ownership.adopted:
        return left(host, resource, snapshot)
    if stage in _IN_USE:
        goal = None if _was_offered(host) else HostGoal.CLEAN
        void = replace(unproved(host), goal=goal)
        return void.now(HostCondition.DIRTY, snapshot.now, "somebody gave it a tenant's name again")
    if stage is Stage.POOL and _is_unproved(host, resource):
        return _pooled_by_hand(host, snapshot)
    return None


def _is_put_back(host: Host, resource: Resource) -> bool:
    """Tell whether a host of the pool bears the very name that we put it back under."""
    return any(asked.aim is Stage.POOL and asked.name == resource.name for asked in host.asked)


def _was_offered(host: Host) -> bool:
    """Tell whether a host was put back since its wipe: somebody else may have it by now."""
    wiped = host.cleaning.wiped
    return wiped is not None and any(a.aim is Stage.POOL and a.at >= wiped for a in host.asked)


def _pooled_by_hand(host: Host, snapshot: AccountSnapshot) -> Host:
    """Return a host that somebody gave a name of the pool, and may have used: no proof counts."""
    void = replace(unproved(host), goal=None)
    return void.now(HostCondition.DIRTY, snapshot.now, "somebody put it into the pool")


def _is_unproved(host: Host, resource: Resource) -> bool:
    """Tell whether a wipe that was seen to begin is over, and nobody of us saw it end."""
    return (
        host.cleaning.wiping is not None
        and host.cleaning.wiped is None
        and resource.condition is Condition.UP
    )


def unproved(host: Host) -> Host:
    """Return the record without any proof of a wipe: no call that was seen to end is one."""
    return replace(host.with_cleaning(wiped=None, wiping=None), asked=_without_wipes(host))


def _without_wipes(host: Host) -> tuple[Asked, ...]:
    """Return the calls without wipes that are over: each proves one wipe, and that is written."""
    return tuple(
        a for a in host.asked if a.shows is not effects.Shows.WIPE or a.call_state is CallState.OPEN
    )


def _begun(host: Host, wipe: Asked | None, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Count a wipe that had no effect against a host that is in error, or whose wipe is overdue.

    What is refused says nothing of the host; and calls are lost, so that some may lapse. Where it
    is in error still, the wipe may have begun and failed between two observations.
    """
    if wipe is None or wipe.call_state is not CallState.LAPSED:
        return host
    if resource.condition is Condition.FAILED:
        return struck(host, snapshot, "it is in error after its wipe, too")
    at = snapshot.inventory.observed_at(snapshot.inventory.sightings[ResourceId(host.id)])
    since = max(snapshot.took, snapshot.jumped or snapshot.took)
    row = snapshot.rows.get(host.fleet) if host.fleet is not None else None
    late = is_overdue(host, at, since, row)
    return struck(host, snapshot, "its wipe never began") if late else host


def struck(host: Host, snapshot: AccountSnapshot, why: str) -> Host:
    """A wipe that failed counts against the host: it is tried again later, or left alone."""
    others = tuple(a for a in host.asked if a.shows is not effects.Shows.WIPE)
    strikes = host.health.strikes + 1
    failed = replace(
        host.with_health(strikes=strikes).with_cleaning(wiping=None, wiped=None),
        asked=others,
        error=why,
    )
    alone = wipe_failed(strikes, LADDER)
    if alone is not None:
        left = failed.with_health(quarantined_until=snapshot.now + alone)
        return left.now(HostCondition.QUARANTINED, snapshot.now, f"{why}: strike {strikes}")
    retry_at = snapshot.now + pause_after(strikes, LADDER.pauses)
    paused = replace(failed, retry_at=retry_at, retry_since=snapshot.now)
    return paused.now(HostCondition.DIRTY, snapshot.now, why)
