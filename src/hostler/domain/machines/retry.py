"""Anew: which machines may try once more to be made, so that an hour's attempts are bounded?

The first attempt of a machine is counted as it begins. What is refused, lost or never sent is tried
again under the same record: each of these counts as well, or one machine alone would use up any
number (invariant S4). Where there is no room, a machine waits; whoever waited longest is first.
"""

from dataclasses import replace
from datetime import datetime

from hostler.domain.model.calls import Call, Effect
from hostler.domain.model.caps import next_creation
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.machine import LEFT, Machine
from hostler.domain.model.resource import Slot
from hostler.domain.model.snapshot import Seen
from hostler.domain.model.transition import Step, wait


def last_try(step: Step, calls: tuple[Call, ...], seen: Seen) -> datetime | None:
    """Return when this start last asked for what these calls make again; None for a first attempt.

    A step whose offer was changed just now is counted with that change.
    """
    makes = {call.slot for call in calls if call.effect is Effect.MAKE}
    if not makes or step.before.offer != step.machine.offer:
        return None
    return _tried(step.machine, makes | {seen.traits.main})


def bounded(
    steps: tuple[Step, ...], row: FleetRow, begun: int, seen: Seen
) -> tuple[tuple[Step, ...], FleetRow]:
    """Return the steps of which those without room wait, and the row that counts the others.

    `begun` creations were granted in this decision, and are counted apart.
    """
    kept = list(steps)
    again = ((step.tried, place) for place, step in enumerate(steps) if step.tried is not None)
    for _, place in sorted(again):
        counted = (*row.creations, *(seen.now,) * begun)
        at = next_creation(seen.fleet, replace(row, creations=counted), seen.now)
        if at > seen.now:
            held = replace(steps[place], goal=None)
            kept[place] = wait(held, "wait", "room under the bound on creations in an hour", at)
        else:
            row = replace(row, creations=(*row.creations, seen.now))
    return tuple(kept), row


def _tried(machine: Machine, slots: set[Slot]) -> datetime | None:
    """Return when this start last asked for one of these, or let go of a host for another one."""
    asked = [asked.at for asked in machine.asked if asked.slot in slots]
    left = [fact.at for fact in machine.facts if fact.name.startswith(f"{LEFT} ")]
    return max((at for at in (*asked, *left) if at >= machine.since), default=None)
