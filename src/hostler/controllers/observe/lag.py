"""Lag: how long effects took to show in looks; the longest is a metric, beyond settle an alarm."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog

from hostler.domain.ids import AccountName, PartId
from hostler.domain.model.inventory import View
from hostler.domain.model.machine import Known, Machine
from hostler.domain.model.provider import Traits
from hostler.ports.metrics import Meters

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.lag")

_YOUNG = 3
"""How many times settle a promise may be old to be one: later it is a loss, not a lag."""


class LagWatch:
    """Compares definite answers with the looks that follow them.

    A part that an answer promised and a later look lacked is remembered until a look shows it; a
    part that an answer removed and a later look still shows is measured at once.
    """

    def __init__(self, account: AccountName, traits: Traits, meters: Meters) -> None:
        self._account, self._meters = account, meters
        self._settle = traits.settle
        self._promised = dict[PartId, datetime]()
        self._shown = set[PartId]()

    def watch(self, machines: Iterable[Machine], view: View) -> None:
        """Measure after a look; machines that nothing was asked of lately cost next to nothing."""
        for machine in machines:
            for place in machine.places:
                for known in place.known:
                    self._measure(machine, place.slot.kind, known, view)

    def _measure(self, machine: Machine, kind: str, known: Known, view: View) -> None:
        sighting = view.sightings.get(known.id)
        if known.removed is not None:
            if known.missing:
                return
            if sighting is not None and view.shown(sighting) > known.removed:
                self._say(f"{kind} removed", view.shown(sighting) - known.removed)
        elif sighting is not None:
            self._shown.add(known.id)
            since = self._promised.pop(known.id, None)
            if since is not None:
                self._say(f"{kind} made", view.shown(sighting) - since)
        elif known.absent is None and not known.gone and known.id not in self._shown:
            covered = view.covered(known.zone, kind, machine.id)
            if covered is not None and known.since < covered < known.since + _YOUNG * self._settle:
                self._promised[known.id] = known.since

    def _say(self, kind: str, lag: timedelta) -> None:
        self._meters.settled(self._account, kind, lag)
        if lag > self._settle:
            log.warning(
                "an effect took longer to show than settle allows: raise `settle`",
                kind=kind,
                seconds=round(lag.total_seconds(), 1),
                settle=self._settle.total_seconds(),
            )
