"""Sightings: when engines last listed how each box stands."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from hostler.domain.ids import HostId
from hostler.domain.model.host import HOST
from hostler.domain.model.resource import Condition, Observation

SEEN = 90.0
"""So long, in seconds, after it went on or off an engine that looks knows of it."""

_Times = dict[HostId, float]
_WELL = (Condition.UP, Condition.OFF)
_ILL = (Condition.FAILED, Condition.UNKNOWN)


@dataclass(slots=True)
class Sightings:
    """When each box was last listed as on its condition says; in seconds of true time."""

    _times: dict[Condition, _Times] = field(
        default_factory=lambda: {c: {} for c in (*_WELL, *_ILL)}
    )
    _off: _Times = field(default_factory=dict[HostId, float])
    _newest_off: _Times = field(default_factory=dict[HostId, float])

    def note(self, observation: Observation, now: float) -> None:
        """Note which boxes were listed as off, as up, as failed, or as not known."""
        for resource in observation.resources:
            box, condition = HostId(resource.id), resource.condition
            if resource.slot != HOST or condition not in self._times:
                continue
            self._times[condition][box] = now
            if condition is Condition.OFF:
                self._newest_off[box] = now
            elif condition is Condition.UP:
                self._newest_off.pop(box, None)

    def saved(self, box: HostId) -> None:
        """Note that an engine saved a box's record: how it was listed by then is on it."""
        if box in self._newest_off:
            self._off[box] = self._newest_off[box]

    def led(self) -> None:
        """Note that an engine begins to lead: who listed last before may have died with it."""
        self._newest_off = {}

    def off(self, box: HostId) -> float:
        """Return when an engine last listed a box as off and saved its record; long ago if never.

        One that is listed so still counts: it is known to who listed it.
        """
        return max(self._off.get(box, -inf), self._newest_off.get(box, -inf))

    def last(self, box: HostId, condition: Condition) -> float:
        """Return when a box was last listed like this; long ago if never."""
        return self._times[condition].get(box, -inf)

    def is_ill(self, box: HostId, now: float) -> bool:
        """Tell whether a box is listed as failed, or as not known, and not as well just now."""
        well = self._newest(box, _WELL)
        return self._newest(box, _ILL) > well and now - well > SEEN

    def is_well(self, box: HostId, now: float) -> bool:
        """Tell whether a box was listed just now as on or off, and not otherwise since."""
        return self.is_recent(box, now) and self._newest(box, _WELL) > self._newest(box, _ILL)

    def is_recent(self, box: HostId, now: float) -> bool:
        """Tell whether a box was listed just now as on or off: one that is not reached is not."""
        return now - self._newest(box, _WELL) <= SEEN

    def _newest(self, box: HostId, conditions: Iterable[Condition]) -> float:
        return max(self.last(box, condition) for condition in conditions)
