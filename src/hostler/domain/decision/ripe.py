"""Ripe: which requests can be answered now, and which stay recorded until their subject is ready?

A request about one subject never overtakes an earlier one that waits, where both are about how the
subject runs: they are carried out in the order in which they were accepted.
"""

from collections.abc import Iterator

from hostler.domain.ids import FleetName, HostId, MachineId, ResourceId
from hostler.domain.model.host import OTHERS
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.resource import Condition, Resource
from hostler.domain.model.snapshot import AccountSnapshot, Request, RequestKind

_POWER = frozenset({RequestKind.STANDBY, RequestKind.WAKE})
_COMES = frozenset({Phase.PENDING, Phase.STARTING})


def ripe(account: AccountSnapshot, fleet: FleetName) -> Iterator[Request]:
    """Yield the fleet's requests that can be answered now, in their order; the others wait.

    What names a fleet whose machines it takes over waits until it has them.
    """
    waiting, renamed = set[MachineId | HostId](), account.renamed
    moving = {row.adopts for row in account.rows.values()}
    for request in account.requests:
        if renamed.get(request.fleet, request.fleet) != fleet or request.fleet in moving:
            continue
        behind = request.kind in _POWER and request.machine in waiting
        behind = behind or (request.host is not None and request.host in waiting)
        if not behind and _is_ripe(request, account):
            yield request
        else:
            waiting |= {one for one in (request.machine, request.host) if one is not None}


def _is_ripe(request: Request, account: AccountSnapshot) -> bool:
    if request.host is not None:
        return _is_host_seen(request, request.host, account)
    if request.machine is None:
        return True
    if request.machine in account.moving:
        return False
    machine = account.machines.get(request.machine)
    return _is_settled(machine, request.kind) if machine else not _is_to_come(request, account)


def _is_host_seen(request: Request, host: HostId, account: AccountSnapshot) -> bool:
    """Tell whether what is asked of a host can be done, or be found to be about none that there is.

    What speaks against it must be as new as the request; that there is no such host, newer by as
    much as lists may lag, for who asked has seen it. One that is dated in the future was written
    before the clock jumped back.
    """
    asked = request.at if request.at <= account.now else account.steady
    if host in account.moving_hosts:
        return False
    sighting = account.inventory.sightings.get(ResourceId(host))
    if sighting is not None:
        older = account.inventory.observed_at(sighting) <= asked
        return not older or not speaks_against(request.kind, sighting.resource)
    kind, settled = account.capabilities.host_kind, asked + account.capabilities.consistency_delay
    observations = [at for (_, observed), at in account.inventory.whole.items() if observed == kind]
    return bool(observations) and all(at > settled for at in observations)


def speaks_against(kind: RequestKind, host: Resource) -> bool:
    """Tell whether what was last seen of a host is a reason to refuse what is asked of it.

    Retired is none whose name somebody else wrote; switched off and on is what is on.
    """
    if kind is RequestKind.CYCLE:
        return host.condition is not Condition.UP
    return kind is RequestKind.RETIRE and host.host.stage in OTHERS


def _is_settled(machine: Machine, kind: RequestKind) -> bool:
    """Tell whether a machine is done with what is under way, where that is asked to change."""
    if kind not in _POWER or machine.deletion is not None:
        return True
    if kind is RequestKind.STANDBY:
        return machine.phase not in _COMES
    return machine.phase is not Phase.STOPPING or machine.goal is not Goal.STANDBY


def _is_to_come(request: Request, account: AccountSnapshot) -> bool:
    """Tell whether a machine that is not on record is still to be made, as was asked.

    One that was only asked for by its id is not made at all where its deletion is asked for.
    """
    makers = {RequestKind.POOL_ADOPT}
    if request.kind is not RequestKind.DELETE:
        makers.add(RequestKind.GROW)
    return any(
        earlier.kind in makers
        and earlier.number < request.number
        and request.machine in earlier.machines
        for earlier in account.requests
    )
