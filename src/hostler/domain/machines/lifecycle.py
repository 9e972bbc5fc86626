"""Lifecycle: what has the world already done? Each machine's record is moved along with it."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.hosts import allocation, claims
from hostler.domain.model.calls import Refusal
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import LOCKED, Machine, Offer
from hostler.domain.model.phases import PHASES, Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Resource, Scope
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition, event, move
from hostler.domain.observation import effects
from hostler.domain.observation.absence import next_question
from hostler.domain.observation.blockers import is_ending, protection
from hostler.domain.observation.certainty import all_gone, survey

from . import bootstrap, drain, failure, probing, retry, rollout, standby

_ON_ITS_WAY = (Phase.READY, Phase.STARTING, Phase.DRAINING)


def follow(machine: Machine, snapshot: Snapshot, *, wave: bool) -> Transition:
    """Return the machine's step after the world's word: phases that observation decides."""
    known, resources, unissued = survey(machine, snapshot)
    transition = Transition(
        before=machine,
        machine=_priced(known, resources, snapshot),
        resources=resources,
        unissued=unissued,
    )
    transition = drain.noted(_note_status(transition, snapshot), snapshot)
    match transition.machine.phase:
        case Phase.READY | Phase.DRAINING:  # most are: it is asked first
            return _running(transition, snapshot, wave=wave)
        case Phase.STARTING:
            return _starting(transition, snapshot, wave=wave)
        case Phase.FAILED:
            return _broken(transition, snapshot)
        case Phase.STOPPING:
            rests = transition.machine.goal is Goal.STANDBY
            return (
                standby.stopping(transition, snapshot) if rests else _deletion(transition, snapshot)
            )
        case Phase.STANDBY:
            return standby.resting(transition, snapshot)
        case Phase.PENDING | Phase.DELETED:
            return transition


def _priced(machine: Machine, resources: tuple[Resource, ...], snapshot: Snapshot) -> Machine:
    """Return the record with the price of what is seen; what was not observed keeps its price."""
    price = 0.0
    for resource in resources:
        if resource.status == "promised":
            return machine
        price += resource.price
    billing = machine.billing.repriced(price, snapshot.now)
    return machine if billing is machine.billing else replace(machine, billing=billing)


def _note_status(transition: Transition, snapshot: Snapshot) -> Transition:
    resource = transition.main(snapshot)
    if resource is None or resource.status == "promised":
        return transition
    transition = (
        _witnessed(transition, resource, snapshot) if snapshot.capabilities.hosts else transition
    )
    machine = transition.machine
    address = resource.address or machine.address
    if machine.observed == resource.status and machine.address == address:
        return transition
    return replace(transition, machine=replace(machine, observed=resource.status, address=address))


def _witnessed(transition: Transition, resource: Resource, snapshot: Snapshot) -> Transition:
    """Write down what a wipe by somebody else would change, where that was sealed before."""
    sighting = snapshot.inventory.sightings.get(resource.id)
    if sighting is None:
        return transition
    machine = effects.witnessed(
        transition.machine, resource, snapshot.inventory.observed_at(sighting)
    )
    return transition if machine is transition.machine else replace(transition, machine=machine)


def _starting(transition: Transition, snapshot: Snapshot, *, wave: bool) -> Transition:
    machine = transition.machine
    if machine.health.refused is not None:
        return _refused(transition, machine.health.refused, snapshot)
    if snapshot.capabilities.hosts:
        transition = claims.lets_go(claims.doubted(transition, snapshot), snapshot)
    transition = _lose(transition, snapshot, wave=wave)
    resource = transition.main(snapshot)
    up = resource is not None and resource.condition is Condition.UP
    if transition.machine.phase is Phase.STARTING and up and not transition.lost:
        transition = probing.probe(transition, snapshot)
        transition = (
            bootstrap.starting(transition, snapshot)
            if rollout.is_prepared_by_ssh(snapshot)
            else transition
        )
    if transition.machine.phase is Phase.STARTING:
        transition = _overdue(transition, snapshot)
    return allocation.watched(transition, snapshot) if snapshot.capabilities.hosts else transition


def _refused(transition: Transition, why: Refusal, snapshot: Snapshot) -> Transition:
    reason = failure.REFUSALS.get(why, Reason.REFUSED)
    if why in {Refusal.STOCK, Refusal.QUOTA}:
        if (offer := retry.elsewhere(transition.machine, snapshot)) is not None:
            return _with_offer(transition, offer, str(reason), snapshot)
        moved = move(transition, Phase.STOPPING, reason, snapshot, transition.machine.error)
        started = event("rollback_started", moved.machine, snapshot, str(reason))
        return replace(moved, events=(*moved.events, started))
    return move(transition, Phase.FAILED, reason, snapshot, transition.machine.error)


def _with_offer(
    transition: Transition, offer: Offer, reason: str, snapshot: Snapshot
) -> Transition:
    """Let a start go on with another offer."""
    machine = replace(
        transition.machine.with_health(refused=None),
        offer=offer,
        tries=0,
        retry_at=None,
        retry_since=None,
        error="",
    )
    notice = event("offer", machine, snapshot, reason, f"{transition.machine.offer}, now {offer}")
    return replace(transition, machine=machine, events=(*transition.events, notice))


def _overdue(transition: Transition, snapshot: Snapshot) -> Transition:
    """The start bound counts only with an observation, and a probe of what is up, after it."""
    machine = transition.machine
    due = bootstrap.start_due(machine, snapshot)
    if machine.is_protected(snapshot.now) or snapshot.now < due:
        return transition
    due = max(due, snapshot.steady)
    observed = snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )
    if observed is None or observed < due:
        return transition
    resource = transition.main(snapshot)
    if resource is not None and resource.condition is Condition.UP:
        probed = snapshot.probed.get(machine.id)
        if probed is None or probed.begun < due:
            return replace(transition, probe=transition.probe or transition.lost)
    if (
        resource is not None
        and resource.owner_tag is not None
        and resource.condition is not Condition.UP
    ):
        transition = allocation.blamed(transition, snapshot)
    transition, reason = bootstrap.overdue(transition, snapshot)
    seen = probing.failure_of(transition.machine)
    return move(transition, Phase.FAILED, reason, snapshot, seen)


def _running(transition: Transition, snapshot: Snapshot, *, wave: bool) -> Transition:
    transition = _lose(transition, snapshot, wave=wave)
    transition = (
        allocation.watched(transition, snapshot) if snapshot.capabilities.hosts else transition
    )
    if drain.is_asked(snapshot) and not transition.lost:
        transition = _undrained(transition)
    if rollout.is_prepared_by_ssh(snapshot) and not transition.lost:
        transition = bootstrap.running(_undrained(transition), snapshot)
    return (
        standby.to_rest(transition, snapshot)
        if transition.machine.phase is Phase.READY
        else transition
    )


def _undrained(transition: Transition) -> Transition:
    """Forget that its end waited, once nobody wants its end any more."""
    machine = transition.machine
    stays = machine.phase is Phase.READY and machine.deletion is None
    if not stays or machine.goal is not Goal.PRESENT or machine.fact(drain.DRAIN) is None:
        return transition
    return replace(transition, machine=machine.without_fact(drain.DRAIN))


def _lose(transition: Transition, snapshot: Snapshot, *, wave: bool) -> Transition:
    """Move a machine to *failed* once its loss is believed; in a wave, once it is proved too."""
    transition, reason = failure.doubted(transition, snapshot)
    if reason is None:
        return transition
    if wave and not failure.proved(transition, reason, snapshot):
        waiting = replace(
            transition,
            blocker="too many machines were lost at once: each needs its own observation",
        )
        return failure.observe_focused(waiting, reason, snapshot)
    lost = transition.machine.with_fact("loss_proved", snapshot.now)
    lost = lost.with_fact(LOCKED, snapshot.now) if reason is Reason.LOCKED else lost
    proven = replace(transition, machine=lost)
    proven = allocation.blamed(proven, snapshot) if reason is Reason.FAILED else proven
    return replace(move(proven, Phase.FAILED, reason, snapshot), lost=True)


def _broken(transition: Transition, snapshot: Snapshot) -> Transition:
    """What was ready and is up again, with no doubt left, recovered.

    A machine whose host could not be prepared was up all the time.
    """
    machine, resource = transition.machine, transition.main(snapshot)
    up = resource is not None and resource.condition is Condition.UP
    if not up or machine.health.was_ready is None or is_ending(machine, snapshot):
        return transition
    if machine.reason == Reason.NOT_PREPARED:
        return transition
    if failure.suspected(transition, snapshot) is not None:
        return transition
    return probing.recovered(transition, snapshot)


def _deletion(transition: Transition, snapshot: Snapshot) -> Transition:
    """End a machine; where it is an allocation, its host may be left as it is."""
    transition = (
        allocation.stopping(transition, snapshot) if snapshot.capabilities.hosts else transition
    )
    return (
        _stopping(transition, snapshot)
        if transition.machine.phase is Phase.STOPPING
        else transition
    )


def _stopping(transition: Transition, snapshot: Snapshot) -> Transition:
    machine = transition.machine
    transition = replace(transition, events=(*transition.events, *_ended(transition, snapshot)))
    if all_gone(machine, snapshot):
        if retry.may_retry(machine, snapshot.fleet, snapshot.now, snapshot.jumped):
            return _once_more(transition, snapshot)
        deleted = move(transition, Phase.DELETED, Reason.ALL_ABSENT, snapshot)
        if machine.health.was_ready is None:
            return replace(
                deleted, events=(*deleted.events, event("rollback_done", machine, snapshot))
            )
        return deleted
    transition = _note_lock(replace(transition, close=_missed_scopes(machine, snapshot)), snapshot)
    machine = transition.machine
    if held := protection(machine, snapshot.row, snapshot):
        return replace(transition, blocker=held)
    return _in_time(transition, snapshot)


def _in_time(transition: Transition, snapshot: Snapshot) -> Transition:
    """Wait for what runs on it; raise an alarm, once, where it could not be removed in time."""
    machine, bound = transition.machine, snapshot.fleet.timers.stop
    if (found := drain.waits(machine, snapshot)) is not None:
        return drain.waiting(transition, found)
    if machine.health.stuck or machine.elapsed(snapshot.now, snapshot.jumped) < bound:
        return transition
    stuck = machine.with_health(stuck=True)
    alarm = event("alarm", stuck, snapshot, str(Reason.STOP_OVERDUE), machine.error)
    return replace(transition, machine=stuck, events=(*transition.events, alarm))


def _note_lock(transition: Transition, snapshot: Snapshot) -> Transition:
    """Write down whether the provider keeps us from removing it."""
    machine, resource = transition.machine, transition.main(snapshot)
    locked = resource is not None and resource.condition is Condition.LOCKED
    if locked == (machine.fact(LOCKED) is not None):
        return transition
    noted = machine.with_fact(LOCKED, snapshot.now) if locked else machine.without_fact(LOCKED)
    return replace(transition, machine=noted)


def _once_more(transition: Transition, snapshot: Snapshot) -> Transition:
    """Begin again under the same id: a start failed, and nothing of it is left.

    A host that it had is cleaned by its own record, and another machine may be faster to take it.
    """
    spent = transition.machine.billing.cost(snapshot.now)
    again = retry.retry(transition.machine).with_billing(spent=spent)
    again = claims.without_host(again) if snapshot.capabilities.hosts else again
    fresh = replace(transition, machine=again)
    rolled_back = replace(
        fresh, events=(*fresh.events, event("rollback_done", transition.machine, snapshot))
    )
    return move(rolled_back, Phase.PENDING, Reason.MADE_AGAIN, snapshot)


def _ended(transition: Transition, snapshot: Snapshot) -> Iterator[Event]:
    """Tell of resources whose end only observations confirm: a server after its termination."""
    earlier = {
        k.id for place in transition.before.places for k in place.known if k.deleted or k.removed
    }
    for place in transition.machine.places:
        for known in place.known:
            if known.deleted and known.id not in earlier:
                yield event(
                    "resource_removed", transition.machine, snapshot, f"{place.slot} gone", known.id
                )


def _missed_scopes(machine: Machine, snapshot: Snapshot) -> tuple[Scope, ...]:
    """Return focused observations of the ids that listings lack: their own answers confirm the end.

    It is asked for at once, and once more when a gap has passed.
    """
    return tuple(
        Scope(known.zone, place.slot.kind, machine.id, (known.id,))
        for place in machine.places
        for known in place.known
        if known.absent is not None
        and not known.was_removed
        and not known.deleted
        and next_question(known, snapshot) <= snapshot.now
    )


def time_limit(machine: Machine, fleet: Fleet) -> timedelta | None:
    """Return how long the machine may stay in its phase, or None where that is not limited."""
    name = PHASES[machine.phase].bound
    value: object = getattr(fleet.timers, name) if name else None
    return value if isinstance(value, timedelta) else None


def overdue_at(machine: Machine, snapshot: Snapshot) -> datetime | None:
    """Return when the machine has been in its phase for too long, or None where it never has.

    As it is decided: time counts again from a jump of the clock.
    """
    limit = time_limit(machine, snapshot.fleet)
    if limit is None:
        return None
    if machine.phase is Phase.STARTING:
        return bootstrap.start_due(machine, snapshot)
    return snapshot.now - machine.elapsed(snapshot.now, snapshot.jumped) + limit


def goal_of(machine: Machine) -> Goal | None:
    """Return what is to be pursued for a machine in its phase; None: nothing."""
    if machine.phase in _ON_ITS_WAY:
        return Goal.PRESENT
    if machine.phase is Phase.STOPPING:
        return machine.goal if machine.goal is Goal.STANDBY else Goal.ABSENT
    return None
