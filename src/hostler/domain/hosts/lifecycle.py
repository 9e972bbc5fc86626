"""Host lifecycle: are hosts that no machine has wiped, put back, given up, or left alone?

One host's record is moved along with what the world shows; who has a host is said by bindings
alone. The goal that comes out is pursued by the provider's next calls for hosts.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.ids import MachineId, ResourceId, evolve
from hostler.domain.model.calls import Shows
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.hold import Hold, HoldKind
from hostler.domain.model.host import (
    GIVEN_BACK,
    OURS,
    WAITING,
    Host,
    HostCondition,
    HostGoal,
    ReleasePolicy,
    may_come_back,
    renamed_to_end,
)
from hostler.domain.model.machine import RETIRE, RETIRE_ASKED, Asked, CallState, Machine
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import SWITCHED_OFF, Resource, Stage
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition
from hostler.domain.observation import effects
from hostler.domain.policy.clock_jumps import caught_up
from hostler.domain.policy.remediation import LADDER, quarantined_for, settled

from . import allocation, cleaning, delivery, host_keys, idle, power
from . import wiping as wipes
from .allocation import ALONE, FAULT, STRANGER
from .enrolment import described, late_holder, listed, ordered, unrecorded
from .pool import of_pool, taken_by_another

_LOST = timedelta(minutes=5)
"""So long listings lack what is leased before it is lost: they hide hosts for minutes."""


def decide_hosts(snapshot: AccountSnapshot) -> tuple[HostTransition, ...]:
    """Return what becomes of each host of which a record is kept, in the order of their ids.

    A host that we ordered gets its record when it is first seen under the name of its order.
    """
    hosts = (snapshot.hosts[host] for host in sorted(snapshot.hosts))
    moved = [_decided(host, snapshot) for host in hosts if host.id not in snapshot.moving_hosts]
    stand = {transition.host.id: transition.host for transition in moved}
    blocked = (m.host.id for m in moved if m.stands and _blocker(m, HostGoal.ON, snapshot))
    known = replace(snapshot, hosts={**snapshot.hosts, **stand})
    aims = idle.goals(known, frozenset(blocked))
    aimed = (_aimed(one, aims, snapshot) if one.stands else one for one in moved)
    return (*aimed, *ordered(snapshot), *listed(snapshot), *unrecorded(snapshot))


def _decided(host: Host, snapshot: AccountSnapshot) -> HostTransition:
    sighting = snapshot.inventory.sightings.get(ResourceId(host.id))
    resource = sighting.resource if sighting else None
    known = without_future(host, snapshot.now)
    record = delivery.delivered_late(described(known, resource, snapshot), resource, snapshot.now)
    after = record.with_ownership(late=late_holder(host, resource, snapshot))
    transition = HostTransition(before=host, host=after, resource=resource)
    tied = snapshot.bindings.get(host.id)
    if tied is not None and (holder := snapshot.machines.get(tied)) is not None:
        held = allocation.allocated(transition.host, holder, snapshot.now)
        return evolve(transition, host=held)
    if tied is not None and (machine := snapshot.past.get(tied)) is not None:
        return _passed_on(transition, machine, snapshot)
    if tied is not None:
        return _bereft(transition, tied)
    if resource is None:
        return _missing(transition, snapshot)
    transition = evolve(
        transition, host=_closed(transition.host.with_health(missing=None), snapshot)
    )
    if transition.host.goal is not None and names_unknown(
        host, resource, (*snapshot.machines, *snapshot.past)
    ):
        void = replace(wipes.unproved(transition.host), goal=None)
        return replace(transition, host=void.now(HostCondition.DIRTY, snapshot.now, _UNKNOWN))
    return _stands(transition, resource, snapshot)


def _bereft(transition: HostTransition, machine: MachineId) -> HostTransition:
    """Follow a host whose machine no record knows: it is unbound once its end is decided.

    Until then it is for the orphan report: its record was removed, and somebody may use the host.
    """
    if transition.host.goal is not None:
        return replace(transition, unbind=machine)
    return replace(transition, stranded=True)


_UNKNOWN = "its name tells of a machine that no record knows"


def names_unknown(host: Host, resource: Resource, known: Collection[MachineId]) -> bool:
    """Tell whether a host that no machine has bears the name of a tenant that no record knows.

    The records are older than the name: a backup was put back. Somebody may use the host, so that
    it is for the orphan report, and what was proved before says nothing.
    """
    return resource.host.holder != host.machine and effects.is_unknown(resource, known)


def _passed_on(
    transition: HostTransition, machine: Machine, snapshot: AccountSnapshot
) -> HostTransition:
    """Take over a host from a machine that is deleted: it is unbound once this is recorded."""
    if machine.phase is not Phase.DELETED:
        return transition
    host = allocation.had_by(transition.host, machine)
    host = replace(_judged(host, machine, snapshot), power=power.passed_on(host, machine))
    wipe, seen = _wipe_of(machine), transition.resource
    late = seen is not None and effects.came_late(machine, seen.host.stage)
    if machine.reason == Reason.RELEASE_SKIPPED:
        host = host.now(HostCondition.DIRTY, snapshot.now, str(Reason.RELEASE_SKIPPED))
    elif machine.fact(RETIRE) is not None and not late:
        asked = machine.fact(RETIRE_ASKED) is not None
        policy = ReleasePolicy.TERMINATE if asked else host.purchase.policy
        host = replace(host.with_purchase(policy=policy), goal=HostGoal.RETIRED)
        host = host.now(HostCondition.RETIRING, snapshot.now, str(Reason.RETIRED))
        if (named := renamed_to_end(machine.asked)) is not None:
            host = replace(host.with_asked(named), since=named.at)
    elif machine.fact(STRANGER) is not None:
        host = replace(host, goal=HostGoal.CLEAN)  # once its quarantine is over
        host = host.now(HostCondition.QUARANTINED, snapshot.now, machine.reason)
        host = host.with_health(stranger=True)
    elif wipe is not None and wipe.call_state is CallState.DONE:
        host = replace(host.with_cleaning(wiping=wipe.closed), goal=HostGoal.CLEAN).with_asked(wipe)
        host = host.now(HostCondition.WIPING, snapshot.now, machine.reason)
    else:
        ours = (seen is None or _may_be_cleaned(seen, snapshot)) and not late
        host = replace(host, goal=HostGoal.CLEAN if ours else None)
        host = host.now(HostCondition.DIRTY, snapshot.now, machine.reason)
    return replace(transition, host=host, unbind=machine.id)


def _may_be_cleaned(resource: Resource, snapshot: AccountSnapshot) -> bool:
    """Tell whether a host is ours still, by its tag; where our records say it, it always is.

    One that nobody can ask is, until it says otherwise.
    """
    hosts = snapshot.capabilities.hosts
    recorded = hosts is not None and hosts.ownership is Ownership.RECORD
    return recorded or resource.host.stage in OURS | {Stage.NONE}


def _judged(host: Host, machine: Machine, snapshot: AccountSnapshot) -> Host:
    """Count a machine that failed by its host against it; one that was ready clears it."""
    calm = host.with_health(trouble=settled(host.health.trouble))
    if machine.health.was_ready is not None:
        return calm.with_health(strikes=0, struck=())
    if machine.fact(FAULT) is None:
        return calm
    strikes = host.health.strikes + 1
    calm = calm.with_health(struck=(*host.health.struck, *allocation.lists_of(machine)))
    if strikes < LADDER.strikes and machine.fact(ALONE) is None:
        return calm.with_health(strikes=strikes)
    until = snapshot.now + quarantined_for(strikes, LADDER)
    return calm.with_health(strikes=strikes, quarantined_until=until)


def _wipe_of(machine: Machine) -> Asked | None:
    """Return the newest reinstallation that the machine asked for since it was claimed, or None.

    One that was asked for before the claim wiped what others had left, and says nothing of what
    this machine left.
    """
    used = [a.at for a in machine.asked if a.aim in {Stage.CLAIMED, Stage.STANDBY}]
    wipes = [a for a in machine.asked if a.shows is effects.Shows.WIPE]
    newest = max(wipes, key=lambda asked: asked.at, default=None)
    if newest is None or any(at > newest.at for at in used):
        return None
    return newest


def _missing(transition: HostTransition, snapshot: AccountSnapshot) -> HostTransition:
    """A host that two complete observations lack, a gap apart, is gone until one shows it again.

    One that is leased has longer: another may be ordered in its place.
    """
    host = transition.host
    observed = snapshot.inventory.whole.get((host.zone, snapshot.capabilities.host_kind))
    if observed is None or host.condition is HostCondition.ABSENT:
        return transition
    if host.health.missing is None:
        return replace(transition, host=host.with_health(missing=observed))
    since = max(host.health.missing, snapshot.jumped or host.health.missing)
    hosts = snapshot.capabilities.hosts
    longer = _LOST if hosts is not None and hosts.paid_period is not None else timedelta(0)
    if observed - since < max(
        snapshot.absence_gap, snapshot.capabilities.consistency_delay, longer
    ):
        return transition
    absent = host.now(HostCondition.ABSENT, snapshot.now, "complete observations no longer show it")
    cleaned = host.cleaning.cleaned if host.condition is HostCondition.FREE else None
    unproved = absent.with_cleaning(wiped=None, wiping=None, cleaned=cleaned)
    return replace(transition, host=replace(unproved, goal=None, asked=()))


def _closed(host: Host, snapshot: AccountSnapshot) -> Host:
    """Close the open calls that the newest observation proves done, or without effect.

    That a host went off ends what asked for it: the next time it is asked to, and given time, anew.
    """
    sighting = snapshot.inventory.sightings[ResourceId(host.id)]
    at = snapshot.inventory.observed_at(sighting)
    for asked in host.asked:
        if asked.call_state is CallState.OPEN:
            call_state = effects.call_state(
                asked, sighting.resource, at, certain_from(asked, snapshot)
            )
            if call_state is not CallState.OPEN:
                host = host.with_asked(replace(asked, call_state=call_state, closed=snapshot.now))
                if effects.is_unanswered(asked, snapshot):
                    host = replace(host, power=replace(host.power, unanswered=asked.at))
    delay = snapshot.capabilities.consistency_delay
    ours, off = snapshot.capabilities.power is not None, sighting.resource.condition in SWITCHED_OFF
    if ours and off and power.is_settled(host, at, delay):
        return replace(host, asked=tuple(a for a in host.asked if a.shows is not Shows.REST))
    return host


def certain_from(asked: Asked, snapshot: AccountSnapshot) -> datetime:
    """Return from when on an observation shows what became of a call: open, or answered then."""
    begun = asked.closed or asked.at
    begun = begun if asked.epoch == snapshot.epoch else max(begun, snapshot.took)
    begun = max(begun, snapshot.jumped or begun)
    return begun + snapshot.capabilities.consistency_delay_of(asked.kind)


def _stands(
    transition: HostTransition, resource: Resource, snapshot: AccountSnapshot
) -> HostTransition:
    """Move a host that no machine has along with what an observation shows of it."""
    planner: dict[HostCondition, Callable[[Host, Resource, AccountSnapshot], Host]] = {
        HostCondition.COMING: delivery.delivered,
        HostCondition.FREE: cleaning.left,
        HostCondition.DIRTY: _dirty,
        HostCondition.WIPING: cleaning.followed,
        HostCondition.RETIRING: _called_back,
        HostCondition.QUARANTINED: _served,
        HostCondition.ALLOCATED: _found,
        HostCondition.ABSENT: _found,
    }
    stood = planner[transition.host.condition](transition.host, resource, snapshot)
    return replace(transition, host=stood, stands=True)


def _dirty(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """Dirty hosts wait for a claim that wipes them, unless a wipe or the pool is their goal.

    One that waits under our own name is paid for by us: it is wiped at once, for only what is free
    is given up at the end of its window. A machine let go of it before its claim took effect; where
    no record says that it was ours, its name proves nothing.
    """
    if host.goal is None and resource.host.stage in WAITING and host.was_ours:
        return replace(host, goal=HostGoal.CLEAN)
    if host.goal is HostGoal.CLEAN:
        return cleaning.followed(host, resource, snapshot)
    if host.goal is HostGoal.POOLED and resource.host.stage is Stage.POOL:
        return replace(host, goal=None)
    if host.goal is HostGoal.POOLED and (why := taken_by_another(resource, snapshot)):
        return replace(host, goal=None, reason=f"not put into the pool: {why}")
    return host if host.goal is not None else cleaning.unused(host, resource, snapshot)


def _served(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """A quarantine ends with another wipe; its strikes stay, so that one more failure is enough."""
    del resource
    if host.quarantined(snapshot.now):
        return host
    tried = replace(wipes.unproved(host).with_health(quarantined_until=None), goal=HostGoal.CLEAN)
    return tried.now(HostCondition.DIRTY, snapshot.now, "its quarantine ended")


def _called_back(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """A host whose end is only scheduled comes back where machines lack hosts.

    One that a person puts back into its pool is the pool's again, as if they had asked us for it.
    """
    if _is_put_back(host, resource, snapshot):
        asked = tuple(asked for asked in host.asked if asked.call_state is CallState.OPEN)
        pooled = replace(of_pool(host, host.ownership.pool, resource), goal=None, asked=asked)
        return pooled.now(HostCondition.DIRTY, snapshot.now, "put back into its pool by hand")
    if not _is_wanted_back(host, resource, snapshot):
        return host
    back = replace(
        wipes.unproved(host).with_purchase(delivered=host.purchase.delivered or snapshot.now),
        goal=HostGoal.CLEAN,
    )
    return back.now(HostCondition.DIRTY, snapshot.now, "called back: machines lack hosts")


def _is_put_back(host: Host, resource: Resource, snapshot: AccountSnapshot) -> bool:
    """Tell whether a host is in its pool after we renamed it to give it up, and nothing ends it.

    Its machine may have done that. An older observation shows the name from before ours.
    """
    ended = renamed_to_end(host.asked, host.since)
    if resource.host.stage is not Stage.POOL or resource.host.scheduled or ended is None:
        return False
    observed = snapshot.inventory.observed_at(snapshot.inventory.sightings[ResourceId(host.id)])
    return observed > certain_from(ended, snapshot)


def _is_wanted_back(host: Host, resource: Resource, snapshot: AccountSnapshot) -> bool:
    """Tell whether a host whose end is only scheduled had better stay.

    The fleet that had it last lacks hosts, or the one that bought it: for both it counts as one.
    """
    lacks = host.fleet in snapshot.starved or host.purchase.buyer in snapshot.starved
    deletion = resource.host.stage is Stage.RETIRING
    return lacks and deletion and may_come_back(host, snapshot.now)


def _found(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host:
    """A host that no binding explains, or that came back: dirty. The reclaim is asked about it.

    What was to become of one that came back goes on where its name says so. A machine may have used
    it, and have let go of it for another one when its start was tried again, or it was yet to be
    cleaned when it left: where one of ours would pass for clean as it is listed, it is cleaned
    first.
    """
    if (resumed := _resumed(host, resource, snapshot)) is not None:
        return resumed
    hosts, left = snapshot.capabilities.hosts, host.condition is HostCondition.ALLOCATED
    used = left or (host.machine is not None and host.cleaning.cleaned is None)
    trusted = hosts is not None and hosts.trusts_new
    cleaned = used and trusted and _may_be_cleaned(resource, snapshot)
    dirty = replace(wipes.unproved(host), goal=HostGoal.CLEAN if cleaned else None)
    return dirty.now(HostCondition.DIRTY, snapshot.now, "no machine has it")


def _resumed(host: Host, resource: Resource, snapshot: AccountSnapshot) -> Host | None:
    """Return a host as it was before, by the name that we gave it, where that says what it was.

    Listings lacked it for a while: where it is the pool's, others may have taken it since it was
    put back there; but not where a person asked that it goes. A host that is gone never comes back:
    the listings were wrong. Or a machine gave it back whose start is tried again.
    """
    own = resource.host.holder in {host.machine, host.purchase.order} - {None}
    asked = host.purchase.policy is ReleasePolicy.TERMINATE and resource.host.stage is Stage.POOL
    again, now = "listings show it again", snapshot.now
    if host.condition is HostCondition.ALLOCATED:
        if not own or resource.host.stage not in GIVEN_BACK:
            return None
        again = str(Reason.MADE_AGAIN)
    elif not (asked or (own and host.retires)):
        return None
    match resource.host.stage:
        case Stage.RETIRING | Stage.POOL:
            given_up = replace(host, goal=HostGoal.RETIRED)
            return given_up.now(HostCondition.RETIRING, now, again)
        case Stage.WIPING | Stage.QUARANTINED:
            dirty = replace(wipes.unproved(host), goal=HostGoal.CLEAN)
            return dirty.now(HostCondition.DIRTY, now, again)
        case Stage.ORDERED if host.purchase.delivered is None:
            return host.now(HostCondition.COMING, now, again)
        case _:
            return None


def _aimed(
    transition: HostTransition, aims: idle.Idle, snapshot: AccountSnapshot
) -> HostTransition:
    """Pursue the host's goal, unless something blocks it: then it stays as it is, and is no later.

    What blocked it is no fault of the host's, however long it lasted: no time of it counts.
    """
    host = transition.host
    apart = host.condition is HostCondition.QUARANTINED and snapshot.capabilities.power is not None
    goal = (None if apart else host.goal) or aims.goals.get(host.id)
    blocker = _blocker(transition, goal, snapshot)
    pursued = idle.pursued(host, idle.course(host, goal) if not blocker else None, snapshot)
    transition = evolve(transition, host=pursued, blocker=blocker)
    late = goal is HostGoal.ON and pursued.power.begun is None
    waits = late or (host.goal is None and host.id in aims.waits)
    return transition if blocker or waits else evolve(transition, goal=goal)


def _blocker(transition: HostTransition, goal: HostGoal | None, snapshot: AccountSnapshot) -> str:
    """Return why nothing is done for a host's goal: its fleet is paused or protected.

    Nothing is done either where it shows a key that is not its own, or a person works on it.
    """
    host, resource = transition.host, transition.resource
    hold = host.held(snapshot.now)
    if hold is not None and (hold.kind is HoldKind.MAINTENANCE or _is_spared(host, goal, hold)):
        return f"it is {hold}"
    blocker = snapshot.protected.get(host.fleet, "") if host.fleet and goal else ""
    if resource is None or blocker:
        return blocker
    return host_keys.stranger(host, resource, snapshot.capabilities, snapshot.now)


def _is_spared(host: Host, goal: HostGoal | None, hold: Hold) -> bool:
    """Tell whether a host that is to go, and that nobody asked to give up, is one somebody wants.

    It was ordered, and its machine ended: it stays until the hold does.
    """
    asked = host.purchase.policy is ReleasePolicy.TERMINATE
    return goal is HostGoal.RETIRED and hold.kind is HoldKind.RESERVED and not asked


def without_future(host: Host, now: datetime) -> Host:
    """Bring times that lie in the future back to now: the clock jumped back since they were set.

    Whatever counts from them begins anew, and does not wait until the clock has caught up.
    """
    missing, cleaned, power = host.health.missing, host.cleaning, host.power
    key = host.bootstrap.host_key
    proofs = (cleaned.wiping, cleaned.wiped, cleaned.cleaned, key.at if key else None)
    switched = (power.since, power.started, power.begun, power.exercised, power.unanswered)
    calls = (at for asked in host.asked for at in (asked.at, asked.closed))
    times = (host.since, host.unknown_since, host.retry_since, missing, *proofs, *switched, *calls)
    past = caught_up(times, now)
    if past is None:
        return host
    known = replace(
        host,
        since=past(host.since),
        unknown_since=past(host.unknown_since),
        retry_at=past.end(host.retry_at, host.retry_since),
        retry_since=past(host.retry_since),
        power=replace(
            power,
            since=past(power.since),
            started=past(power.started),
            begun=past(power.begun),
            exercised=past(power.exercised),
            unanswered=past(power.unanswered),
        ),
        asked=tuple(replace(a, at=past(a.at), closed=past(a.closed)) for a in host.asked),
    )
    quarantined = past.end(host.health.quarantined_until, host.since)
    known = known.with_health(missing=past(missing), quarantined_until=quarantined)
    known = known.with_cleaning(
        wiping=past(cleaned.wiping), wiped=past(cleaned.wiped), cleaned=past(cleaned.cleaned)
    )
    dated = replace(key, at=past(key.at)) if key else None
    return known.with_bootstrap(host_key=dated)
