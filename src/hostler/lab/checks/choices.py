"""Choices: what an engine does because of a number or a bound, held against that number and bound.

Machines that end as too many leave as many as were asked for, and those are what is worth most; no
bound is said to be over before its time; and no offer is left alone for longer than so many failed
starts in a row make due. What is decided is judged once it is saved: a decision of an engine that
is not alone may come to nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.ids import MachineId
from hostler.domain.model.commands import Advance, Decision, SaveFleet
from hostler.domain.model.fleet import Fleet, FleetRow
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase, Reason
from hostler.lab.scenario.faults import OTHER_STORES
from hostler.testing.invariants import COUNTED, Found, Violation
from hostler.testing.time.clock import BEGINNING

from .shadow_store import ShadowStore

SLACK = 10.0
"""Seconds by which two clocks may differ on how long something took."""

IN_FLIGHT = 60.0
"""So long, in seconds, after a call for a machine was sent it may be in flight, and not chosen."""

_FAILED = frozenset({Phase.FAILED, Phase.STOPPING})
_HALF_MADE = frozenset({Phase.PENDING, Phase.STARTING})
_JUMPS = ("clock_jump", "suspended")


@dataclass(slots=True)
class Choices:
    """What one installation's engines decided; times are seconds of true time.

    `failures` are how many starts of an offer failed since one went well, at the most; `called` is
    when a call for each machine was sent last.
    """

    faults: Mapping[str, int]
    called: Mapping[MachineId, float]
    failures: Counter[Offer] = field(default_factory=Counter[Offer])
    found: dict[MachineId, Found] = field(default_factory=dict[MachineId, Found])
    entered: dict[MachineId, tuple[Phase, float]] = field(
        default_factory=dict[MachineId, tuple[Phase, float]]
    )

    def decided(self, shadow: ShadowStore, fleet: Fleet, made: Decision, now: float) -> Found:
        """Judge a decision by all that is on record, and what it changes of that."""
        after = {machine.id: machine for machine in shadow.living(fleet.name)}
        advances = [c.machine for c in made.commands if isinstance(c, Advance)]
        ending = [m.id for m in advances if _is_too_many(m)]
        victims = [m for m in after.values() if m.id in ending and m.deletion is None]
        for machine in advances:
            self.found.pop(machine.id, None)
            after[machine.id] = machine
            before = shadow.machines.get(machine.id)
            began = before is not None and before.phase is Phase.STARTING
            self.failures[machine.offer] += began and machine.phase in _FAILED
        rows = [c.row for c in made.commands if isinstance(c, SaveFleet)]
        row = rows[0] if rows else shadow.rows.get(fleet.name)
        size = row.desired(fleet) if row is not None else fleet.size
        staying = [m for m in after.values() if m.phase in COUNTED and m.deletion is None]
        recalled = frozenset(made.recalled)  # they end too, once the call that waits is back
        for victim in victims:
            called = ((m, self.called.get(m.id, -IN_FLIGHT)) for m in staying)
            idle = [m for m, at in called if now - at >= IN_FLIGHT and m.id not in recalled]
            self.found[victim.id] = _sized(victim, len(staying), size) or _worth(
                victim, fleet, idle
            )
        return self._too_long(shadow.rows.get(fleet.name), rows[0], fleet, now) if rows else ()

    def _too_long(
        self, before: FleetRow | None, after: FleetRow, fleet: Fleet, now: float
    ) -> Found:
        """Return that an offer is left alone for longer than its failures make due."""
        known = before.setbacks if before is not None else ()
        tries = fleet.timers.tries
        for setback in after.setbacks:
            many = max(1, min(self.failures[setback.offer], len(tries)))
            pause = (setback.until - BEGINNING).total_seconds() - now
            if setback in known or setback.stock or self._is_other_time():
                continue
            if pause > tries[many - 1].total_seconds() + SLACK:
                text = f"{setback.offer} is left alone for {pause:.0f} s after {many} failures"
                return (Violation(invariant="S4", text=text),)
        return ()

    def _is_other_time(self) -> bool:
        return any(self.faults[fault] for fault in (*_JUMPS, *OTHER_STORES))

    def saved(
        self, shadow: ShadowStore, before: Machine | None, after: Machine, now: float
    ) -> Found:
        """Judge a record that was saved."""
        found = self._too_early(shadow, before, after, now)
        if before is None or before.phase is not after.phase:
            self.entered[after.id] = after.phase, shadow.decided_at(after, now)
        if before is not None and before.phase is Phase.STARTING and after.phase is Phase.READY:
            self.failures[after.offer] = min(1, self.failures[after.offer])
        if _is_too_many(after) and _stays(before):
            found = found or self.found.pop(after.id, ())
        return found

    def _too_early(
        self, shadow: ShadowStore, before: Machine | None, after: Machine, now: float
    ) -> Found:
        """Return that a bound is said to be over which is not.

        Nothing is said after a clock jumped, nor where another store may have the same machines.
        """
        fleet = shadow.fleets.get(after.fleet)
        phase, since = self.entered.get(after.id, (None, 0.0))
        if before is None or fleet is None or phase is not before.phase:
            return ()
        bound = _over(before, after, fleet)
        passed = now - since
        if bound is None or self._is_other_time():
            return ()
        if passed >= bound.total_seconds() - SLACK:
            return ()
        text = f"{after.id} was {phase} for {passed:.0f} s, and {after.reason} is told"
        return (Violation(invariant="S9", text=text, machine=after.id),)


def _stays(machine: Machine | None) -> bool:
    return machine is not None and machine.deletion is None


def _is_too_many(machine: Machine) -> bool:
    deletion = machine.deletion
    return deletion is not None and deletion.why == Reason.SCALED_DOWN


def _sized(victim: Machine, staying: int, size: int) -> Found:
    if staying >= size:
        return ()
    text = f"{victim.id} ends as too many, and leaves {staying} of {size}"
    return (Violation(invariant="E3", text=text, machine=victim.id),)


def _worth(victim: Machine, fleet: Fleet, staying: Iterable[Machine]) -> Found:
    """Return that a machine ends which is worth more than one that stays and might have ended."""
    for other in staying:
        if other.protection is not None or fleet.outdates(other) != fleet.outdates(victim):
            continue
        half_made = victim.phase is Phase.READY and other.phase in _HALF_MADE
        younger = other.phase is victim.phase and other.created > victim.created
        if half_made or younger:
            text = f"{victim.id} ends as too many, and {other.id} stays, which is "
            text += str(other.phase) if half_made else "younger"
            return (Violation(invariant="E3", text=text, machine=victim.id),)
    return ()


def _over(before: Machine, after: Machine, fleet: Fleet) -> timedelta | None:
    """Return the bound that a record says is over by now, if it says so."""
    timers, moved = fleet.timers, before.phase is not after.phase
    if after.health.stuck and not before.health.stuck:
        return timers.stop
    bounds = {
        Reason.START_OVERDUE: timers.start,
        Reason.NOT_ADMITTED: timers.admit,
        Reason.CLEANING: timers.keep_failed if after.deletion is None else timedelta(0),
        Reason.DRAIN_OVERDUE: timers.drain,
    }
    return next((b for r, b in bounds.items() if moved and after.reason == r), None)
