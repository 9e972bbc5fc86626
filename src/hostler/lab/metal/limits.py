"""Limits: boxes are switched no oftener, and no more of them at a time, than their rack allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf

from hostler.domain.ids import HostId, MachineId
from hostler.domain.model.calls import Call
from hostler.domain.model.capabilities import Cleaning
from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.hold import HoldKind
from hostler.domain.model.host import HOST, Host, HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Condition
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.lab.scenario.faults import STORE_RESTORED
from hostler.testing.invariants import Found, Violation

from .faults import MetalScenario
from .ground_truth import MetalTruth
from .sightings import SEEN, Sightings


@dataclass(slots=True, kw_only=True)
class Limits:
    """What is held against the limits of power; `faults` are how often each fault struck.

    `rack_of` says with which others a box takes its turn. Where boxes `join_late`, nobody knows
    since when one is on or off that was not known then.
    """

    truth: MetalTruth
    scenario: MetalScenario
    sightings: Sightings
    faults: Mapping[str, int]
    now: Callable[[], float]
    rack_of: Callable[[HostId], str]
    join_late: bool
    _newest_start: dict[str, tuple[HostId, float]] = field(
        default_factory=dict[str, tuple[HostId, float]]
    )
    _restored: int = 0

    def started(self, box: HostId, call: Call) -> Found:
        """Boxes are told to start one after the other, as far apart as their limits say.

        A start for a cleaning command does not take its turn. A backup that is put back knows of no
        start that came after it.
        """
        if self.faults[STORE_RESTORED] != self._restored:
            self._restored = self.faults[STORE_RESTORED]
            self._newest_start.clear()
        if call.slot == HOST and self.scenario.cleaning is Cleaning.COMMAND:
            return ()
        rack, now = self.rack_of(box), self.now()
        before, at = self._newest_start.get(rack, (None, -inf))
        self._newest_start[rack] = box, now
        if before is None or box == before or self.faults["clock_jump"]:
            return ()
        gap = now - at
        if gap < self.scenario.power.start_gap.total_seconds() - 2.0 - self._apart:
            return _broken(f"{box} is started {gap:.0f} s after {before}", None)
        return ()

    def waits(self, box: HostId) -> bool:
        """Tell whether a box may have to wait for its turn: another was started just now."""
        _, at = self._newest_start.get(self.rack_of(box), (None, -inf))
        return self.now() - at < self.scenario.power.start_gap.total_seconds() + SEEN

    def has_room(self, shadow: ShadowStore, host: Host) -> bool:
        """Tell whether a box may go on by now: as many others may not be on their way as may be.

        One that stays dark, or that nobody can switch, takes up its room until that is a strike.
        """
        if host.power.begun is not None:
            return True
        others = (h for h in shadow.hosts.values() if self._share(host.id, h.id))
        begun = sum(h.power.begun is not None for h in others)
        starting = (m for m in shadow.living() if m.phase is Phase.STARTING and m.host is not None)
        begun += sum(self._share(host.id, machine.host) for machine in starting)
        return begun < self.scenario.power.parallel_starts

    def stopped(self, host: Host | None, call: Call) -> Found:
        """A box that nobody needs stays on for its least time; cleaning and people apart.

        Whoever switches a box on right after we switched it off hides that it was ever off: it
        looks as if our command had been ignored, and is repeated; as does a brown-out that nobody
        was shown, for the engine stood still, or died as it was. A store that was put back does not
        know when the box was switched on.
        """
        unknown = self.faults["clock_jump"] or self.faults[STORE_RESTORED]
        if host is None or call.slot != HOST or unknown or _is_asked_off(host):
            return ()
        on, now = self.truth.last(host.id, Condition.STARTING), self.now()
        if on is not None and self._joined(host.id) > on + 1.0:
            return ()
        least = self.scenario.power.least_on.total_seconds()
        free = host.condition is HostCondition.FREE and host.goal is not HostGoal.CLEAN
        noticed = on is not None and self._was_off(host.id, on) > SEEN
        if free and noticed and on is not None and now - on < least - 1.0 - self._apart:
            return _broken(f"{host.id} goes off after {now - on:.0f} s", None)
        return ()

    def taken(self, shadow: ShadowStore, machine: Machine, box: HostId) -> Found:
        """Judge whether a box that a machine takes may be switched on now.

        What a person or a brown-out did to it since it was bound, or so shortly before that nobody
        had seen it, was not known when it was taken; nor is since when it is off where that was on
        record only until the store was put back, or where who leads stood still and never listed it
        so.
        """
        now, condition = self.now(), self.truth.condition(box)
        if self.faults["clock_jump"] or condition is Condition.UP:
            return ()
        if self._was_handled(shadow, box) is not None:
            return ()
        limits, at = self.scenario.power, self.truth.off_since(box)
        since, known = now - at, self._joined(box) < at and not shadow.has_forgotten(at)
        off = condition is Condition.OFF and since > SEEN and known and self._may_know(box, at)
        least = limits.least_off.total_seconds() - 1.0 - self._apart
        found: Found = ()
        if off and self._was_on(box) > SEEN and since < least:
            found = _broken(f"{box} was off for {since:.0f} s", machine.id)
        fresh = [m for m in shadow.living() if self._is_starting(m, machine, shadow)]
        if len(fresh) > limits.parallel_starts:
            found = (*found, *_broken(f"{len(fresh)} boxes start at a time", machine.id))
        return found

    def _may_know(self, box: HostId, off_at: float) -> bool:
        """Tell whether somebody may know by now that a box went off: who stands still does not."""
        stood_still = self.faults["paused"] or self.faults["suspended"]
        return not stood_still or self.sightings.off(box) >= off_at

    def _was_handled(self, shadow: ShadowStore, box: HostId) -> float | None:
        """Return when a person touched a box since it was bound, or just before; None if never."""
        handled = self.truth.handled.get(box, -inf)
        return handled if handled >= shadow.bound_at.get(box, self.now()) - SEEN else None

    def _joined(self, box: HostId) -> float:
        """Return when a box may have become known; long ago where all are from the beginning."""
        return self.truth.handled.get(box, -inf) if self.join_late else -inf

    def _is_starting(self, machine: Machine, newest: Machine, shadow: ShadowStore) -> bool:
        """Tell whether a box of the same rack is started for the first time, and truly not up yet.

        One that had been switched on before its machine got it is not started for that one, nor is
        another that a person touched lately, after it was bound: it was on then. Where nothing
        probes it, it is up once it was seen on, though that could not be recorded yet. One of
        another fleet counts for as long as a start of this one's may take, and no longer.
        """
        box = machine.host
        if box is None or machine.health.was_ready is not None or not self._share(box, newest.host):
            return False
        on = self.truth.last(box, Condition.STARTING)
        bound = shadow.bound_at.get(box, self.now())
        condition, handled = self.truth.condition(box), self._was_handled(shadow, box)
        if condition is Condition.STARTING and on is not None and on < bound:
            return False
        if machine.id != newest.id and handled is not None and self.now() - handled < 2 * SEEN:
            return False
        if machine.fleet != newest.fleet and self._takes_long(bound, newest, shadow):
            return False
        fleet = shadow.fleets.get(machine.fleet)
        probed = fleet is None or fleet.probe.kind is not ProbeKind.API
        if not probed and on is not None and self.sightings.last(box, Condition.UP) >= on:
            return False
        starting = machine.id == newest.id or self._phase(machine, shadow) is Phase.STARTING
        return starting and condition is not Condition.UP

    def _takes_long(self, bound: float, newest: Machine, shadow: ShadowStore) -> bool:
        """Tell whether who has its box since then starts for longer than a machine's fleet lets."""
        fleet = shadow.fleets.get(newest.fleet)
        if fleet is None:
            return False
        return self.now() - bound >= fleet.timers.start.total_seconds() - 1.0 - self._apart

    def _phase(self, machine: Machine, shadow: ShadowStore) -> Phase:
        """Return a machine's phase as it was decided just now, though that is not saved yet."""
        phase, at = shadow.decided.get(machine.id, (machine.phase, -inf))
        return phase if self.now() - at < SEEN else machine.phase

    def _share(self, box: HostId, other: HostId | None) -> bool:
        return other is None or self.rack_of(box) == self.rack_of(other)

    @property
    def _apart(self) -> float:
        """How far apart the clocks are, in seconds, by which one engine goes on after another."""
        base = self.scenario.base
        return abs(base.skews[0] - base.skews[1]) if base.replicas > 1 else 0.0

    def _was_on(self, box: HostId) -> float:
        """Return for how long a box was on before it went off; for a short while nobody sees it."""
        on = self.truth.last(box, Condition.STARTING)
        return self.truth.since(box) - on if on is not None else 1e9

    def _was_off(self, box: HostId, on: float) -> float:
        """Return for how long a box was off before it went on; nothing where none was shown it."""
        off = self.truth.last(box, Condition.OFF)
        if off is None:
            return 1e9
        return on - off if self.sightings.off(box) >= off else 0.0


def _broken(text: str, machine: MachineId | None) -> Found:
    return (Violation(invariant="power", text=text, machine=machine),)


def _is_asked_off(host: Host) -> bool:
    """Tell whether a person asks that a host is off: whenever it went on, it goes off."""
    held = host.hold is not None and host.hold.kind is HoldKind.OFF
    return held or host.power.cycle is HostGoal.OFF
