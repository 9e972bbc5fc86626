"""Cleaning: when is a host that a machine has used clean again, by what its provider can do?

A wipe is followed in `wiping`. All else is proved by one observation begun after the host was let
go of: that it was off, or that its cleaning ended well; what is trusted needs none.
"""

from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Cleaning, HostCapabilities
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.machine import CallState
from hostler.domain.model.resource import Condition, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot
from hostler.domain.policy.bootstrap_data import DataRun
from hostler.domain.policy.revisions import Drift

from . import holds, idle, wiping


def followed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Return the record of a host whose goal is to be clean, as an observation shows it."""
    if _of(snapshot).cleaning is Cleaning.WIPE:
        return wiping.wiped(host, resource, snapshot)
    if host.cleaning.wiped is None:
        host = _proved(host, resource, snapshot)
    if host.cleaning.wiped is None or resource.host.stage is not Stage.POOL:
        return host
    if host.quarantined(snapshot.now):
        return host.now(HostCondition.QUARANTINED, snapshot.now, f"{host.health.strikes} strikes")
    return replace(host, goal=None).now(HostCondition.FREE, snapshot.now, "clean")


def unused(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Return a host of which nothing is wanted: as its owner lists it, it is clean where trusted.

    Where only a proved wipe makes it clean, it waits for a claim, which wipes it first.
    """
    if not _of(snapshot).trusts_new or resource.host.stage is not Stage.POOL:
        return host
    fresh = host.with_cleaning(wiped=snapshot.now, cleaned=snapshot.now)
    return fresh.now(HostCondition.FREE, snapshot.now, "as its owner lists it")


def left(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Follow a free host; one that somebody else has tagged since is nobody's to hand out.

    Of one that nobody can ask nothing is known: it stays as it is, and `claims` hands it to nobody.
    What a person had for a while is cleaned as what a machine had, unless its owner is trusted.
    """
    if holds.was_had(host, snapshot.now, snapshot.capabilities):
        return holds.handed_back(host, snapshot.now)
    if _of(snapshot).cleaning is Cleaning.WIPE:
        return wiping.left(host, resource, snapshot)
    if resource.host.stage in {Stage.POOL, Stage.NONE}:
        return idle.followed(host, resource)
    void = replace(wiping.unproved(host), goal=None)
    return void.now(HostCondition.DIRTY, snapshot.now, "somebody else took it")


def _proved(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Judge by an observation that nothing that was asked for before can change any more.

    What was cleaned carries no setup script any more, for all that we know.
    """
    at = snapshot.inventory.observed_at(snapshot.inventory.sightings[ResourceId(host.id)])
    since = host.since or snapshot.took
    unsure = any(asked.call_state is CallState.OPEN for asked in host.asked)
    if unsure or at <= since + snapshot.capabilities.consistency_delay:
        return host
    if _is_proof(resource, _of(snapshot).cleaning):
        proved = host.with_cleaning(wiped=snapshot.now, cleaned=snapshot.now)
        trusted = _of(snapshot).cleaning is Cleaning.TRUSTED
        return (
            proved if trusted else proved.with_bootstrap(applied="", drift=Drift(), run=DataRun())
        )
    if _has_failed(host, resource, at, snapshot):
        return wiping.struck(host, snapshot, "it could not be cleaned")
    return host


def _has_failed(host: Host, resource: Resource, at: datetime, snapshot: AccountSnapshot) -> bool:
    """Tell whether an observation shows a failure that does not count yet.

    What was observed before it is to be tried again tells of the failure that counts already.
    """
    if host.retry_at is not None and at < host.retry_at:
        return False
    return resource.condition is Condition.FAILED and _was_tried(host, at, snapshot)


def _was_tried(host: Host, at: datetime, snapshot: AccountSnapshot) -> bool:
    """Tell whether an observation may show how the newest cleaning ended: each counts once."""
    if _of(snapshot).cleaning is not Cleaning.COMMAND:
        return True
    tries = (asked.closed or asked.at for asked in host.asked if asked.shows is Shows.WIPE)
    return any(at > tried for tried in tries)


def _is_proof(resource: Resource, cleaning: Cleaning) -> bool:
    match cleaning:
        case Cleaning.POWER_CYCLE:
            return resource.condition in {Condition.OFF, Condition.STANDBY}
        case Cleaning.COMMAND:
            return resource.host.cleaned
        case Cleaning.TRUSTED:
            return True
        case Cleaning.WIPE:
            return False


def _of(snapshot: AccountSnapshot) -> HostCapabilities:
    return snapshot.capabilities.hosts or HostCapabilities()
