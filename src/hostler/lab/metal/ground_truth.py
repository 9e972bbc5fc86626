"""Ground truth: what truly became of each box, by the rack and by the commands it obeyed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hostler.domain.ids import HostId, ResourceId
from hostler.domain.model.resource import Condition
from hostler.testing.fakes.metal_world import MetalWorld
from hostler.testing.time.clock import BEGINNING
from hostler.testing.time.loop import SimLoop


@dataclass(slots=True)
class MetalTruth:
    """One rack, as a judge reads it. Implements `hostler.lab.checks.findings.SimulatedWorld`.

    `cleanings` is when a cleaning command was last obeyed by each box, `handled` when a person last
    touched it.
    """

    rack: MetalWorld
    loop: SimLoop
    faults: Mapping[str, int] = field(default_factory=Counter[str])
    cleanings: dict[HostId, float] = field(default_factory=dict[HostId, float])
    handled: dict[HostId, float] = field(default_factory=dict[HostId, float])

    @property
    def now(self) -> float:
        """True time, in seconds since the run began."""
        return self.loop.time()

    def advance(self) -> None:
        """Let everything happen that is due by now."""
        self.rack.world.catch_up()

    def condition(self, box: HostId) -> Condition | None:
        """Return how a box stands now; None where it is not there."""
        there = self.rack.box(ResourceId(box))
        return there.condition if there is not None else None

    def since(self, box: HostId) -> float:
        """Return since when a box stands as it does; long ago where nothing ever happened to it."""
        times = (entry.at for entry in reversed(self.rack.log) if entry.box == box)
        return _seconds(next(times, BEGINNING - timedelta(days=1)) - BEGINNING)

    def off_since(self, box: HostId) -> float:
        """Return since when a box that is off was not on: that it broke meanwhile is no start."""
        at = self.since(box)
        for entry in reversed(self.rack.log):
            if entry.box == box and entry.condition is Condition.OFF:
                at = _seconds(entry.at - BEGINNING)
            elif entry.box == box and entry.condition is not Condition.FAILED:
                break
        return at

    def last(self, box: HostId, condition: Condition) -> float | None:
        """Return when a box last came to stand so; None where it never did."""
        log = reversed(self.rack.log)
        at = next((e.at for e in log if e.box == box and e.condition is condition), None)
        return None if at is None else _seconds(at - BEGINNING)

    def times(self, box: HostId, condition: Condition) -> int:
        """Return how often a box came to stand so."""
        return sum(e.box == box and e.condition is condition for e in self.rack.log)

    def was(self, box: HostId, condition: Condition, at: float) -> bool:
        """Tell whether a box stood so at a time of the past; at first, as it was listed."""
        log = reversed(self.rack.log)
        then = (e.condition for e in log if e.box == box and _seconds(e.at - BEGINNING) <= at)
        return next(then, self.rack.began.get(ResourceId(box))) is condition

    def touch(self, box: HostId) -> None:
        """Note that a person touched a box."""
        self.handled[box] = self.now

    def is_steady(self, box: HostId, time: float) -> bool:
        """Tell whether a box is up for so long, and nobody touched it meanwhile.

        That its controller is silent says nothing of it.
        """
        up = self.condition(box) is Condition.UP and self.now - self.since(box) >= time
        return up and self.now - self.handled.get(box, -time) >= time


def _seconds(time: timedelta) -> float:
    return time.total_seconds()
