"""The irrelevance reduction: what of a side makes no difference any more.

Texts, prices and tries; a view that the next observation replaces; calls, ids and machines of which
no decision depends. That rests on reading the decisions.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec.structs import replace

from hostler.domain.hosts.allocation import ALONE, FAULT, STRANGER
from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import Host, HostCondition, host_of
from hostler.domain.model.machine import (
    LEFT,
    RETIRE,
    RETIRE_ASKED,
    Asked,
    CallState,
    Fact,
    Known,
    Machine,
    Place,
)
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.resource import HostFacts, Resource, Stage
from hostler.providers.scaleway.macs.plan.read import SERVER

from .calls import host_in
from .installation import LONG_AGO, MINE, NOW, OLDER, TICK, Saw, Side, Task

_NEVER = timedelta(-1)
_WIPE, AFTER = LONG_AGO + TICK, LONG_AGO + 2 * TICK
"""When the newest wipe was asked for that is closed, and calls after it."""


def leave_out(side: Side, longest: int) -> Side:
    """Return the side without what nothing that is checked here depends on."""
    row = replace(
        side.row,
        version=1,
        creations=(),
        destructions=(),
        losses=(),
        pause=None,
        resumed=None,
        setbacks=tuple(replace(s, until=_ahead(s.until)) for s in side.row.setbacks),
    )
    idle = not side.tasks and not side.observed
    now, consistency_delay = (NOW if idle else side.saw.at) or NOW, longest * TICK
    bound = {machine for _, machine in side.bindings}
    absent, open_to = set(_absent(side)), set(unsure(side))
    resources = side.saw.resources if side.observed else tuple(_resources(side))
    return replace(
        side,
        row=row,
        machines=tuple(_plain_machine(m, now, consistency_delay) for m in side.machines),
        history=tuple(
            _plain_gone(m, now, consistency_delay, bound=m.id in bound) for m in side.history
        ),
        hosts=tuple(_plain_host(h, now, consistency_delay) for h in side.hosts),
        recalled=tuple(m for m in side.recalled if any(t.holder.id == m for t in side.tasks)),
        tasks=tuple(_plain_task(t, now, consistency_delay) for t in side.tasks),
        dates=tuple(entry for entry in side.dates if entry[0] in open_to),
        took=side.took if any(_is_of_old(a) for a in _all_asked(side)) else LONG_AGO,
        saw=Saw(
            resources=resources,
            at=NOW if idle and side.saw.at is not None else side.saw.at,
            close=(),
            missing=tuple(entry for entry in side.saw.missing if entry[0] in absent),
        ),
    )


def _ahead(until: datetime) -> datetime:
    """Return until when something waits; what is over is so for ever."""
    return until if until > NOW else LONG_AGO


def _resources(side: Side) -> Iterator[Resource]:
    """Yield what matters of a view after its cycle, until the next observation replaces all of it.

    That is whose name the hosts of calls in flight bore, and what observations ask for by its id.
    """
    busy = {host_in(task.call) for task in side.tasks}
    for resource in side.saw.resources:
        plain = Resource(
            id=resource.id, slot=resource.slot, zone=resource.zone, owner_tag=resource.owner_tag
        )
        if host_of(resource.id) in busy:
            yield replace(plain, host=HostFacts(stage=resource.host.stage))
        elif resource.owner_tag is None and resource.slot == SERVER:
            yield plain


def _plain_task(task: Task, now: datetime, consistency_delay: timedelta) -> Task:
    holder = task.holder
    if isinstance(holder, Machine):
        return replace(task, holder=_plain_machine(holder, now, consistency_delay))
    return replace(task, holder=_plain_host(holder, now, consistency_delay))


def _all_asked(side: Side) -> Iterator[Asked]:
    for holder in (*side.machines, *side.hosts, *(t.holder for t in side.tasks)):
        yield from holder.asked


def _is_of_old(asked: Asked) -> bool:
    return asked.call_state is CallState.OPEN and asked.epoch == OLDER


def unsure(side: Side) -> Iterator[HostId | None]:
    """Yield the hosts of which it is not known whether they were claimed: their dates may tell."""
    for machine in side.machines:
        if any(a.aim is Stage.PENDING and a.call_state is CallState.OPEN for a in machine.asked):
            yield machine.host


def _absent(side: Side) -> Iterator[ResourceId]:
    for machine in side.machines:
        for place in machine.places:
            yield from (k.id for k in place.known if k.absent is not None and not k.deleted)


_NAMED = frozenset(
    {
        HostCondition.FREE,
        HostCondition.WIPING,
        HostCondition.QUARANTINED,
        HostCondition.RETIRING,
    }
)
_BLAME = frozenset({FAULT, ALONE, STRANGER, RETIRE, RETIRE_ASKED})
"""The facts about a machine that is gone by which its host is judged."""

_REPORTED = frozenset(
    {Reason.RELEASE_SKIPPED, Reason.RETIRED, Reason.MADE_AGAIN, Reason.HOST_TAKEN}
)
"""The reasons that something is decided by."""


def _plain_gone(
    machine: Machine, now: datetime, consistency_delay: timedelta, *, bound: bool
) -> Machine:
    """Return of a machine that is gone what the host's own record takes over from it."""
    plain = _plain_machine(machine, now, consistency_delay)
    return replace(
        plain.with_health(doubt=None, was_ready=plain.health.was_ready if bound else None),
        places=(),
        unknown_since=None,
        deletion=None,
        reason=plain.reason if bound else "",
        asked=tuple(a for a in plain.asked if _outlasts(a, bound=bound)),
        facts=tuple(f for f in plain.facts if f.name.startswith(LEFT) or f.name in _BLAME),
    )


