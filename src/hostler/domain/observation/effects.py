"""Effects: what an observation proves of a call on a host that outlives its machines.

A name that tells the stage which was asked for, a wipe that is seen: that is proof. A newer date is
none, nor is an answer to a reinstallation.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import TENANT
from hostler.domain.model.machine import LEFT, Asked, CallState, Machine, Place
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition, HostFacts, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, Snapshot

SENT_LATE = timedelta(minutes=10)
"""So long after a call was recorded its process may stand still, then go on and send it."""

_LEAVING = frozenset({Stage.WIPING, Stage.RETIRING})
"""The aims of the last name that a machine gives its host: from then on it is the host's own."""


def call_state(
    asked: Asked, resource: Resource | None, observed_at: datetime | None, sure: datetime
) -> CallState:
    """Return how an open call on a host stands, given the host as observed at `observed_at`.

    `resource` is None where that observation was complete and the host not there; `sure` is from
    when on an observation proves that the call had no effect.
    """
    if observed_at is None or observed_at <= asked.at:
        return CallState.OPEN
    if (
        resource is not None
        and _has_effect(asked, resource)
        and not _landed_late(asked, resource, sure)
    ):
        return CallState.DONE
    return CallState.LAPSED if observed_at >= sure else CallState.OPEN


def _has_effect(asked: Asked, resource: Resource) -> bool:
    match asked.shows:
        case Shows.OWNER_TAG:
            return resource.host.stage == asked.aim
        case Shows.WIPE:
            return resource.condition is Condition.WIPING or _another(asked.witness, resource)
        case Shows.POWER | Shows.REST:
            return resource.condition in _EFFECTS[asked.shows]
        case _:
            return False


def _landed_late(asked: Asked, resource: Resource, sure: datetime) -> bool:
    """Tell whether a claim had its effect after it could be believed, by the host's own last date.

    That date proves nothing else: here it can only speak against a claim.
    """
    updated = resource.host.updated
    return updated is not None and asked.aim is Stage.PENDING and updated > sure


def _another(witness: str, resource: Resource) -> bool:
    """Tell whether what a wipe changes is another than before the call; unknown is no proof."""
    return bool(witness) and bool(resource.host.witness) and resource.host.witness != witness


def witness_of(machine: Machine) -> str:
    """Return what its host showed, that a wipe changes, when last tagged as in use or standby.

    Empty where that is unknown, or the machine asked for a wipe since.
    """
    owner_tag = _kept_as(machine)
    if owner_tag is None or any(
        a.shows is Shows.WIPE and a.at > owner_tag.at for a in machine.asked
    ):
        return ""
    return owner_tag.witness


def was_wiped(machine: Machine, resource: Resource, at: datetime) -> bool:
    """Tell whether an observation begun then shows that somebody wiped a host in use."""
    owner_tag = _kept_as(machine)
    after = owner_tag is not None and at > (owner_tag.closed or owner_tag.at)
    return (
        after and machine.health.was_ready is not None and _another(witness_of(machine), resource)
    )


def witnessed(machine: Machine, resource: Resource, at: datetime) -> Machine:
    """Return the record with what its host shows while that was sealed at its last owner tag."""
    owner_tag, witness = _kept_as(machine), resource.host.witness
    if (
        owner_tag is None
        or owner_tag.witness
        or not witness
        or at <= (owner_tag.closed or owner_tag.at)
    ):
        return machine
    mine = resource.owner_tag is not None and resource.host.stage == owner_tag.aim
    wiped = any(a.shows is Shows.WIPE and a.at > owner_tag.at for a in machine.asked)
    if not mine or wiped or owner_tag.call_state is not CallState.DONE:
        return machine
    return machine.with_asked(replace(owner_tag, witness=witness))


def _kept_as(machine: Machine) -> Asked | None:
    """Return the newest call that tagged the host as in use or in standby."""
    owner_tags = (
        a
        for a in machine.asked
        if a.shows is Shows.OWNER_TAG and a.aim in {Stage.CLAIMED, Stage.RESTED}
    )
    return max(owner_tags, key=lambda asked: asked.at, default=None)


def came_late(machine: Machine, stage: Stage) -> bool:
    """Tell whether a host shows a claim that was given up as without effect, or was refused since.

    Its effect came beyond the consistency delay: somebody else may have claimed the host meanwhile,
    and use it.
    """
    if stage is not Stage.PENDING:
        return False
    claims = (asked for asked in machine.asked if asked.aim is Stage.PENDING)
    return any(asked.call_state in {CallState.LAPSED, CallState.REFUSED} for asked in claims)


def claimed_late(machine: Machine, resource: Resource) -> bool:
    """Tell whether a host shows a claim of this machine that came late, also once it let go of it.

    Somebody else may have claimed the host meanwhile, and may use it.
    """
    if resource.host.stage is not Stage.PENDING:
        return _came_back(machine, resource)
    return came_late(machine, Stage.PENDING) or machine.fact(f"{LEFT} {resource.id}") is not None


