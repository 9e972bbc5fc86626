"""Strikes: what counts against a box happened to it (S4), at each save of its record.

One counts as not cleaned only if it was listed as failed since it last did, and as one that does
not go on only if somebody asked it to since it was to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf

from hostler.domain.ids import HostId, InstallationId
from hostler.domain.model.calls import Shows
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.resource import Condition
from hostler.testing.invariants import Found, Violation

from .sightings import Sightings

_NOT_CLEANED = "it could not be cleaned"
_NOT_ON = "it was not seen on after it was to go on"
_IDLE = frozenset({HostCondition.FREE, HostCondition.QUARANTINED})


@dataclass(slots=True)
class Strikes:
    """The strikes of all boxes, by their newest records; `faults` are how often each struck."""

    sightings: Sightings
    faults: Mapping[str, int]
    _struck: dict[HostId, tuple[int, float]] = field(
        default_factory=dict[HostId, tuple[int, float]]
    )
    _to_go_on: dict[tuple[InstallationId, HostId], datetime | None] = field(
        default_factory=dict[tuple[InstallationId, HostId], datetime | None]
    )

    def saved(self, own: InstallationId, host: Host, now: float) -> Found:
        """Judge a record by the one before it; `now` is in seconds of true time."""
        strikes, at = self._struck.get(host.id, (0, -inf))
        since = self._to_go_on.get((own, host.id))
        error = host.error if host.health.strikes > strikes else ""
        self._struck[host.id] = host.health.strikes, now if error == _NOT_CLEANED else at
        self._to_go_on[own, host.id] = host.power.begun
        if error == _NOT_CLEANED and self.sightings.last(host.id, Condition.FAILED) <= at:
            return _wrong(host, "could not be cleaned, and nothing failed")
        if error.startswith(_NOT_ON) and self._is_left_off(host, since):
            return _wrong(host, "does not go on, and nobody asked it to")
        return ()

    def _is_left_off(self, host: Host, since: datetime | None) -> bool:
        """Tell whether nobody asked a host that nobody has to go on, though it is to since then.

        Nobody can say so once a clock jumped.
        """
        if since is None or host.condition not in _IDLE or self.faults["clock_jump"]:
            return False
        return not any(one.shows is Shows.POWER and one.at >= since for one in host.asked)


def _wrong(host: Host, why: str) -> Found:
    text = f"{host.id} counts as one that {why}"
    return (Violation(invariant="S4", text=text, machine=host.machine),)
