"""Commands of a finished draft, in order, and what the decision says beside them."""

from collections.abc import Iterator
from datetime import datetime

from msgspec.structs import replace

from hostler.domain.fleets import losses
from hostler.domain.fleets.answers import RequestAnswer
from hostler.domain.hosts import claims
from hostler.domain.hosts.parking import wakes
from hostler.domain.ids import HostId, evolve
from hostler.domain.model.commands import (
    REQUEST_REFUSED,
    Advance,
    Command,
    Decision,
    Event,
    SaveFleet,
    Unbind,
)
from hostler.domain.model.fleet import KEPT, WELL, recent
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Request, Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.observation.blockers import store_is_old, unobserved

from .draft import Context, Draft

_SETTLED = (Phase.READY, Phase.DELETED, Phase.STANDBY)


def decision_of(draft: Draft, context: Context) -> Decision:
    """Return what the draft comes to."""
    snapshot, cache, transitions = context.snapshot, context.cache, draft.transitions
    condition = _condition(draft, snapshot)
    return Decision(
        commands=tuple(_commands(draft, condition, snapshot)),
        condition=condition,
        verdicts=tuple(
            cache.verdict(transition) or transition.verdict() for transition in transitions
        ),
        due=_due(draft, snapshot),
        expecting=bool(draft.sizing.inserts) or any(map(_expects, transitions)),
        alarms=draft.alarms,
        recalled=tuple(
            t.machine.id
            for t in transitions
            if t.machine.deletion is not None and t.machine.id in snapshot.moving
        ),
        provable=draft.provable,
    )


def _commands(draft: Draft, condition: str, snapshot: Snapshot) -> Iterator[Command]:
    if (save := _save_fleet(draft, condition, snapshot)) is not None:
        yield save
    yield from draft.binds
    yield from {save.host.id: save for save in draft.hosts}.values()  # the last word on each
    if draft.order is not None:
        yield draft.order
    unbinds = list[Unbind]()
    for transition in draft.transitions:
        if (advance := _advance(transition, snapshot)) is not None:
            yield advance
        if (host := _let_go(transition, snapshot)) is not None:
            unbinds.append(Unbind(host=host, machine=transition.machine.id))
    yield from unbinds
    if draft.orphan_report.orphans or draft.orphan_report.cleared:
        yield draft.orphan_report
    yield from draft.reclaims


def _let_go(transition: Transition, snapshot: Snapshot) -> HostId | None:
    """Return the host that a machine lets go of now, or let go of before and is bound to still."""
    if transition.machine.host is not None:
        return None
    if transition.before.host is not None or not snapshot.bindings:
        return transition.before.host
    return claims.given_back(transition, snapshot)


def _advance(transition: Transition, snapshot: Snapshot) -> Advance | None:
    if transition.machine.id in snapshot.moving:
        return None
    changed = (
        transition.machine is not transition.before and transition.machine != transition.before
    )
    if not (changed or transition.goal or transition.probe or transition.ask or transition.close):
        return None
    return Advance(
        machine=transition.machine,
        changed=changed,
        events=transition.events,
        verdict=transition.verdict(),
        goal=transition.goal,
        probe=transition.probe,
        ask=transition.ask,
        close=transition.close,
    )


def _save_fleet(draft: Draft, condition: str, snapshot: Snapshot) -> SaveFleet | None:
    sizing, row = draft.sizing, draft.row
    row = evolve(
        row,
        creations=_pruned((*row.creations, *(snapshot.now,) * sizing.creations), snapshot),
        destructions=_pruned(row.destructions, snapshot),
        losses=_pruned(row.losses, snapshot),
        condition=condition,
    )
    if row == snapshot.row and not (sizing.inserts or draft.answers or draft.events):
        return None
    return SaveFleet(
        row=row,
        inserts=sizing.inserts,
        named=sizing.named,
        specs=sizing.specs,
        adopted=draft.adopted,
        installations=draft.installations,
        events=tuple(_events(draft, row.condition, snapshot)),
        requests=tuple(answer.request.number for answer in draft.answers),
    )


def _condition(draft: Draft, snapshot: Snapshot) -> str:
    """Return what keeps the fleet from its size, what it seems to lose, and what cannot be trusted.

    That is a store that is old, and zones that are not observed.
    """
    machines = (transition.machine for transition in draft.transitions)
    lost = losses.condition(machines, draft.row, snapshot)
    untrusted = (store_is_old(snapshot), unobserved(snapshot))
    texts = dict.fromkeys((draft.sizing.condition, lost, *untrusted))
    return "; ".join(text for text in texts if text)


def _pruned(times: tuple[datetime, ...], snapshot: Snapshot) -> tuple[datetime, ...]:
    """Return the times that still count; the clock jumped back since those of the future."""
    return tuple(min(at, snapshot.now) for at in recent(times, snapshot.now, KEPT))


def _events(draft: Draft, condition: str, snapshot: Snapshot) -> Iterator[Event]:
    """Yield the events of the fleet, and of what was asked for, with why some of it cannot be."""
    blank = Event(kind="", at=snapshot.now, fleet=snapshot.fleet.name, cycle=snapshot.cycle)
    if condition != snapshot.row.condition:
        yield replace(blank, kind="condition", reason=condition or WELL)
    for answer in draft.answers:
        yield from _answer(answer, blank)
    for machine, why in draft.sizing.refused:
        number = next((r.number for r in snapshot.requests if machine in r.machines), None)
        yield _refusal(replace(blank, machine=machine, request=number), why)
    yield from draft.events


def _answer(answer: RequestAnswer, blank: Event) -> Iterator[Event]:
    """Yield that something was asked, and why it cannot be, in the history of what it is about."""
    request = answer.request
    size = str(request.size) if request.size is not None else ""
    instead = f"(instead of {answer.instead})" if answer.instead else ""
    asked = replace(
        blank,
        kind="request",
        machine=request.machine,
        host=request.host,
        request=request.number,
        reason=f"{_asked(request)} by {request.actor}",
        detail=" ".join(text for text in (_about(request), size, request.why, instead) if text),
    )
    yield asked
    if answer.refusal:
        yield _refusal(asked, answer.refusal)


def _refusal(event: Event, why: str) -> Event:
    return replace(event, kind=REQUEST_REFUSED, reason=str(Reason.REFUSED), detail=why)


def _about(request: Request) -> str:
    return str(request.machine or request.host or request.source or request.fleet)


def _expects(transition: Transition) -> bool:
    """Tell whether an observation may soon show something new of a machine, dates aside."""
    if transition.next.kind == "prepare" and transition.next.at is not None:
        return False
    moves = transition.machine.phase not in _SETTLED or wakes(transition)
    return moves or transition.machine.health.doubt is not None


def _due(draft: Draft, snapshot: Snapshot) -> datetime | None:
    times = (*(transition.next.at for transition in draft.transitions), *draft.due)
    return min((at for at in times if at is not None and at > snapshot.now), default=None)


def _asked(request: Request) -> str:
    """Return what is asked, in a word or two: of a hold also which one."""
    return str(request.kind) if request.hold is None else f"{request.kind} ({request.hold})"
