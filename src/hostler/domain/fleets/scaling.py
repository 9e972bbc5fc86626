"""Resize: how many machines are wanted, which offers may be tried, and which machines go?"""

from dataclasses import dataclass, replace
from datetime import datetime

from hostler.domain.hosts import claims, parking
from hostler.domain.ids import MachineId
from hostler.domain.machines import failure, rollout
from hostler.domain.model.caps import creations_left
from hostler.domain.model.fleet import FleetRow, Setback
from hostler.domain.model.machine import Ending, Offer
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.reasons import Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, move, wait

from .requests import paused

RESIZE = "hostler"
"""The actor of endings that a size asks for."""

UNBEGUN = 64
"""How many machines may wait for their first answer: more of them would only grow old waiting for
the account's budget, and be given up at their start bound before anything was made for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """What resizing comes to: offers to insert, steps changed, and what holds it up.

    `named` are the ids of the inserts where they were asked for by name; `creations` is how many
    creation attempts this counts as.
    """

    inserts: tuple[Offer, ...] = ()
    named: tuple[MachineId, ...] = ()
    creations: int = 0
    steps: tuple[Step, ...] = ()
    condition: str = ""
    due: datetime | None = None


def resize(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> Sizing:
    """Return what brings the number of wanted machines to the target."""
    if why := paused(row, seen.now):
        return Sizing(steps=steps, condition=why)
    steps = tuple(_admit(step, seen) for step in steps)
    wanted = sum(parking.counts(step) for step in steps)
    if wanted > target and seen.fleet.protected:
        return Sizing(steps=steps, condition=f"{wanted - target} too many: the fleet is protected")
    if wanted > target:
        return Sizing(steps=_shed(steps, wanted - target, seen))
    if wanted < target:
        back = _call_back(steps, target - wanted, seen)
        if why := rollout.condition(seen.revision):
            return Sizing(steps=back, condition=why)
        missing = target - sum(parking.counts(step) for step in back)
        return _grow(parking.woken(back, missing, seen), row, target, seen)
    return Sizing(steps=steps)


def world_is_right(seen: Seen) -> str:
    """Return why nothing may be created here (G8), or an empty string."""
    if seen.foreign:
        whose = sorted({str(p.mark.installation) for p in seen.foreign if p.mark})
        return (
            f"{len(seen.foreign)} parts carry this fleet's name and the mark of another "
            f"installation ({', '.join(whose)}): `hostler adopt FILE --from {whose[0]}` if they "
            "are yours, else give this fleet another name"
        )
    if seen.unexplained and not seen.traits.hosts:
        return (
            f"{len(seen.unexplained)} parts carry our mark and no record explains them: see "
            "`hostler leaks FILE`, then `hostler adopt FILE` or set `reclaim = true`"
        )
    return ""


def zone_is_known(seen: Seen, offer: Offer) -> bool:
    """Tell whether every kind of part in the offer's zone was listed whole, and lately (S3)."""
    for kind in seen.traits.kinds:
        whole = seen.view.whole.get((offer.zone, kind))
        if whole is None or seen.now - whole > seen.fleet.timers.look_limit:
            return False
    return True


def _admit(step: Step, seen: Seen) -> Step:
    machine = step.machine
    if machine.phase is not Phase.WANTED or machine.ending is not None:
        return step
    if machine.elapsed(seen.now, seen.jumped) >= seen.fleet.timers.admit:
        return move(step, Phase.GONE, Reason.NOT_ADMITTED, seen)
    if why := world_is_right(seen):
        return replace(step, blocker=why)
    if not zone_is_known(seen, machine.offer):
        said = replace(step, blocker=f"{machine.offer.zone} could not be looked at whole")
        return wait(said, "look", f"at all of {machine.offer.zone}")
    if seen.traits.hosts:  # it begins with its host
        return step
    return move(step, Phase.STARTING, Reason.ADMITTED, seen)


def _call_back(steps: tuple[Step, ...], missing: int, seen: Seen) -> tuple[Step, ...]:
    """Take back as many endings of ours as are wanted again, while nothing was done about them."""
    kept = list(steps)
    for place, step in enumerate(steps):
        ending = step.machine.ending
        ours = ending is not None and ending.actor == RESIZE
        if missing and ours and step.machine.phase is Phase.DRAINING:
            again = replace(step, machine=replace(step.machine, ending=None), blocker="", ask=False)
            kept[place] = move(again, Phase.READY, Reason.RECOVERED, seen)
            missing -= 1
        elif missing and parking.waits_to_rest(step):
            again = replace(step.machine, goal=Goal.PRESENT)
            kept[place] = replace(step, machine=again, blocker="", ask=False)
            missing -= 1
    return tuple(kept)


