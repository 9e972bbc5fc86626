"""Smallsame: when two sides of the small world cannot be told apart, and so are one.

Times become ages in ticks, as far as any decision asks for them; what none asks for is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.calls import Shows
from hostler.domain.host import Host, HostCondition
from hostler.domain.ids import PartId
from hostler.domain.machine import Asked, Fact, Fate, Known, Machine, Place
from hostler.domain.phases import Phase
from hostler.domain.reasons import Reason

from .smallside import LONG_AGO, MINE, NOW, OLDER, TICK, Saw, Side, Task

_NEVER = timedelta(-1)
_WIPE, _AFTER = LONG_AGO + TICK, LONG_AGO + 2 * TICK
"""When the newest wipe was asked for that is closed, and calls after it."""

Aged = Callable[[datetime], datetime]


def aged(side: Side, longest: int) -> Side:
    """Return the side a tick later; gaps between times never grow beyond what anything asks."""
    return settled(_mapped(side, lambda at: at - TICK), longest)


def settled(side: Side, longest: int) -> Side:
    """Return the one side that stands for all that cannot be told from this one."""
    plain = _plain(side, longest)
    anchor = side.saw.at or NOW
    order = sorted({at for at in _times(plain) if at > _AFTER} | {anchor}, reverse=True)
    found, last, mapped = dict[datetime, datetime](), NOW, NOW
    for at in order:
        most = longest if last >= anchor else 1
        mapped -= min(last - at, most * TICK)
        found[at], last = mapped, at
    if all(at == kept for at, kept in found.items()):
        return plain
    return _mapped(plain, found.__getitem__)


def _times(side: Side) -> Iterator[datetime]:
    """Yield every time that is not written in stone."""
    for holder in (*side.machines, *side.history, *side.hosts, *(t.holder for t in side.tasks)):
        for asked in holder.asked:
            yield from (at for at in (asked.at, asked.closed) if at is not None)
        if holder.blind is not None:
            yield holder.blind
        if isinstance(holder, Machine):
            yield from _times_of(holder)
        else:
            yield from (at for at in (holder.wiping, holder.missing) if at is not None)
    yield from (task.sent for task in side.tasks)
    yield from (setback.until for setback in side.row.setbacks)
    yield side.took
    if side.saw.at is not None:
        yield side.saw.at
    for _, at, since in side.saw.missing:
        yield at
        yield since


def _times_of(machine: Machine) -> Iterator[datetime]:
    yield machine.since
    if machine.doubt is not None:
        yield machine.doubt.since
    for place in machine.places:
        for known in place.known:
            times = (known.since, known.removed, known.absent)
            yield from (at for at in times if at is not None)


def _mapped(side: Side, aged_: Aged) -> Side:
    """Return the side with every time that matters put through a function."""
    saw = side.saw
    return replace(
        side,
        machines=tuple(_machine(m, aged_) for m in side.machines),
        history=tuple(_machine(m, aged_) for m in side.history),
        hosts=tuple(_host(h, aged_) for h in side.hosts),
        tasks=tuple(_task(t, aged_) for t in side.tasks),
        took=side.took if side.took == LONG_AGO else aged_(side.took),
        saw=Saw(
            parts=saw.parts,
            at=_maybe(saw.at, aged_),
            close=tuple((m, kind, aged_(at)) for m, kind, at in saw.close),
            missing=tuple((p, aged_(at), aged_(since)) for p, at, since in saw.missing),
        ),
        row=replace(
            side.row,
            setbacks=tuple(replace(s, until=aged_(s.until)) for s in side.row.setbacks),
        ),
    )


def _maybe(at: datetime | None, aged_: Aged) -> datetime | None:
    return at if at is None or at <= _AFTER else aged_(at)


def _task(task: Task, aged_: Aged) -> Task:
    holder = task.holder
    return replace(
        task,
        sent=aged_(task.sent),
        holder=_machine(holder, aged_) if isinstance(holder, Machine) else _host(holder, aged_),
    )


def _machine(machine: Machine, aged_: Aged) -> Machine:
    doubt = machine.doubt
    return replace(
        machine,
        asked=tuple(_asked(a, aged_) for a in machine.asked),
        places=tuple(_place(place, aged_) for place in machine.places),
        blind=_maybe(machine.blind, aged_),
        doubt=None if doubt is None else replace(doubt, since=aged_(doubt.since)),
        since=machine.since if machine.since == LONG_AGO else aged_(machine.since),
    )


def _place(place: Place, aged_: Aged) -> Place:
    return replace(place, known=tuple(_known(known, aged_) for known in place.known))


def _known(known: Known, aged_: Aged) -> Known:
    return replace(
        known,
        since=known.since if known.since == LONG_AGO else aged_(known.since),
        removed=_maybe(known.removed, aged_),
        absent=_maybe(known.absent, aged_),
    )


def _asked(asked: Asked, aged_: Aged) -> Asked:
    return replace(asked, at=_maybe(asked.at, aged_) or NOW, closed=_maybe(asked.closed, aged_))


def _host(host: Host, aged_: Aged) -> Host:
    return replace(
        host,
        asked=tuple(_asked(a, aged_) for a in host.asked),
        blind=_maybe(host.blind, aged_),
        wiping=_maybe(host.wiping, aged_),
        missing=_maybe(host.missing, aged_),
    )


def _plain(side: Side, longest: int) -> Side:
    """Return the side without what nothing that is checked here depends on."""
    row = replace(side.row, version=1, creations=(), destructions=(), losses=(), pause=None)
    seen, settle = side.saw.at or NOW, longest * TICK
    absent = set(_absent(side))
    return replace(
        side,
        row=row,
        machines=tuple(_plain_machine(m, seen, settle) for m in side.machines),
        history=tuple(_plain_gone(m, seen, settle) for m in side.history),
        hosts=tuple(_plain_host(h, seen, settle) for h in side.hosts),
        recalled=tuple(m for m in side.recalled if any(t.holder.id == m for t in side.tasks)),
        tasks=tuple(_plain_task(t, seen, settle) for t in side.tasks),
        took=side.took if any(_is_of_old(a) for a in _all_asked(side)) else LONG_AGO,
        saw=replace(
            side.saw,
            close=(),
            missing=tuple(entry for entry in side.saw.missing if entry[0] in absent),
        ),
    )


def _plain_task(task: Task, seen: datetime, settle: timedelta) -> Task:
    holder = task.holder
    if isinstance(holder, Machine):
        return replace(task, holder=_plain_machine(holder, seen, settle))
    return replace(task, holder=_plain_host(holder, seen, settle))


def _all_asked(side: Side) -> Iterator[Asked]:
    for holder in (*side.machines, *side.hosts, *(t.holder for t in side.tasks)):
        yield from holder.asked


def _is_of_old(asked: Asked) -> bool:
    return asked.fate is Fate.OPEN and asked.epoch == OLDER


def _absent(side: Side) -> Iterator[PartId]:
    for machine in side.machines:
        for place in machine.places:
            yield from (k.id for k in place.known if k.absent is not None and not k.gone)


_KEPT = frozenset({Reason.RELEASE_SKIPPED, Reason.RETIRED, Reason.MADE_AGAIN, Reason.HOST_TAKEN})
"""The reasons that something is decided by."""


def _plain_gone(machine: Machine, seen: datetime, settle: timedelta) -> Machine:
    """Return of a machine that is gone what the host's own record takes over from it."""
    places = tuple(replace(place, known=()) for place in machine.places)
    plain = _plain_machine(machine, seen, settle)
    return replace(plain, places=places, observed="", blind=None, doubt=None)


