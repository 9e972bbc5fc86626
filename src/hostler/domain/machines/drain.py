"""Drain: does something run on a host that is to be ended, and for how long is it waited for?

Asked is the host itself, by the command of its fleet, or the cluster of which it is a Node, which
is drained by being asked. What it said is a fact with its date, and
counts for as long as an observation does. A host that cannot be asked is neither busy nor free: it
is waited for as a busy one is. When the bound of *drain* has passed the act goes on, whatever it
said; but not where a fleet's owner decided that its cluster is waited for as long as it takes, nor
where the Node may not be ended at all.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.model.calls import Shows
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.resource import Condition
from hostler.domain.model.snapshot import Answer, Answered, Snapshot
from hostler.domain.model.transition import Transition, event, wait

from .rollout import is_prepared_by_ssh

DRAIN = "drain"
"""The fact that a machine's end waits for what runs on it, since when."""

EVERY = timedelta(seconds=30)
"""How far apart a host is asked while it is waited for."""

_FACTS = {answer: f"it was {answer}" for answer in Answer}
_OFF = frozenset({Condition.OFF, Condition.STANDBY, Condition.WIPING})
"""In these conditions nothing runs on a host."""


class Wait(Struct, frozen=True, kw_only=True):
    """What is waited for, until when at most, whether the host is asked now, or else when next."""

    why: str
    until: datetime
    ask: bool
    retry_at: datetime


def is_asked(snapshot: Snapshot) -> bool:
    """Tell whether it is asked, before what runs on machines of this fleet is ended."""
    return snapshot.fleet.workload is not None or _is_host_asked(snapshot)


def _is_host_asked(snapshot: Snapshot) -> bool:
    return bool(snapshot.fleet.probe.busy) and is_prepared_by_ssh(snapshot)


def _waits_for_ever(snapshot: Snapshot) -> bool:
    return snapshot.fleet.workload is not None and snapshot.fleet.workload.waits


def noted(transition: Transition, snapshot: Snapshot) -> Transition:
    """Write down what a host said since the last time; another answer than before is recorded.

    A wait that the clock left in the future begins now: else it would be as much longer.
    """
    since = transition.machine.fact(DRAIN)
    if since is not None and since > snapshot.now:
        begun_now = transition.machine.with_fact(DRAIN, snapshot.now)
        transition = replace(transition, machine=begun_now)
    machine, answered = transition.machine, snapshot.answers.get(transition.machine.id)
    if answered is None:
        return transition
    before = answer_of(machine)
    if before is not None and answered.at <= before.at:
        return transition
    if answered.answer is Answer.UNKNOWN and _is_barred(machine, since):
        return transition
    for name in _FACTS.values():
        machine = machine.without_fact(name)
    machine = machine.with_fact(_FACTS[answered.answer], answered.at)
    if before is not None and before.answer is answered.answer:
        return replace(transition, machine=machine)
    notice = event("asked_whether_busy", machine, snapshot, str(answered.answer), answered.text)
    return replace(transition, machine=machine, events=(*transition.events, notice))


def answer_of(machine: Machine) -> Answered | None:
    """Return what the machine's host said last, as it is recorded, or None."""
    found = ((answer, machine.fact(name)) for answer, name in _FACTS.items())
    return next((Answered(answer=answer, at=at) for answer, at in found if at), None)


def begun(machine: Machine, at: datetime) -> Machine:
    """Return the record with since when its end waits, unless that is known."""
    return machine if machine.fact(DRAIN) is not None else machine.with_fact(DRAIN, at)


def bars(machine: Machine, snapshot: Snapshot) -> str:
    """Return why what runs on a machine may not be ended at this moment, or an empty string (G5).

    An end at once asks nobody. A wipe that was asked for has ended whatever ran.
    """
    since = machine.fact(DRAIN)
    at_once = machine.deletion is not None and machine.deletion.now
    if not is_asked(snapshot) or since is None or at_once or _is_wiped(machine, since):
        return ""
    until = since + snapshot.fleet.timers.drain
    if _is_barred(machine, since):
        newest = snapshot.answers.get(machine.id)
        text = f": {newest.text}" if newest is not None and newest.text else ""
        return f"its Node may not be ended{text}; only an end at once asks nobody"
    if _waits_for_ever(snapshot):
        return _awaited(machine, since, "it is waited for as long as it takes", snapshot)
    if snapshot.now >= until:
        return ""
    anyhow = f"it is ended anyhow at {until:%H:%M:%S} UTC"
    return _awaited(machine, since, anyhow, snapshot)


