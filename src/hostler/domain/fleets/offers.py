"""Offers: which types and zones may be tried now, and what is remembered of those that failed."""

from dataclasses import replace
from datetime import datetime

from hostler.domain.hosts import claims
from hostler.domain.machines import failure, rollout
from hostler.domain.model.fleet import FleetRow, Setback, creations_left
from hostler.domain.model.machine import Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step
from hostler.domain.observation.blockers import world_is_right, zone_is_known

UNBEGUN = 64
"""How many machines may wait for their first answer: more of them would only grow old waiting for
the account's budget, and be given up at their start bound before anything was made for them."""


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
