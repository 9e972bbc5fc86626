"""Holds: what a person asks of a host for a while, and that it is switched off and on."""

from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.ids import AccountName, HostId, ResourceId
from hostler.domain.model.commands import SaveHost
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Request, RequestKind, Snapshot

from . import wiping

KINDS = frozenset({RequestKind.HOLD, RequestKind.LIFT, RequestKind.CYCLE})
"""The requests that leave a host where it is: a machine may have it, whatever its name says."""

_POWER = frozenset({HoldKind.ON, HoldKind.OFF})
_HAD = frozenset({HoldKind.RESERVED, HoldKind.MAINTENANCE})
"""The holds by which a person has a host, and may use it."""


def standing(record: Host, snapshot: Snapshot) -> dict[RequestKind, str]:
    """Return which of these requests still stand on a host's record, in words."""
    found = dict[RequestKind, str]()
    if (hold := record.held(snapshot.now)) is not None:
        found[RequestKind.HOLD] = f"that it is {hold}"
    if record.power.cycle is not None:
        found[RequestKind.CYCLE] = "its power cycle"
    return found


def impossible(request: Request, host: HostId, snapshot: Snapshot) -> str:
    """Return why a host cannot be held like this, or cycled; empty where it can."""
    cycles = request.kind is RequestKind.CYCLE
    if (cycles or request.hold in _POWER) and snapshot.capabilities.power is None:
        return "its power is not ours to decide"
    if request.kind is RequestKind.HOLD and (request.hold is None or request.until is None):
        return "it was not said how it is held, and until when"
    return _not_cycled(host, snapshot) if cycles else ""


def was_had(host: Host, now: datetime, capabilities: Capabilities) -> bool:
    """Tell whether a person had a free host until its hold ended, and may have used it."""
    return _has(host, capabilities) and host.hold is not None and now >= host.hold.until


def _has(host: Host, capabilities: Capabilities) -> bool:
    """Tell whether a person has, or had, a host that is not clean as its owner leaves it."""
    trusts = capabilities.hosts is not None and capabilities.hosts.trusts_new
    hold = host.hold if host.condition is HostCondition.FREE and not trusts else None
    if hold is None or hold.kind not in _HAD:
        return False
    return host.since is None or host.since < hold.until


def handed_back(host: Host, now: datetime) -> Host:
    """Return a free host that a person had: the next machine that takes it has it wiped."""
    void = replace(wiping.unproved(host), hold=None)
    return void.now(HostCondition.DIRTY, now, "a person had it")


def saved(account: AccountName, snapshot: Snapshot) -> Iterator[SaveHost]:
    """Yield the record of each host as these requests leave it, whoever has the host."""
    for request in snapshot.requests:
        if request.kind not in KINDS or request.host is None:
            continue
        record = snapshot.hosts.get(request.host) or _unrecorded(account, request.host, snapshot)
        if record is not None:
            yield SaveHost(host=_changed(record, request, snapshot))


def _unrecorded(account: AccountName, host: HostId, snapshot: Snapshot) -> Host | None:
    """Return a first record of a host that observations show, or None."""
    resource = snapshot.inventory.resource(ResourceId(host))
    if resource is None:
        return None
    return Host(id=host, account=account, zone=resource.zone, type=resource.type)


def _changed(record: Host, request: Request, snapshot: Snapshot) -> Host:
    match request.kind:
        case RequestKind.HOLD if request.hold is not None and request.until is not None:
            longest = request.at + snapshot.fleet.timers.longest_protection
            until = min(request.until, longest)
            hold = Hold(kind=request.hold, until=until, actor=request.actor, why=request.why)
            if _has(record, snapshot.capabilities) and hold.kind not in _HAD:
                record = handed_back(record, snapshot.now)
            return replace(record, hold=hold)
        case RequestKind.LIFT if _has(record, snapshot.capabilities):
            return handed_back(record, snapshot.now)
        case RequestKind.LIFT:
            return replace(record, hold=None)
        case RequestKind.CYCLE:
            return replace(record, power=replace(record.power, cycle=HostGoal.OFF))
        case _:
            return record


def _not_cycled(host: HostId, snapshot: Snapshot) -> str:
    """Return why a host is not switched off and on; empty where that can be done."""
    resource, record = snapshot.inventory.resource(ResourceId(host)), snapshot.hosts.get(host)
    hold = record.held(snapshot.now) if record is not None else None
    if hold is not None and hold.kind is not HoldKind.ON:
        return f"it is {hold}: lift that first"
    if resource is None or resource.condition is not Condition.UP:
        return "it is not known to be on: only what is on is switched off and on"
    return ""
