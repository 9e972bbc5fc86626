"""Blockers: what stops a decision: holds, pauses, foreign resources, incomplete observations."""

from datetime import datetime

from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import Seen


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


def held_until(machine: Machine, now: datetime) -> str:
    """Return the sentence that says who holds this machine, or an empty one."""
    if machine.hold is None or not machine.held(now):
        return ""
    hold = machine.hold
    return f"held until {hold.until:%Y-%m-%d %H:%M} UTC by {hold.actor}: {hold.why}".removesuffix(
        ": "
    )


def paused(row: FleetRow, now: datetime) -> str:
    """Return the sentence that says who paused the fleet, or an empty one."""
    if row.pause is None or now >= row.pause.until:
        return ""
    return f"the fleet is paused by {row.pause.actor}: {row.pause.why}"


def protection(machine: Machine, row: FleetRow, seen: Seen) -> str:
    """Return why what was once ready may not be destroyed now, or an empty string (G5).

    A rollback of what was never ready is kept from it by a hold of the machine alone.
    """
    if held := held_until(machine, seen.now):
        return held
    if machine.was_ready is None:
        return ""
    if seen.fleet.protected:
        return "the fleet is protected: set `protected = false` to let its machines end"
    return paused(row, seen.now)


def ends_at_once(machine: Machine) -> bool:
    """Tell whether an ending needs no drain: nothing can run on what was never ready."""
    return machine.phase in {Phase.WANTED, Phase.STARTING, Phase.BROKEN} or (
        machine.ending is not None and machine.ending.now
    )
