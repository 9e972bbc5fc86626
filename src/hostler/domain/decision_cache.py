"""Rests: machines of which nothing was to be said, remembered as long as all that this rests on.

A decision is the same with and without it, but for the time that it takes: a large fleet is asked
about in full only where something is otherwise than before.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from .hosts.purchasing import lapses
from .ids import MachineId
from .model.commands import Decision, Verdict
from .model.fleet import KEPT, Fleet
from .model.host import Host
from .model.inventory import Sighting
from .model.machine import Fate, Machine
from .model.phases import Phase
from .model.resource import DOWN
from .model.snapshot import Seen
from .model.transition import Step

LONGEST = timedelta(minutes=10)
"""After this, a machine is asked about again whatever stands: what its provider says may wait for a
time. Machines take turns, so that not all are asked at once."""


@dataclass(frozen=True, slots=True)
class Rest:
    """One machine at rest: the records, sightings and marks that were judged, and the result."""

    machine: Machine
    host: Host | None
    sightings: tuple[Sighting, ...]
    marked: int
    step: Step
    verdict: Verdict
    until: datetime


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole fleet at rest: the very values that were judged, the result, and until when."""

    seen: Seen
    decision: Decision
    until: datetime


class Rests:
    """What one fleet's decisions remember of each other; losing it costs time and nothing else.

    Nothing is believed for longer than `longest`, and its machines' turns.
    """

    def __init__(self, *, remembers: bool = True, longest: timedelta = LONGEST) -> None:
        self._remembers, self._longest = remembers, longest
        self._kept = dict[MachineId, Rest]()
        self._whole: Whole | None = None
        self._fleet: Fleet | None = None
        self._jumped: datetime | None = None
        self._last: datetime | None = None

    def begin(self, seen: Seen) -> None:
        """Forget everything if the fleet is another, or the clock cannot be trusted."""
        back = self._last is not None and seen.now < self._last
        if back or seen.fleet is not self._fleet or seen.jumped != self._jumped:
            self._kept.clear()
            self._whole = None
        self._fleet, self._jumped, self._last = seen.fleet, seen.jumped, seen.now

    def decision(self, seen: Seen) -> Decision | None:
        """Return the decision to do nothing, where all that it rested on stands; or None."""
        whole = self._whole
        if whole is None or seen.now >= whole.until or not is_plain(seen):
            return None
        before = whole.seen
        same = (
            seen.machines is before.machines
            and seen.view.sightings is before.view.sightings
            and seen.view.marked is before.view.marked
            and seen.row == before.row
            and seen.hosts is before.hosts
            and (seen.ties, seen.free) == (before.ties, before.free)
            and (seen.limits, seen.pool) == (before.limits, before.pool)
            and (seen.usurped, seen.stirring) == (before.usurped, before.stirring)
        )
        return whole.decision if same else None

    def keep_whole(self, decision: Decision, steps: tuple[Step, ...], seen: Seen) -> None:
        """Remember a decision to do nothing about a fleet in which every machine rests."""
        self._whole = None
        if not self._remembers or not is_plain(seen) or not _waits_for_nothing(decision, seen):
            return
        rests = [(self._kept.get(step.machine.id), step) for step in steps]
        until = [rest.until for rest, step in rests if rest is not None and rest.step is step]
        if len(until) == len(seen.machines):
            until += _ends(seen)
            self._whole = Whole(seen, decision, min(until, default=seen.now + self._longest))

    def step(self, machine: Machine, seen: Seen) -> Step | None:
        """Return the step of a machine of which everything is as it was, or None."""
        rest = self._kept.get(machine.id)
        if rest is None or rest.machine is not machine or seen.now >= rest.until:
            return None
        if rest.host is not _host_of(machine, seen) or machine.host in seen.usurped:
            return None
        sightings = seen.view.sightings
        for sighting in rest.sightings:
            if sightings.get(sighting.part.id) is not sighting:
                return None
        if len(seen.view.marked.get(machine.id, ())) != rest.marked:
            return None
        return rest.step

    def verdict(self, step: Step) -> Verdict | None:
        """Return what was said of a machine whose very step this is, or None."""
        rest = self._kept.get(step.machine.id)
        return rest.verdict if rest is not None and rest.step is step else None

    def keep(self, step: Step, seen: Seen) -> None:
        """Remember a step after which nothing was to be done, nor waited for.

        What is down is not remembered: soon after a start it counts for nothing yet, and later on
        for a loss, although nothing changed but the time. Nor is what was asked for anything that
        no look shows for sure: its provider, and our own rules, wait for one.
        """
        if not self._remembers or not is_quiet(step) or _is_settling(step.machine, seen):
            return
        machine, view = step.machine, seen.view
        found = [view.sightings.get(k.id) for place in machine.places for k in place.known]
        sightings = tuple(sighting for sighting in found if sighting is not None)
        marked = len(view.marked.get(machine.id, ()))
        if any(sighting.part.condition in DOWN for sighting in sightings):
            return
        if len(sightings) == len(found) and marked <= len(found):
            spread = timedelta(seconds=5 * (machine.serial % 60))
            until, host = seen.now + self._longest + spread, _host_of(machine, seen)
            verdict = step.verdict()
            self._kept[machine.id] = Rest(machine, host, sightings, marked, step, verdict, until)


def _is_settling(machine: Machine, seen: Seen) -> bool:
    """Tell whether something that was asked for is open, or newer than what looks surely show."""
    if not machine.asked:
        return False
    newest = max(asked.closed or asked.at for asked in machine.asked)
    looked = seen.view.covered(machine.offer.zone, seen.traits.main.kind, machine.id)
    late = looked is None or looked - seen.traits.settle < newest
    return late or any(asked.fate is Fate.OPEN for asked in machine.asked)


def _host_of(machine: Machine, seen: Seen) -> Host | None:
    return seen.hosts.get(machine.host) if machine.host else None


def is_plain(seen: Seen) -> bool:
    """Tell whether nothing but machines at rest is in sight: no wish, no stranger, no suspect."""
    strange = seen.foreign or seen.unexplained or seen.aside or seen.late or seen.suspects
    return not (strange or seen.wishes or seen.moving)


def _waits_for_nothing(decision: Decision, seen: Seen) -> bool:
    """Tell whether a decision to do nothing would be so whatever the time."""
    row, fleet = seen.row, seen.fleet
    if decision.commands or decision.condition or decision.due or decision.expecting:
        return False
    if row.pause is not None or row.setbacks:
        return False
    return not (fleet.replace_outdated and any(m.template != fleet.template for m in seen.machines))


def _ends(seen: Seen) -> list[datetime]:
    """Return the times at which something ends by itself: what the row remembers, an age."""
    row, oldest = seen.row, seen.fleet.timers.max_age
    times = [at + KEPT for at in (*row.creations, *row.destructions, *row.losses)]
    times += lapses(row)
    if oldest is not None:
        times += [m.was_ready + oldest for m in seen.machines if m.was_ready is not None]
    return times


def is_quiet(step: Step) -> bool:
    """Tell whether a step leaves a ready machine as it is, with nothing to do and to wait for."""
    machine = step.machine
    if machine is not step.before or machine.phase is not Phase.READY or machine.doubt is not None:
        return False
    acts = step.goal or step.probe or step.ask or step.close or step.events
    return not (acts or step.blocker or step.lost) and step.next.step == "nothing"