def _plain_machine(machine: Machine, seen: datetime, settle: timedelta) -> Machine:
    ending, sure = machine.ending, seen - settle
    told = machine.reason in _KEPT
    return replace(
        machine,
        version=1,
        created=LONG_AGO,
        since=LONG_AGO if machine.asked or machine.phase is not Phase.STARTING else machine.since,
        error="",
        reason=machine.reason if told else "",
        tries=0,
        again=None,
        observed="",
        address="",
        price=0.0,
        spent=0.0,
        billed_from=None,
        cleaned=None,
        was_ready=None if machine.was_ready is None else LONG_AGO,
        ending=None if ending is None else replace(ending, at=LONG_AGO, why=""),
        facts=tuple(sorted((Fact(name=f.name, at=LONG_AGO) for f in machine.facts), key=_by_name))
        if machine.facts
        else (),
        asked=_in_order(machine.asked, seen, settle, begins=machine.phase is Phase.STARTING),
        places=tuple(_plain_place(place, sure) for place in machine.places),
    )


def _plain_place(place: Place, sure: datetime) -> Place:
    return replace(place, known=tuple(_plain_known(known, sure) for known in place.known))


def _plain_known(known: Known, sure: datetime) -> Known:
    """Return an id without the times that looks have outlived."""
    removed = known.removed
    return replace(
        known,
        since=LONG_AGO if known.gone or known.since <= sure else known.since,
        removed=LONG_AGO if removed is not None and (known.gone or removed <= sure) else removed,
        absent=None if known.gone else known.absent,
    )


def _by_name(fact: Fact) -> str:
    return fact.name


def _in_order(
    asked: tuple[Asked, ...], seen: datetime, settle: timedelta, *, begins: bool = False
) -> tuple[Asked, ...]:
    """Return calls in the order of their kinds: each is the newest of its kind."""
    wipe = next((a for a in asked if a.shows is Shows.WIPE and a.fate is not Fate.OPEN), None)
    plain = (
        _closed(a, wipe, seen, settle if begins or a.shows is Shows.WIPE else _NEVER) for a in asked
    )
    return tuple(sorted(plain, key=lambda a: (a.kind, a.aim)))


def _closed(asked: Asked, wipe: Asked | None, seen: datetime, settle: timedelta) -> Asked:
    """Return a closed call with what is still asked of it.

    That is whether it was before or after the newest wipe, whether a look since it was closed has
    seen what it came to, and whether settle has passed since.
    """
    if asked.fate is Fate.OPEN:
        return asked
    at, closed = LONG_AGO, asked.closed
    if wipe is not None:
        at = _WIPE if asked is wipe else _AFTER if asked.at > wipe.at else LONG_AGO
    if closed is not None and (settle < timedelta(0) or (closed < seen and closed <= NOW - settle)):
        closed = LONG_AGO
    return replace(asked, epoch=MINE, at=at, closed=closed)


def _outlived(at: datetime | None, seen: datetime) -> datetime | None:
    return LONG_AGO if at is not None and at < seen else at


def _plain_host(host: Host, seen: datetime, settle: timedelta) -> Host:
    return replace(
        host,
        version=1,
        since=None,
        observed="",
        error="",
        tries=0,
        again=None,
        wiped=None if host.wiped is None else LONG_AGO,
        price=0.0,
        spent=0.0,
        billed_from=None,
        reason="",
        strikes=min(host.strikes, 1),
        asked=_in_order(host.asked, seen, settle),
        name="" if host.condition is HostCondition.HELD else host.name,
        wiping=_outlived(host.wiping, seen),
    )
