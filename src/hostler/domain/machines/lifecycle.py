"""Follow: what has the world already done? Each machine's record is moved along with it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.hosts import allocation, claims
from hostler.domain.ids import PartId
from hostler.domain.model.calls import Refusal, Shows
from hostler.domain.model.commands import Event
from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import LOCKED, Machine, Offer, cost, reprice
from hostler.domain.model.phases import PHASES, Goal, Phase, Reason
from hostler.domain.model.resource import Condition, Part, Scope
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, event, move, wait
from hostler.domain.observation import effects
from hostler.domain.observation.blockers import protection
from hostler.domain.observation.certainty import all_gone, survey

from . import bootstrap, drain, failure, retry, rollout, standby

_ON_ITS_WAY = (Phase.STARTING, Phase.READY, Phase.DRAINING)


def follow(machine: Machine, seen: Seen, *, wave: bool) -> Step:
    """Return the machine's step after the world's word: phases that observation decides."""
    known, parts = survey(machine, seen)
    step = Step(before=machine, machine=_priced(known, parts, seen), parts=parts)
    step = drain.noted(_note_status(step, seen), seen)
    match step.machine.phase:
        case Phase.STARTING:
            return _starting(step, seen, wave=wave)
        case Phase.READY | Phase.DRAINING:
            return _running(step, seen, wave=wave)
        case Phase.BROKEN:
            return _broken(step, seen)
        case Phase.STOPPING:
            rests = step.machine.goal is Goal.RESTING
            return standby.stopping(step, seen) if rests else _ending(step, seen)
        case Phase.RESTING:
            return standby.resting(step, seen)
        case Phase.WANTED | Phase.GONE:
            return step


def _priced(machine: Machine, parts: tuple[Part, ...], seen: Seen) -> Machine:
    """Return the record with the price of what is seen; what was not looked at keeps its price."""
    price = 0.0
    for part in parts:
        if part.status == "promised":
            return machine
        price += part.price
    return reprice(machine, price, seen.now)


def _note_status(step: Step, seen: Seen) -> Step:
    part = step.main(seen)
    if part is None or part.status == "promised":
        return step
    step = _witnessed(step, part, seen) if seen.traits.hosts else step
    machine = step.machine
    address = part.address or machine.address
    if (machine.observed, machine.address) == (part.status, address):
        return step
    return replace(step, machine=replace(machine, observed=part.status, address=address))


def _witnessed(step: Step, part: Part, seen: Seen) -> Step:
    """Write down what a wipe by somebody else would change, where that was sealed before."""
    sighting = seen.view.sightings.get(part.id)
    if sighting is None:
        return step
    machine = effects.witnessed(step.machine, part, seen.view.shown(sighting))
    return step if machine is step.machine else replace(step, machine=machine)


def _starting(step: Step, seen: Seen, *, wave: bool) -> Step:
    machine = step.machine
    if machine.refused is not None:
        return _refused(step, machine.refused, seen)
    if seen.traits.hosts:
        step = claims.lets_go(claims.doubted(step, seen), seen)
    step = _lose(step, seen, wave=wave)
    part = step.main(seen)
    up = part is not None and part.condition is Condition.UP
    if step.machine.phase is Phase.STARTING and up and not step.lost:
        step = _probe(step, seen)
        step = bootstrap.starting(step, seen) if rollout.is_prepared_by_ssh(seen) else step
    if step.machine.phase is Phase.STARTING:
        step = _overdue(step, seen)
    return allocation.watched(step, seen) if seen.traits.hosts else step


def _refused(step: Step, why: Refusal, seen: Seen) -> Step:
    reason = failure.REFUSALS.get(why, Reason.REFUSED)
    if why in {Refusal.STOCK, Refusal.QUOTA}:
        if (offer := retry.elsewhere(step.machine, seen)) is not None:
            return _with_offer(step, offer, str(reason), seen)
        moved = move(step, Phase.STOPPING, reason, seen, step.machine.error)
        started = event("rollback_started", moved.machine, seen, str(reason))
        return replace(moved, events=(*moved.events, started))
    return move(step, Phase.BROKEN, reason, seen, step.machine.error)


def _with_offer(step: Step, offer: Offer, reason: str, seen: Seen) -> Step:
    """Let a start go on with another offer."""
    machine = replace(step.machine, offer=offer, refused=None, tries=0, again=None, error="")
    told = event("offer", machine, seen, reason, f"{step.machine.offer}, now {offer}")
    return replace(step, machine=machine, events=(*step.events, told))


def _probe(step: Step, seen: Seen) -> Step:
    """A machine that is up is ready when its probe passed; ask for a probe where none did."""
    machine = step.machine
    if seen.fleet.probe.kind is ProbeKind.API:
        return move(step, Phase.READY, Reason.UP, seen)
    probed = seen.probed.get(machine.id)
    if probed is not None and probed.passed and probed.begun >= _probed_from(machine):
        passed = replace(step, machine=machine.with_fact("probe", probed.begun))
        return move(passed, Phase.READY, Reason.PROBE_PASSED, seen)
    every = seen.fleet.timers.probe_every
    due = probed is None or seen.now - probed.begun >= every
    said = f"readiness probe ({seen.fleet.probe.kind}) at {machine.address or 'its address'}"
    at = None if due or probed is None else probed.begun + every
    return wait(replace(step, probe=due), "probe", said, at)


def _probed_from(machine: Machine) -> datetime:
    """Return from when on a probe is of what the machine has now: its host and disk may be new."""
    anew = (asked.at for asked in machine.asked if asked.shows in {Shows.MARK, Shows.WIPE})
    return max((machine.since, *anew))


def _overdue(step: Step, seen: Seen) -> Step:
    """The start bound counts only with a look, and a probe of what is up, begun after it."""
    machine = step.machine
    due = bootstrap.start_due(machine, seen)
    if machine.held(seen.now) or seen.now < due:
        return step
    due = max(due, seen.steady)
    looked = seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)
    if looked is None or looked < due:
        return step
    part = step.main(seen)
    if part is not None and part.condition is Condition.UP:
        probed = seen.probed.get(machine.id)
        if probed is None or probed.begun < due:
            return replace(step, probe=step.probe or step.lost)
    if part is not None and part.mark is not None and part.condition is not Condition.UP:
        step = allocation.blamed(step, seen)
    step, reason = bootstrap.overdue(step, seen)
    return move(step, Phase.BROKEN, reason, seen)


def _running(step: Step, seen: Seen, *, wave: bool) -> Step:
    step = _lose(step, seen, wave=wave)
    step = allocation.watched(step, seen) if seen.traits.hosts else step
    if rollout.is_prepared_by_ssh(seen) and not step.lost:
        step = bootstrap.running(_undrained(step), seen)
    return standby.to_rest(step, seen) if step.machine.phase is Phase.READY else step


def _undrained(step: Step) -> Step:
    """Forget that its end waited, once nobody wants its end any more."""
    machine = step.machine
    stays = machine.phase is Phase.READY and machine.ending is None
    if not stays or machine.goal is not Goal.PRESENT or machine.fact(drain.DRAIN) is None:
        return step
    return replace(step, machine=machine.without_fact(drain.DRAIN))


def _lose(step: Step, seen: Seen, *, wave: bool) -> Step:
    """Move a machine to *broken* once its loss is believed; in a wave, once it is proved too."""
    step, reason = failure.doubted(step, seen)
    if reason is None:
        return step
    if wave and not failure.proved(step, reason, seen):
        said = replace(step, blocker="too many machines were lost at once: each needs its own look")
        return failure.look_close(said, reason, seen)
    lost = step.machine.with_fact("loss_proved", seen.now)
    lost = lost.with_fact(LOCKED, seen.now) if reason is Reason.LOCKED else lost
    proven = replace(step, machine=lost)
    proven = allocation.blamed(proven, seen) if reason is Reason.FAILED else proven
    return replace(move(proven, Phase.BROKEN, reason, seen), lost=True)


def _broken(step: Step, seen: Seen) -> Step:
    """What was ready and is up again, with no doubt left, recovered."""
    machine, part = step.machine, step.main(seen)
    up = part is not None and part.condition is Condition.UP
    if not up or machine.was_ready is None or machine.ending is not None:
        return step
    if failure.suspected(step, seen) is not None:
        return step
    return move(step, Phase.READY, Reason.RECOVERED, seen)


def _ending(step: Step, seen: Seen) -> Step:
    """End a machine; where it is a tenancy, its host may be left as it is."""
    step = allocation.stopping(step, seen) if seen.traits.hosts else step
    return _stopping(step, seen) if step.machine.phase is Phase.STOPPING else step


def _stopping(step: Step, seen: Seen) -> Step:
    machine = step.machine
    step = replace(step, events=(*step.events, *_ended(step, seen)))
    if all_gone(machine, seen):
        if retry.again(machine, seen.fleet, seen.now, seen.jumped):
            return _once_more(step, seen)
        done = replace(step, machine=replace(machine, price=0.0, spent=cost(machine, seen.now)))
        gone = move(done, Phase.GONE, Reason.ALL_GONE, seen)
        if machine.was_ready is None:
            return replace(gone, events=(*gone.events, event("rollback_done", machine, seen)))
        return gone
    step = _note_lock(replace(step, close=_missed_scopes(machine, seen)), seen)
    machine = step.machine
    if held := protection(machine, seen.row, seen):
        return replace(step, blocker=held)
    return _in_time(step, seen)


def _in_time(step: Step, seen: Seen) -> Step:
    """Wait for what runs on it; raise an alarm, once, where it could not be removed in time."""
    machine, bound = step.machine, seen.fleet.timers.stop
    if (found := drain.waits(machine, seen)) is not None:
        return drain.waiting(step, found)
    if machine.stuck or machine.elapsed(seen.now, seen.jumped) < bound:
        return step
    stuck = replace(machine, stuck=True)
    alarm = event("alarm", stuck, seen, str(Reason.STOP_OVERDUE), machine.error)
    return replace(step, machine=stuck, events=(*step.events, alarm))


def _note_lock(step: Step, seen: Seen) -> Step:
    """Write down whether the provider keeps us from removing it."""
    machine, part = step.machine, step.main(seen)
    locked = part is not None and part.condition is Condition.LOCKED
    if locked == (machine.fact(LOCKED) is not None):
        return step
    noted = machine.with_fact(LOCKED, seen.now) if locked else machine.without_fact(LOCKED)
    return replace(step, machine=noted)


def _once_more(step: Step, seen: Seen) -> Step:
    """Begin again under the same id: a start failed, and nothing of it is left."""
    spent = cost(step.machine, seen.now)
    fresh = replace(step, machine=replace(retry.anew(step.machine), spent=spent))
    told = replace(fresh, events=(*fresh.events, event("rollback_done", step.machine, seen)))
    return move(told, Phase.WANTED, Reason.MADE_AGAIN, seen)


def _ended(step: Step, seen: Seen) -> Iterator[Event]:
    """Tell of parts whose end no answer told, but looks confirm: a server after its termination."""
    earlier = {k.id for place in step.before.places for k in place.known if k.gone or k.removed}
    for place in step.machine.places:
        for known in place.known:
            if known.gone and known.id not in earlier:
                yield event("part_removed", step.machine, seen, f"{place.slot} gone", known.id)


def _missed_scopes(machine: Machine, seen: Seen) -> tuple[Scope, ...]:
    """Return looks at the single ids that listings lack: each one's own answers confirm its end.

    It is asked for at once, and once more when a gap has passed.
    """
    return tuple(
        Scope(known.zone, place.slot.kind, machine.id, (known.id,))
        for place in machine.places
        for known in place.known
        if known.absent is not None
        and not known.was_removed
        and not known.gone
        and _to_be_asked(known.id, known.absent, seen)
    )


def _to_be_asked(part: PartId, absent: datetime, seen: Seen) -> bool:
    alone = seen.view.missing.get(part)
    if alone is None or alone < absent:
        return True
    return seen.now - absent >= seen.fleet.timers.absence_gap


def bound_of(machine: Machine, seen: Seen) -> timedelta | None:
    """Return the bound of the machine's phase, as this fleet sets it."""
    name = PHASES[machine.phase].bound
    value = getattr(seen.fleet.timers, name) if name else None
    return value if isinstance(value, timedelta) else None


def goal_of(machine: Machine) -> Goal | None:
    """Return what is to be pursued for a machine in its phase; None: nothing."""
    if machine.phase is Phase.STOPPING:
        return machine.goal if machine.goal is Goal.RESTING else Goal.ABSENT
    if machine.phase in _ON_ITS_WAY:
        return Goal.PRESENT
    return None