def _outlasts(asked: Asked, *, bound: bool) -> bool:
    """Tell whether a host's own record or the ledger asks for a call of a machine that is gone."""
    came_late = asked.aim is Stage.PENDING and asked.call_state is CallState.LAPSED
    return came_late or (bound and (asked.shows is Shows.WIPE or asked.aim is Stage.CLAIMED))


def _plain_machine(machine: Machine, now: datetime, consistency_delay: timedelta) -> Machine:
    deletion, sure = machine.deletion, now - consistency_delay
    reported = machine.reason in _REPORTED
    return replace(
        machine.with_billing(price=0.0, spent=0.0, billed_from=None).with_health(
            was_ready=None if machine.health.was_ready is None else LONG_AGO
        ),
        version=1,
        created=LONG_AGO,
        since=LONG_AGO if machine.asked or machine.phase is not Phase.STARTING else machine.since,
        error="",
        reason=machine.reason if reported else "",
        tries=0,
        retry_at=None,
        retry_since=None,
        observed="",
        address="",
        deletion=None if deletion is None else replace(deletion, at=LONG_AGO, why=""),
        facts=tuple(sorted((Fact(name=f.name, at=LONG_AGO) for f in machine.facts), key=_by_name))
        if machine.facts
        else (),
        asked=_in_order(
            machine.asked,
            now,
            consistency_delay,
            begins=_in_doubt_until(machine),
            used=machine.health.was_ready is not None,
        ),
        places=tuple(_plain_place(place, sure) for place in machine.places),
    )


def _in_doubt_until(machine: Machine) -> bool:
    """Tell whether it matters when a claim was made: until it settled, also of one that ends."""
    released = any(asked.aim is Stage.RELEASING for asked in machine.asked)
    never = machine.phase is Phase.STOPPING and machine.health.was_ready is None and not released
    return machine.phase is Phase.STARTING or never


def _plain_place(place: Place, sure: datetime) -> Place:
    return replace(place, known=tuple(_plain_known(known, sure) for known in place.known))


def _plain_known(known: Known, sure: datetime) -> Known:
    """Return an id without the times that observations have outlived."""
    removed = known.removed
    return replace(
        known,
        since=LONG_AGO if known.deleted or known.since <= sure else known.since,
        removed=LONG_AGO if removed is not None and (known.deleted or removed <= sure) else removed,
        absent=None if known.deleted else known.absent,
    )


