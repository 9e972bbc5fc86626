"""Decision cache: machines that needed nothing, remembered until what was judged changes.

A decision is the same with and without it, but for the time that it takes: a large fleet is asked
about in full only where something is otherwise than before.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.hosts.purchasing import lapses, windows
from hostler.domain.ids import MachineId
from hostler.domain.model.commands import Decision, Verdict
from hostler.domain.model.fleet import KEPT, Fleet
from hostler.domain.model.host import Host
from hostler.domain.model.inventory import Sighting
from hostler.domain.model.machine import CallState, Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import DOWN
from hostler.domain.model.snapshot import Snapshot
from hostler.domain.model.transition import Transition
from hostler.domain.observation.blockers import unobserved

LONGEST = timedelta(minutes=10)
"""After this, a machine is asked about again whatever stands: what its provider says may wait for a
time. Machines take turns, so that not all are asked at once."""


class Rest(Struct, frozen=True):
    """A machine at rest: the records, sightings and owner tags that were judged, and the result."""

    machine: Machine
    host: Host | None
    sightings: tuple[Sighting, ...]
    tagged: int
    transition: Transition
    verdict: Verdict
    until: datetime


class Whole(Struct, frozen=True):
    """A whole fleet at rest: the very values that were judged, the result, and until when."""

    snapshot: Snapshot
    decision: Decision
    until: datetime


class DecisionCache:
    """What one fleet's decisions remember of each other; losing it costs time and nothing else.

    Nothing is believed for longer than `longest`, and its machines' cycles.
    """

    def __init__(self, *, remembers: bool = True, longest: timedelta = LONGEST) -> None:
        self._remembers, self._longest = remembers, longest
        self._cached = dict[MachineId, Rest]()
        self._whole: Whole | None = None
        self._fleet: Fleet | None = None
        self._jumped: datetime | None = None
        self._last: datetime | None = None

    def begin(self, snapshot: Snapshot) -> None:
        """Forget everything if the fleet is another, or the clock cannot be trusted."""
        back = self._last is not None and snapshot.now < self._last
        if back or snapshot.fleet is not self._fleet or snapshot.jumped != self._jumped:
            self._cached.clear()
            self._whole = None
        if len(self._cached) > len(snapshot.machines):  # what is gone would pile up
            living = {machine.id for machine in snapshot.machines}
            self._cached = {m: rest for m, rest in self._cached.items() if m in living}
        self._fleet, self._jumped, self._last = snapshot.fleet, snapshot.jumped, snapshot.now

    def decision(self, snapshot: Snapshot) -> Decision | None:
        """Return the decision to do nothing, where all that it rested on stands; or None."""
        whole = self._whole
        if whole is None or snapshot.now >= whole.until or not is_plain(snapshot):
            return None
        before = whole.snapshot
        same = (
            snapshot.machines is before.machines
            and snapshot.inventory.sightings is before.inventory.sightings
            and snapshot.inventory.tagged is before.inventory.tagged
            and snapshot.row == before.row
            and (snapshot.hosts, snapshot.free) == (before.hosts, before.free)
            and snapshot.bindings == before.bindings
            and (snapshot.limits, snapshot.pool) == (before.limits, before.pool)
            and (snapshot.usurped, snapshot.moving_hosts) == (before.usurped, before.moving_hosts)
        )
        return whole.decision if same else None

    def keep_whole(
        self, decision: Decision, transitions: tuple[Transition, ...], snapshot: Snapshot
    ) -> None:
        """Remember a decision to do nothing about a fleet in which no machine needs anything."""
        self._whole = None
        if (
            not self._remembers
            or not is_plain(snapshot)
            or not _waits_for_nothing(decision, snapshot)
        ):
            return
        cache = [
            (self._cached.get(transition.machine.id), transition) for transition in transitions
        ]
        until = [
            rest.until
            for rest, transition in cache
            if rest is not None and rest.transition is transition
        ]
        if len(until) == len(snapshot.machines):
            until += _ends(snapshot)
            self._whole = Whole(
                snapshot, decision, min(until, default=snapshot.now + self._longest)
            )

    def transition(self, machine: Machine, snapshot: Snapshot) -> Transition | None:
        """Return the step of a machine of which everything is as it was, or None."""
        rest = self._cached.get(machine.id)
        if rest is None or rest.machine is not machine or snapshot.now >= rest.until:
            return None
        if rest.host is not _host_of(machine, snapshot) or machine.host in snapshot.usurped:
            return None
        sightings = snapshot.inventory.sightings
        for sighting in rest.sightings:
            if sightings.get(sighting.resource.id) is not sighting:
                return None
        if len(snapshot.inventory.tagged.get(machine.id, ())) != rest.tagged:
            return None
        return rest.transition

    def verdict(self, transition: Transition) -> Verdict | None:
        """Return what was said of a machine whose very step this is, or None."""
        rest = self._cached.get(transition.machine.id)
        return rest.verdict if rest is not None and rest.transition is transition else None

    def keep(self, transition: Transition, snapshot: Snapshot) -> None:
        """Remember a step after which nothing was to be done, nor waited for.

        What is down is not remembered: soon after a start it counts for nothing yet, and later on
        for a loss, although nothing changed but the time. So it is with what an answer removed, and
        lists show still. Nor is what was asked for anything that no observation shows for sure: its
        provider, and our own rules, wait for one.
        """
        if (
            not self._remembers
            or not is_quiet(transition)
            or _is_settling(transition.machine, snapshot)
        ):
            return
        machine, inventory = transition.machine, snapshot.inventory
        known = [one for place in machine.places for one in place.known]
        found = [inventory.sightings.get(one.id) for one in known]
        sightings = tuple(sighting for sighting in found if sighting is not None)
        tagged = len(inventory.tagged.get(machine.id, ()))
        if any(sighting.resource.condition in DOWN for sighting in sightings):
            return
        if any(one.removed is not None and one.id in inventory.sightings for one in known):
            return
        if len(sightings) == len(found) and tagged <= len(found):
            spread = timedelta(seconds=5 * (machine.serial % 60))
            until, host = snapshot.now + self._longest + spread, _host_of(machine, snapshot)
            verdict = transition.verdict()
            self._cached[machine.id] = Rest(
                machine, host, sightings, tagged, transition, verdict, until
            )


def _is_settling(machine: Machine, snapshot: Snapshot) -> bool:
    """Tell whether something that was asked for is open, or newer than what is surely observed."""
    if not machine.asked:
        return False
    newest = max(asked.closed or asked.at for asked in machine.asked)
    observed = snapshot.inventory.covered(
        machine.offer.zone, snapshot.capabilities.main.kind, machine.id
    )
    late = observed is None or observed - snapshot.capabilities.consistency_delay < newest
    return late or any(asked.call_state is CallState.OPEN for asked in machine.asked)


def _host_of(machine: Machine, snapshot: Snapshot) -> Host | None:
    return snapshot.hosts.get(machine.host) if machine.host else None


def is_plain(snapshot: Snapshot) -> bool:
    """Tell whether nothing but machines at rest is in sight: no request, no stranger, no orphan."""
    strange = (
        snapshot.foreign
        or snapshot.unexplained
        or snapshot.removing
        or snapshot.unissued
        or snapshot.aside
        or snapshot.late
        or snapshot.orphans
    )
    return not (strange or snapshot.requests or snapshot.moving or unobserved(snapshot))


def _waits_for_nothing(decision: Decision, snapshot: Snapshot) -> bool:
    """Tell whether a decision to do nothing would be so whatever the time."""
    row, fleet = snapshot.row, snapshot.fleet
    if decision.commands or decision.condition or decision.due or decision.expecting:
        return False
    if row.pause is not None or row.setbacks:
        return False
    return not (fleet.replace_outdated and any(fleet.outdates(m) for m in snapshot.machines))


def _ends(snapshot: Snapshot) -> list[datetime]:
    """Return the times at which something ends by itself: what the row remembers, a protection."""
    row, oldest = snapshot.row, snapshot.fleet.timers.max_age
    times = [at + KEPT for at in (*row.creations, *row.destructions, *row.losses)]
    times += lapses(row)
    times += windows(snapshot)
    protections = [m.protection for m in snapshot.machines if m.protection is not None]
    times += [one.until for one in protections if one.until > snapshot.now]
    if oldest is not None:
        times += [
            m.health.was_ready + oldest for m in snapshot.machines if m.health.was_ready is not None
        ]
    return times


def is_quiet(transition: Transition) -> bool:
    """Tell whether a step leaves a ready machine as it is, with nothing to do and to wait for."""
    machine = transition.machine
    if (
        machine is not transition.before
        or machine.phase is not Phase.READY
        or machine.health.doubt is not None
    ):
        return False
    acts = (
        transition.goal
        or transition.probe
        or transition.ask
        or transition.close
        or transition.events
    )
    return not (acts or transition.blocker or transition.lost) and transition.next.kind == "nothing"