def _is_barred(machine: Machine, since: datetime | None) -> bool:
    """Tell whether its Node said, since its end waits, that it may not be ended.

    That counts until it says something else: a cluster that is away takes nothing back.
    """
    answered = answer_of(machine)
    if answered is None or since is None or answered.at < since:
        return False
    return answered.answer is Answer.BARRED


def _is_wiped(machine: Machine, since: datetime) -> bool:
    under_way = {CallState.OPEN, CallState.DONE}
    return any(
        asked.shows is Shows.WIPE and asked.at >= since and asked.call_state in under_way
        for asked in machine.asked
    )


def _awaited(machine: Machine, since: datetime, anyhow: str, snapshot: Snapshot) -> str:
    """Return what is waited for, by what was answered since the wait began."""
    answered, newest = answer_of(machine), snapshot.answers.get(machine.id)
    asked = "host" if snapshot.fleet.workload is None else "cluster"
    text = newest.text if newest is not None else ""
    if answered is None or answered.at < since:
        return f"its {asked} is asked first whether it is busy; {anyhow}"
    if answered.answer is Answer.BUSY and snapshot.fleet.workload is not None:
        return f"its Node is not free{f': {text}' if text else ''}; {anyhow}"
    if answered.answer is Answer.BUSY:
        return f"its host is busy, as it said at {answered.at:%H:%M:%S} UTC; {anyhow}"
    if answered.answer is Answer.UNKNOWN:
        return f"whether its host is busy is not known{f': {text}' if text else ''}; {anyhow}"
    return "" if is_fresh(answered, snapshot) else f"its {asked} is asked again; {anyhow}"


def is_fresh(answered: Answered, snapshot: Snapshot) -> bool:
    """Tell whether an answer is young enough for an act to rest on it."""
    if snapshot.jumped is not None and answered.at < snapshot.jumped:
        return False
    return timedelta(0) <= snapshot.now - answered.at <= snapshot.fleet.timers.observation_limit


def waits(machine: Machine, snapshot: Snapshot) -> Wait | None:
    """Return what the end of a machine waits for; None where it need not wait any longer."""
    why = bars(machine, snapshot)
    if not why:
        return None
    until = (machine.fact(DRAIN) or snapshot.now) + snapshot.fleet.timers.drain
    return _wait(machine, why, until, snapshot)


def _wait(machine: Machine, why: str, until: datetime, snapshot: Snapshot) -> Wait:
    answered = answer_of(machine)
    due = answered is None or not answered.at <= snapshot.now < answered.at + EVERY
    at = snapshot.now if due or answered is None else answered.at + EVERY
    retry_at = min(at, until) if snapshot.now < until else at
    return Wait(why=why, until=until, ask=due, retry_at=retry_at)


def waiting(transition: Transition, found: Wait) -> Transition:
    """Return the step of a machine whose end waits for what runs on it."""
    waiting = replace(transition, blocker=found.why, ask=found.ask)
    return wait(waiting, "ask", "whether its host is busy", None if found.ask else found.retry_at)


def before_roll(machine: Machine, begun: datetime, snapshot: Snapshot) -> Wait | None:
    """Return what a roll of a changed list waits for on a machine in use, due since then."""
    until = begun + snapshot.fleet.timers.drain
    if not _is_host_asked(snapshot) or snapshot.now >= until:
        return None
    answered = answer_of(machine)
    if answered is not None and answered.answer is Answer.FREE and is_fresh(answered, snapshot):
        return None
    busy = answered is not None and answered.answer is Answer.BUSY
    what = "its host is busy" if busy else "whether its host is busy is not known"
    why = f"the changed list waits: {what}; it comes anyhow at {until:%H:%M:%S} UTC"
    return _wait(machine, why, until, snapshot)


def may_run(transition: Transition, snapshot: Snapshot) -> bool:
    """Tell whether something may run on the host of a machine that failed."""
    resource = transition.main(snapshot)
    return resource is not None and resource.condition not in _OFF
