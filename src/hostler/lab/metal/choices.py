"""Choices of boxes: a machine takes the box that failed less often, and then the one preferred.

The order is that of the documents, read from the rack: one that is on, the cheapest, the one that
rested longest. How worn a box is nobody but the records knows: from there on nothing is said.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from hostler.domain.ids import FleetName, HostId
from hostler.domain.model.capabilities import PowerLimits, Preference
from hostler.domain.model.commands import Decision
from hostler.domain.model.host import Host
from hostler.domain.model.machine import Offer
from hostler.domain.model.resource import Condition
from hostler.lab.checks.holds import Holds
from hostler.lab.checks.host_choices import Waiting, chosen, is_asked_of, waits, worse
from hostler.lab.checks.shadow_store import ShadowStore
from hostler.testing.invariants import Found
from hostler.testing.time.clock import BEGINNING

from .ground_truth import MetalTruth

_FAR = 1e9
_MANY = 1000
"""So many may start at once where nothing bounds that."""
_LISTED = 40.0
"""So much later, in seconds, a rack was listed where nothing happens: that takes its time."""
_APART = 180.0
"""By less than so many seconds two rested alike: they are seen off at other moments."""


@dataclass(slots=True)
class BoxChoices:
    """Which boxes machines choose. `settled`: what stands so long, in seconds, everybody knows.

    `cost` is what an hour of a box costs, by its name; None where that is not told.
    `may_be_chosen` says whether one was listed just now as on or off, and nothing keeps it on.
    """

    truth: MetalTruth
    limits: PowerLimits
    settled: float
    cost: Callable[[HostId], float | None]
    may_be_chosen: Callable[[HostId], bool]

    def made(self, shadow: ShadowStore, fleet: FleetName, made: Decision, holds: Holds) -> Found:
        """Judge the boxes that a decision gives to the machines of a fleet."""
        binds = chosen(made, fleet, shadow)
        taken = {box for _, box in binds}
        for machine, box in binds:
            record = shadow.hosts.get(box)
            if record is None or not self._is_known(record):
                continue
            better = (
                other.id
                for other in self._free(shadow)
                if other.id not in taken
                and other.zone == machine.offer.zone
                and not is_asked_of(other.id, holds.wanted, self.truth.now)
                and not self._is_surplus(other, shadow)
                and self._is_better(other, record)
            )
            if found := worse(machine, box, better, f"comes first by {self.limits.prefer}"):
                return found
        free, settled = partial(self._off, shadow, holds), self.truth.now - self.settled
        return Waiting(made, fleet, shadow, free, settled).judged(at_once=self._at_once)

    @property
    def _at_once(self) -> bool:
        """Whether boxes need not take turns to start."""
        return self.limits.parallel_starts >= _MANY and not self.limits.start_gap

    def _off(self, shadow: ShadowStore, holds: Holds, offer: Offer) -> Iterator[HostId]:
        """Yield the boxes of a zone that are off and may be switched on at any time."""
        for one in self._free(shadow):
            asked = is_asked_of(one.id, holds.wanted, self.truth.now)
            fits = (one.type, one.zone) == (offer.type, offer.zone)
            if fits and not (self._is_on(one) or one.health.strikes or asked):
                yield one.id

    def _free(self, shadow: ShadowStore) -> Iterator[Host]:
        settled = self.truth.now - self.settled
        for record in shadow.hosts.values():
            seen = self._is_known(record) and self.may_be_chosen(record.id)
            if seen and self._is_shown(record) and waits(record, shadow, settled):
                yield record

    def _is_shown(self, record: Host) -> bool:
        """Tell whether a look shows what became of all that was asked: a quiet rack's is late."""
        asked = ((one.closed or one.at) - BEGINNING for one in record.asked)
        latest = self.truth.now - self.settled - _LISTED
        return all(at.total_seconds() <= latest for at in asked)

    def _is_known(self, record: Host) -> bool:
        """Tell whether a box is on or off for so long that it is known, and may be switched on.

        One that is on, and that nothing keeps so, may be about to go off.
        """
        since = self.truth.now - self._since(record)
        least = self.limits.least_off.total_seconds()
        stays = self.limits.stay_on or self._is_young(record)
        match self.truth.condition(record.id):
            case Condition.UP:
                return since > self.settled and bool(stays)
            case Condition.OFF:
                return since > self.settled + least and record.power.on is False
            case _:
                return False

    def _is_young(self, record: Host) -> bool:
        """Tell whether a box that is on has to stay so: it went on just now."""
        noted = record.power.since if record.power.on else None  # from its start on, not from up
        since = (noted - BEGINNING).total_seconds() if noted else self._since(record)
        return self.truth.now - since < self.limits.least_on.total_seconds()

    def _is_surplus(self, record: Host, shadow: ShadowStore) -> bool:
        """Tell whether a box may go off any time: more of its kind are on than stay so."""
        if not self._is_on(record) or self._is_young(record):
            return False
        kind = record.zone, record.type
        unused = (h for h in shadow.hosts.values() if h.id not in shadow.bindings)
        return (
            sum((h.zone, h.type) == kind and self._is_on(h) for h in unused) > self.limits.stay_on
        )

    def _since(self, record: Host) -> float:
        """Return since when a box stands as it does; by its record, where that counts anew.

        It does after each start that may have run unseen, be it for a moment.
        """
        noted = record.power.since
        at = (noted - BEGINNING).total_seconds() if noted is not None else 0.0
        return max(at, self.truth.since(record.id))

    def _is_better(self, other: Host, taken: Host) -> bool:
        """Tell whether another box comes before the one that is taken; it could start as well."""
        if not (self._is_on(other) or not self._is_on(taken) or self._at_once):
            return False
        if other.health.strikes != taken.health.strikes:
            return other.health.strikes < taken.health.strikes
        for one in self.limits.prefer:
            first, second = self._rank(other, one), self._rank(taken, one, by_records=True)
            if first is None or second is None:
                return False
            if first != second:
                margin = _APART if one is Preference.LONGEST_OFF else 0.0
                return first < second - margin
        return False

    def _is_on(self, record: Host) -> bool:
        return self.truth.condition(record.id) is Condition.UP

    def _rank(self, record: Host, by: Preference, *, by_records: bool = False) -> float | None:
        """Return a box's place by one preference; None where the rack does not tell it.

        Who went on and off between two looks rests since before that, `by_records`.
        """
        match by:
            case Preference.ON:
                return float(not self._is_on(record))
            case Preference.COST:
                return self.cost(record.id)
            case Preference.LONGEST_OFF:
                noted = record.power.since
                if by_records and noted is not None and not self._is_on(record):
                    return (noted - BEGINNING).total_seconds()
                return _FAR if self._is_on(record) else self._since(record)
            case Preference.WEAR:
                return None