def _shed(steps: tuple[Step, ...], many: int, seen: Seen) -> tuple[Step, ...]:
    victims = sorted((s for s in steps if parking.counts(s)), key=lambda s: _worth(s, seen))
    free = [step.machine.id for step in victims if not step.machine.held(seen.now)]
    picked = frozenset(free[:many])
    return tuple(_let_go(step, seen) if step.machine.id in picked else step for step in steps)


def _let_go(step: Step, seen: Seen) -> Step:
    """Let one go that is too many: to rest where its host is paid for anyway, else for good."""
    if parking.is_paid(step, seen):
        return replace(step, machine=replace(step.machine, goal=Goal.RESTING))
    ending = Ending(at=seen.now, actor=RESIZE, why=str(Reason.SCALED_DOWN))
    return replace(step, machine=replace(step.machine, ending=ending))


_LEAST_WORTH = (Phase.WANTED, Phase.STARTING, Phase.READY)


def _worth(step: Step, seen: Seen) -> tuple[int, bool, float, int]:
    """Order machines by what is lost with them.

    Unborn, then half made, outdated, on the host with the least paid time left, then youngest.
    """
    machine = step.machine
    current = machine.template == seen.fleet.template
    paid = parking.paid_left(step, seen)
    return (_LEAST_WORTH.index(machine.phase), current, paid, -machine.serial)


