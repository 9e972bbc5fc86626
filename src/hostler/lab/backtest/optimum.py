"""Optimum: the fewest hours that can be paid for a demand when all of it is known beforehand.

A network flow on the very times of the demand: there is no grid. A host is paid from its delivery
to its end, at least the floor; whoever stops using it leaves it to be wiped, unless it is ended; a
demand is served when it comes. Hosts are counted and not told apart: each is an arc from its
delivery to the end of its floor, and then along the times for as long as it is kept; what is there
and not wanted flows back.

The count is never more than any real plan pays. It can be less where wipes follow each other so
closely that hosts would have to swap their tenants: replay.py makes a real plan of it, so that what
is best lies between the two, and where they agree the optimum is exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from msgspec import Struct

from hostler.domain.policy.demand import Demand
from hostler.domain.policy.purchasing import Lead

from .min_cost_flow import Network

_S = timedelta(seconds=1)
_LEAD = Lead()


class Stay(Struct, frozen=True):
    """A host that is paid from its delivery to its end, in seconds from the demand's beginning."""

    delivered: int
    end: int


def optimal_paid_hours(
    demand: Demand,
    *,
    delivery: timedelta = _LEAD.delivery,
    wipe: timedelta = _LEAD.wipe,
    floor: timedelta = _LEAD.floor,
) -> float:
    """Return the fewest hours that can be paid to serve a demand at once, all of it known.

    Nothing can be served sooner than a delivery after the record's beginning. To compare with a
    policy that let demand wait, give what it served (`Played.served`) and no delivery: then
    nothing is served later than the policy did, and nothing need be served sooner.
    """
    lead = Lead(delivery=delivery, wipe=wipe, floor=floor)
    stays = best_stays(demand.since(demand.start + delivery), lead)
    return sum(stay.end - stay.delivered for stay in stays) / 3600


def best_stays(demand: Demand, lead: Lead) -> tuple[Stay, ...]:
    """Return the hosts of one cheapest way to serve a demand, by delivery."""
    changes = tuple(changes_of(demand))
    return _Plan(changes, round(lead.floor / _S), round(lead.wipe / _S)).stays()


def changes_of(demand: Demand) -> Iterator[tuple[int, int]]:
    """Return by how much the demand changes when, in seconds; at its end nothing is wanted."""
    before = 0
    for time, wanted in zip(demand.times, demand.wanted, strict=True):
        if wanted != before:
            yield round((time - demand.start) / _S), wanted - before
        before = wanted
    if before:
        yield round((demand.until - demand.start) / _S), -before


class _Plan:
    """The network of one demand: two nodes a time, and one for each time at which it falls."""

    def __init__(self, changes: Sequence[tuple[int, int]], floor: int, wipe: int) -> None:
        self._floor, self._wipe = floor, wipe
        self._rises = [(time, by) for time, by in changes if by > 0]
        self._falls = [(time, -by) for time, by in changes if by < 0]
        ends = {time + floor for time, _ in self._rises}
        falls = {time for time, _ in self._falls}
        wiped = {time + wipe for time in falls}
        self._times = sorted({time for time, _ in self._rises} | ends | falls | wiped)
        self._place = {time: place for place, time in enumerate(self._times)}
        self._size = len(self._times)
        self._network = Network(2 * self._size + len(self._falls))
        self._bought = {time: self._bought_at(time) for time, _ in self._rises}
        self._ended = dict[int, int]()
        self._early = dict[tuple[int, int], int]()
        self._along()
        self._around_falls()

    def stays(self) -> tuple[Stay, ...]:
        """Send what is wanted through, and read off who is there from when to when."""
        for time, by in self._rises:
            self._network.supply[self._place[time]] += by
        for time, by in self._falls:
            self._network.supply[self._place[time + self._wipe]] -= by
        self._network.relax()
        bought = self._spread(self._bought.items())
        ended = self._spread(self._ended.items())
        ended += self._spread((time, arc) for (time, _), arc in self._early.items())
        return tuple(Stay(a, b) for a, b in zip(sorted(bought), sorted(ended), strict=True))

    def _spread(self, arcs: Iterable[tuple[int, int]]) -> list[int]:
        return [time for time, arc in arcs for _ in range(self._network.flow(arc))]

    def _bought_at(self, time: int) -> int:
        """Let a host be there for its floor."""
        return self._network.arc(self._place[time], self._held(time + self._floor), self._floor)

    def _held(self, time: int) -> int:
        return self._size + self._place[time]

    def _along(self) -> None:
        """Let hosts be kept, be ended, and be there though nobody wants them."""
        for place, time in enumerate(self._times):
            self._ended[time] = self._network.arc(self._held(time), place, 0)
            if place + 1 < self._size:
                after = self._times[place + 1]
                self._network.arc(self._held(time), self._held(after), after - time)
                self._network.arc(place + 1, place, 0)

    def _around_falls(self) -> None:
        """Let a host that is ended instead of being wiped need no wipe."""
        for number, (time, by) in enumerate(self._falls):
            node = 2 * self._size + number
            last = self._place[time + self._wipe]
            self._network.arc(node, last, 0, by)
            for place in range(self._place[time], last):
                end = self._times[place]
                self._early[end, number] = self._network.arc(self._held(end), node, 0)