def _came_back(machine: Machine, resource: Resource) -> bool:
    """Tell whether a host bears a tenant's name again of a machine that had given it another since.

    That machine is deleted, and its host was wiped and put back: an old rename had its effect now.
    """
    was_released = any(
        asked.aim in _LEAVING and asked.call_state is CallState.DONE for asked in machine.asked
    )
    return machine.phase is Phase.DELETED and was_released and resource.host.stage in TENANT


def is_unknown(resource: Resource, known: Collection[MachineId]) -> bool:
    """Tell whether a host bears the name of a tenant of ours that is not among those known."""
    holder = resource.host.holder
    return holder is not None and resource.host.stage in TENANT and holder not in known


def certain_from(asked: Asked, snapshot: Snapshot) -> datetime:
    """Return from when on an observation can prove that an open call had no effect.

    A call of an older epoch may have been begun as late as the take-over.
    """
    begun = asked.at if asked.epoch == snapshot.epoch else max(asked.at, snapshot.took)
    return steady(begun, snapshot) + snapshot.capabilities.consistency_delay_of(asked.kind)


def is_unanswered(asked: Asked, snapshot: Snapshot | AccountSnapshot) -> bool:
    """Tell whether a call to go off that an observation closes may yet be sent.

    Its process lost its lease before the answer: it may stand still between its last check and the
    call, so that nothing but time bars it from switching off what is on again. Who gave its lease
    back sends nothing more; of epochs before the last one nobody knows how they ended.
    """
    if asked.shows is not Shows.REST or asked.epoch == snapshot.epoch:
        return False
    return snapshot.took_over or asked.epoch < snapshot.epoch - 1


def may_be_sent_until(
    asked: datetime | None, snapshot: Snapshot | AccountSnapshot
) -> datetime | None:
    """Return until when a call of that time, unanswered, may yet be sent; None where it is over."""
    until = steady(asked, snapshot) + SENT_LATE if asked is not None else None
    return until if until is not None and until > snapshot.now else None


def steady(at: datetime, snapshot: Snapshot | AccountSnapshot) -> datetime:
    """Return a recorded time as it can be used: counted again where the clock jumped since."""
    return max(at, snapshot.jumped) if snapshot.jumped else at


def call_state_of(machine: Machine, asked: Asked, snapshot: Snapshot) -> CallState:
    """Return how a call of a machine's stands; one that no observation has judged yet is open."""
    if asked.shows.is_of_host:
        return _host_call_state(machine, asked, snapshot)
    place = machine.place(asked.slot)
    if asked.shows is not Shows.RESOURCE:
        return _power_call_state(machine, place, asked, snapshot)
    if any(known.attempt == asked.attempt for known in place.known):
        return CallState.DONE
    return _lapsed_in_time(machine, asked, snapshot)


def _lapsed_in_time(machine: Machine, asked: Asked, snapshot: Snapshot) -> CallState:
    """Judge a call of which nothing is shown: a complete, late enough observation ends it."""
    covered = snapshot.inventory.covered(machine.offer.zone, asked.slot.kind, machine.id)
    return (
        CallState.LAPSED
        if covered is not None and covered >= certain_from(asked, snapshot)
        else CallState.OPEN
    )


def _host_call_state(machine: Machine, asked: Asked, snapshot: Snapshot) -> CallState:
    """Judge a call on the machine's host by the host itself, which is observed in any stage."""
    sighting = snapshot.inventory.sightings.get(ResourceId(machine.host or ""))
    if sighting is None:
        observed = snapshot.inventory.covered(
            machine.offer.zone, snapshot.capabilities.main.kind, machine.id
        )
        return call_state(asked, None, observed, certain_from(asked, snapshot))
    resource = sighting.resource
    if asked.shows is Shows.OWNER_TAG and resource.host.holder != machine.id:
        resource = replace(resource, host=HostFacts())
    return call_state(
        asked, resource, snapshot.inventory.observed_at(sighting), certain_from(asked, snapshot)
    )


def _power_call_state(
    machine: Machine, place: Place, asked: Asked, snapshot: Snapshot
) -> CallState:
    bound = next((known for known in place.known if known.id == place.bound), None)
    if bound is None or bound.deleted:
        return _lapsed_in_time(machine, asked, snapshot)
    sighting = snapshot.inventory.sightings.get(bound.id)
    if sighting is None or (observed_at := snapshot.inventory.observed_at(sighting)) < asked.at:
        return CallState.OPEN
    if sighting.resource.condition in _EFFECTS[asked.shows]:
        return CallState.DONE
    if sighting.resource.condition in _NO_EFFECT[asked.shows] and observed_at >= certain_from(
        asked, snapshot
    ):
        return CallState.LAPSED
    return CallState.OPEN


_EFFECTS: Mapping[Shows, frozenset[Condition]] = {
    Shows.POWER: frozenset({Condition.STARTING, Condition.UP}),
    Shows.REST: frozenset({Condition.STOPPING, Condition.STANDBY, Condition.OFF}),
}


_NO_EFFECT: Mapping[Shows, frozenset[Condition]] = {
    Shows.POWER: frozenset({Condition.OFF, Condition.STANDBY}),
    Shows.REST: frozenset({Condition.UP}),
}