def _grow(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> Sizing:
    wanted = sum(parking.counts(step) or parking.wakes(step) for step in steps)
    if why := world_is_right(seen):
        return Sizing(steps=steps, condition=why)
    if wanted >= target:
        return Sizing(steps=steps)
    room, full = _room(steps, row, target, seen)
    many = min(target - wanted, room)
    if many <= 0:
        return Sizing(steps=steps, condition=full)
    chosen = choose(steps, row, many, seen)
    short = len(chosen) < many if seen.traits.hosts else not chosen
    condition, due = why_no_offer(row, seen) if short else ("", None)
    return Sizing(inserts=chosen, creations=len(chosen), steps=steps, condition=condition, due=due)


def _room(steps: tuple[Step, ...], row: FleetRow, target: int, seen: Seen) -> tuple[int, str]:
    most = seen.fleet.most(max(target, row.wished(seen.fleet)))
    held = sum(step.machine.in_maximum for step in steps)
    stuck = sum(step.machine.stuck for step in steps)
    left = most - held - max(0, stuck - seen.fleet.caps.stuck)
    if left <= 0:
        return 0, f"the maximum of {most} is reached while {held + stuck} machines still exist"
    creates = creations_left(seen.fleet, row, seen.now)
    if creates == 0:
        return 0, "the bound on creations in an hour is reached"
    return min(left, creates, unbegun_left(steps, seen)), ""


def choose(steps: tuple[Step, ...], row: FleetRow, many: int, seen: Seen) -> tuple[Offer, ...]:
    """Return offers to begin with: the first open one; one at a time where it failed before."""
    if seen.traits.hosts:
        return _with_hosts(steps, row, many, seen)
    admitted = _admitted(seen)
    for offer in seen.fleet.offers:
        setback = row.setback(offer)
        if setback is not None and seen.now < setback.until:
            continue
        if not zone_is_known(seen, offer):
            continue
        if setback is None:
            return (offer,) * many
        trying = any(
            step.machine.offer == offer and step.machine.phase in admitted for step in steps
        )
        if not trying:
            return (offer,)
    return ()


def _with_hosts(steps: tuple[Step, ...], row: FleetRow, many: int, seen: Seen) -> tuple[Offer, ...]:
    """Return the offers of hosts that are there; an offer that failed just now is passed by.

    That hosts are sold out is no matter to those that stand: it is orders that wait for a stock.
    """
    failed = {setback.offer for setback in _setbacks(row, seen) if not setback.stock}
    chosen = (
        offer
        for offer in claims.offers(len(seen.free), steps, seen)
        if zone_is_known(seen, offer) and offer not in failed
    )
    return tuple(chosen)[:many]


def _setbacks(row: FleetRow, seen: Seen) -> list[Setback]:
    """Return what keeps the fleet's offers from being tried now."""
    found = (row.setback(offer) for offer in seen.fleet.offers)
    return [setback for setback in found if setback is not None and seen.now < setback.until]


def begin_blocked(steps: tuple[Step, ...], row: FleetRow, seen: Seen) -> str:
    """Return why no machine may begin now, or an empty string."""
    if why := world_is_right(seen) or rollout.condition(seen.revision):
        return why
    if creations_left(seen.fleet, row, seen.now) == 0:
        return "the bound on creations in an hour is reached"
    return "" if unbegun_left(steps, seen) > 0 else "others wait for their first answer"


def unbegun_left(steps: tuple[Step, ...], seen: Seen) -> int:
    """Return how many more may begin while that many wait for their first answer."""
    phases = _admitted(seen)
    waiting = (
        step.machine.phase in phases and not any(place.known for place in step.machine.places)
        for step in steps
    )
    return UNBEGUN - sum(waiting)


def _admitted(seen: Seen) -> frozenset[Phase]:
    """Return the phases of what was let in and is not up: where names are asked for, they wait."""
    if seen.fleet.renews:
        return frozenset({Phase.WANTED, Phase.STARTING})
    return frozenset({Phase.STARTING})


def why_no_offer(row: FleetRow, seen: Seen) -> tuple[str, datetime | None]:
    """Return why no offer is open, and until when if that is known."""
    blocked = _setbacks(row, seen)
    if seen.traits.hosts:
        due = min((setback.until for setback in blocked), default=None)
        blocked = [setback for setback in blocked if not setback.stock]
        if not blocked and all(zone_is_known(seen, offer) for offer in seen.fleet.offers):
            return claims.none_free(seen), due
    if not blocked:
        trying = [o for o in seen.fleet.offers if row.setback(o)]
        if trying:
            return f"trying {trying[0]} with one machine after it failed", None
        return (
            "no zone of this fleet could be looked at whole lately: `hostler check FILE --online`",
            None,
        )
    first = min(blocked, key=lambda s: s.until)
    word = "waiting for stock" if all(s.stock for s in blocked) else "backing off"
    offers = "; ".join(f"{s.offer}: {s.why}" for s in blocked)
    return f"{word} until {first.until:%H:%M:%S} UTC ({offers})", first.until


def in_present(row: FleetRow, seen: Seen) -> FleetRow:
    """Return the row without pauses longer than any: the clock jumped back since they were set."""
    timers = seen.fleet.timers
    last = seen.now + max(timers.stock_memory, *timers.tries)
    if all(setback.until <= last for setback in row.setbacks):
        return row
    return replace(row, setbacks=tuple(replace(s, until=min(s.until, last)) for s in row.setbacks))


def remember(step: Step, row: FleetRow, seen: Seen) -> FleetRow:
    """Return the row with what this step teaches of its offer: empty shelves, failures, success."""
    before, machine = step.before, step.machine
    if before.phase is Phase.STARTING and before.offer != machine.offer:
        told = failure.REFUSALS[before.refused] if before.refused else Reason.REFUSED
        row = replace(row, creations=(*row.creations, seen.now))
        return row.sold_out(before.offer, str(told), seen.now + seen.fleet.timers.stock_memory)
    if before.phase is not Phase.STARTING or machine.phase is before.phase:
        return row
    if machine.phase is Phase.READY:
        return row.without_setback(machine.offer)
    if machine.reason in {Reason.OUT_OF_STOCK, Reason.QUOTA}:
        until = seen.now + seen.fleet.timers.stock_memory
        return row.sold_out(machine.offer, machine.reason, until)
    failed = machine.phase in {Phase.BROKEN, Phase.STOPPING}
    if machine.ending is not None or not failed or machine.reason == Reason.OUTFIT_BROKEN:
        return row
    older = row.setback(machine.offer)
    count = _failures(older, seen.now)
    tries = seen.fleet.timers.tries
    pause = tries[min(count, len(tries)) - 1]
    return row.with_setback(
        Setback(offer=machine.offer, why=machine.reason, until=seen.now + pause, count=count)
    )


def _failures(older: Setback | None, now: datetime) -> int:
    """Return how many tries in a row failed; those that were under way together count as one.

    Empty shelves between them take none of them back.
    """
    if older is None:
        return 1
    together = now < older.until and not older.stock
    return max(1, older.count if together else older.count + 1)