def _by_name(fact: Fact) -> str:
    return fact.name


def _in_order(  # noqa: PLR0913 - what a call may still matter for
    asked: tuple[Asked, ...],
    now: datetime,
    consistency_delay: timedelta,
    *,
    begins: bool = False,
    used: bool = False,
    puts: bool = False,
) -> tuple[Asked, ...]:
    """Return calls in the order of their kinds, each the newest of its kind, as far as they matter.

    `begins` says that when they were closed does; `used` that the claim is known otherwise, `puts`
    that the name which a host is put back under does.
    """
    wipe = next(
        (a for a in asked if a.shows is Shows.WIPE and a.call_state is CallState.DONE), None
    )
    plain = (
        _closed(a, wipe, now, consistency_delay if begins or a.shows is Shows.WIPE else _NEVER)
        for a in asked
    )
    relevant = (a for a in plain if not _is_over(a, begins=begins, used=used, puts=puts))
    return tuple(sorted(relevant, key=lambda a: (a.kind, a.aim)))


def _is_over(asked: Asked, *, begins: bool, used: bool, puts: bool) -> bool:
    """Tell whether nothing asks for a closed call any more.

    It came to nothing, or the wipe to which it would be compared came after it.
    A claim that came to nothing may still have its effect, and one that was done gives a host.
    """
    if asked.call_state is CallState.OPEN:
        return False
    if asked.shows is Shows.WIPE and not begins:
        return asked.call_state is CallState.LAPSED
    if asked.closed not in {None, LONG_AGO}:
        return False
    if asked.shows is Shows.WIPE:
        return asked.call_state is CallState.LAPSED
    if asked.aim in {Stage.WIPING, Stage.POOL}:
        return not (puts and asked.aim is Stage.POOL)
    done = asked.call_state is CallState.DONE
    matters = {Stage.PENDING: not done, Stage.CLAIMED: done and not used}
    return asked.at == LONG_AGO and not matters.get(Stage(asked.aim), False)


def _closed(asked: Asked, wipe: Asked | None, now: datetime, consistency_delay: timedelta) -> Asked:
    """Return a closed call with what is still asked of it.

    That is whether it was before or after the newest wipe, whether an observation since it was
    closed has seen what it came to, and whether the consistency delay has passed since.
    """
    if asked.call_state is CallState.OPEN:
        return asked
    at, closed = LONG_AGO, asked.closed
    if wipe is not None:
        at = _WIPE if asked is wipe else AFTER if asked.at > wipe.at else LONG_AGO
    if closed is not None and (
        consistency_delay < timedelta(0) or (closed < now and closed <= NOW - consistency_delay)
    ):
        closed = LONG_AGO
    failed = asked.call_state is CallState.REFUSED
    call_state = CallState.LAPSED if failed else asked.call_state  # nothing tells the two apart
    return replace(asked, epoch=MINE, at=at, closed=closed, call_state=call_state)


def _is_asked_for_name(host: Host) -> bool:
    """Tell whether it matters which name a host bore: as the proof that nobody took it since."""
    return host.condition in _NAMED and (host.condition is HostCondition.FREE or host.goal is None)


def _outlived(at: datetime | None, now: datetime) -> datetime | None:
    return LONG_AGO if at is not None and at < now else at


def _plain_host(host: Host, now: datetime, consistency_delay: timedelta) -> Host:
    return replace(
        host.with_cleaning(
            wiped=None if host.cleaning.wiped is None else LONG_AGO,
            cleaned=None,
            wiping=_outlived(host.cleaning.wiping, now),
        )
        .with_billing(price=0.0, spent=0.0, billed_from=None)
        .with_health(strikes=min(host.health.strikes, 1))
        .with_ownership(name=host.ownership.name if _is_asked_for_name(host) else ""),
        version=1,
        since=None,
        observed="",
        error="",
        tries=0,
        retry_at=None,
        retry_since=None,
        reason="",
        asked=_in_order(host.asked, now, consistency_delay, used=True, puts=host.goal is not None),
    )
