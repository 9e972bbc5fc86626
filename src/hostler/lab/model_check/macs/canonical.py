"""The canonical form: when two sides of the small world cannot be told apart, and so are one.

Times become ages in ticks, as far as any decision asks for them.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.model.host import Host
from hostler.domain.model.machine import Asked, Known, Machine, Place

from .installation import LONG_AGO, NOW, TICK, Saw, Side, Task
from .irrelevance import AFTER, leave_out, unsure

Aged = Callable[[datetime], datetime]


def aged(side: Side, longest: int) -> Side:
    """Return the side a tick later; gaps between times never grow beyond what anything asks."""
    return settled(_mapped(side, lambda at: at - TICK), longest)


def settled(side: Side, longest: int) -> Side:
    """Return the one side that stands for all that cannot be told from this one."""
    plain = leave_out(side, longest)
    anchor = plain.saw.at or NOW
    wide = longest + 1 if any(unsure(plain)) else 0
    order = sorted({at for at in _times(plain) if at > AFTER} | {anchor}, reverse=True)
    found, last, mapped = dict[datetime, datetime](), NOW, NOW
    for at in order:
        most = max(wide, longest if last >= anchor else 1)
        mapped -= min(last - at, most * TICK)
        found[at], last = mapped, at
    if all(at == shifted for at, shifted in found.items()):
        return plain
    return _mapped(plain, found.__getitem__)


def _times(side: Side) -> Iterator[datetime]:
    """Yield every time that is not written in stone."""
    for holder in (*side.machines, *side.history, *side.hosts, *(t.holder for t in side.tasks)):
        for asked in holder.asked:
            yield from (at for at in (asked.at, asked.closed) if at is not None)
        if holder.unknown_since is not None:
            yield holder.unknown_since
        if isinstance(holder, Machine):
            yield from _times_of(holder)
        else:
            yield from (
                at for at in (holder.cleaning.wiping, holder.health.missing) if at is not None
            )
    yield from (task.sent for task in side.tasks)
    yield from (setback.until for setback in side.row.setbacks)
    yield side.took
    yield from (at for _, at in side.dates)
    if side.saw.at is not None:
        yield side.saw.at
    for _, at, since in side.saw.missing:
        yield at
        yield since


def _times_of(machine: Machine) -> Iterator[datetime]:
    yield machine.since
    if machine.health.doubt is not None:
        yield machine.health.doubt.since
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
        dates=tuple((host, aged_(at)) for host, at in side.dates),
        saw=Saw(
            resources=saw.resources,
            at=_maybe(saw.at, aged_),
            close=tuple((m, kind, aged_(at)) for m, kind, at in saw.close),
            missing=tuple((p, aged_(at), aged_(since)) for p, at, since in saw.missing),
        ),
        row=replace(
            side.row,
            setbacks=tuple(
                replace(s, until=_maybe(s.until, aged_) or NOW) for s in side.row.setbacks
            ),
        ),
    )


def _maybe(at: datetime | None, aged_: Aged) -> datetime | None:
    return at if at is None or at <= AFTER else aged_(at)


def _task(task: Task, aged_: Aged) -> Task:
    holder = task.holder
    return replace(
        task,
        sent=aged_(task.sent),
        holder=_machine(holder, aged_) if isinstance(holder, Machine) else _host(holder, aged_),
    )


def _machine(machine: Machine, aged_: Aged) -> Machine:
    doubt = machine.health.doubt
    return replace(
        machine.with_health(
            doubt=None if doubt is None else replace(doubt, since=aged_(doubt.since))
        ),
        asked=tuple(_asked(a, aged_) for a in machine.asked),
        places=tuple(_place(place, aged_) for place in machine.places),
        unknown_since=_maybe(machine.unknown_since, aged_),
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
        host.with_cleaning(wiping=_maybe(host.cleaning.wiping, aged_)).with_health(
            missing=_maybe(host.health.missing, aged_)
        ),
        asked=tuple(_asked(a, aged_) for a in host.asked),
        unknown_since=_maybe(host.unknown_since, aged_),
    )
