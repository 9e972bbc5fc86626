"""Planner: the pure half: a machine claims its host and lets go of it; the host is cleaned, freed.

Every call names the very claim that it expects to find: done twice, or late, it changes no other.
"""

from functools import partial

from msgspec.structs import replace

from hostler.domain.ids import FleetName, HostId, InstallationId, Zone
from hostler.domain.model.calls import Call, Effect, Shows
from hostler.domain.model.host import HOST, Host, HostGoal, allocation_of
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Stage

from .claims import Claim, claim_of
from .reading import SERVER

CLAIM, RELEASE = "host.claim", "host.release"
CLEAN, FREE = "host.clean", "host.free"


def next_calls(
    goal: Goal, machine: Machine, resources: tuple[Resource, ...], installation: InstallationId
) -> tuple[Call, ...]:
    """Return the calls that may be made now for a machine; nothing without a host of its own."""
    if machine.host is None:
        return ()
    mine = allocation_of(machine.host, machine.id)
    resource = next((resource for resource in resources if resource.id == mine), None)
    claim = claim_of(resource.note("claim")) if resource else None
    claim = claim or Claim(installation=installation, fleet=machine.fleet, machine=machine.id)
    if goal is Goal.PRESENT and resource is None and machine.bound(SERVER) is None:
        call = _call(CLAIM, machine.host, claim, machine.fleet, machine.offer.zone)
        return (replace(call, once=True, shows=Shows.OWNER_TAG, aim=Stage.CLAIMED),)
    if goal is not Goal.ABSENT or resource is None or not _is_certain(resource):
        return ()
    call = _call(RELEASE, machine.host, claim, machine.fleet, resource.zone)
    return (replace(call, effect=Effect.DESTROY, target=resource.id),)


def _is_certain(resource: Resource) -> bool:
    return resource.condition is not Condition.UNKNOWN or resource.status == "promised"


def host_calls(
    goal: HostGoal, host: Host, resource: Resource, command: str | None
) -> tuple[Call, ...]:
    """Return the calls that may be made now for a host that no machine has.

    `command` cleans it; where it is empty, the host is clean as it is left, and where it is None,
    nobody can say: it stays as it is.
    """
    claim = claim_of(resource.note("claim"))
    ours = claim is not None and resource.host.stage == claim.stage
    if goal is not HostGoal.CLEAN or claim is None or not (ours and _is_certain(resource)):
        return ()
    step = partial(_step, resource, claim, cleaned_for(host, resource))
    if command == "" or host.cleaning.wiped is not None:
        return (step(FREE, Stage.POOL),)
    if command is None:
        return ()
    if claim.stage is Stage.CLAIMED:
        return (step(RELEASE, Stage.WIPING),)
    if resource.host.cleaned or resource.condition is Condition.WIPING:
        return ()
    return (replace(step(CLEAN, Stage.NONE), shows=Shows.WIPE, witness=resource.host.witness),)


def cleaned_for(host: Host, resource: Resource) -> FleetName:
    """Return the fleet that says how a host is cleaned; its claim may bear that one's former name.

    A host without a record is cleaned as its claim says.
    """
    return host.fleet or resource.host.fleet or FleetName("")


def _step(resource: Resource, claim: Claim, fleet: FleetName, kind: str, aim: Stage) -> Call:
    call = _call(kind, HostId(resource.id), claim, fleet, resource.zone)
    step = replace(call, effect=Effect.DESTROY, slot=HOST, target=resource.id, once=True)
    return replace(step, shows=Shows.OWNER_TAG, aim=aim)


def _call(kind: str, host: HostId, claim: Claim, fleet: FleetName, zone: Zone) -> Call:
    args = (("host", host), ("claim", claim.line), ("fleet", fleet))
    return Call(kind=kind, slot=SERVER, zone=zone, effect=Effect.MAKE, args=args)
