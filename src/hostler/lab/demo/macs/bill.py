"""Bill: the hours that are paid for hosts that were ordered, beside the fewest that could be.

The pool costs the same whatever happens; what hostler buys is counted. The demand for it is what
the pool could not serve: machines that were ready, less the hosts of the pool that nobody else had
at the time. It is served demand, so that nobody gains by serving late; and the best possible is for
somebody who knew all of it beforehand, bought at the right minute, and waited for no delivery.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.policy.demand import Demand, demand_of
from hostler.lab.backtest.optimum import optimal_paid_hours
from hostler.simulators.scaleway.state.mac_catalogue import HOUR, LEASE
from hostler.simulators.scaleway.state.mac_records import Mac
from hostler.testing.time.clock import BEGINNING

WIPE = timedelta(minutes=5)
"""What a wipe takes at least in the simulator: so the best possible is never put too high."""

_NONE = timedelta(0)


@dataclass(slots=True)
class Bill:
    """What the pool could not serve, sample by sample, and the fewest hours that it had to cost."""

    steps: list[tuple[datetime, int]] = field(default_factory=list[tuple[datetime, int]])
    _last: tuple[datetime, int] | None = None
    _known: tuple[tuple[tuple[datetime, int], ...], float] = ((), 0.0)

    def note(self, now: datetime, short: int) -> None:
        """Note how many machines were ready that the pool had no host for.

        Between two samples it is the smaller number: who was there at both was there in between.
        """
        if self._last is not None:
            before, older = self._last
            served = min(older, short)
            if not self.steps or self.steps[-1][1] != served:
                self.steps.append((before, served))
        self._last = (now, short)

    def demand(self) -> Demand:
        """Return the demand for hosts that are ordered, up to the last sample."""
        until = self._last[0] if self._last else BEGINNING
        return demand_of(self.steps, until)

    def optimal_hours(self) -> float:
        """Return the fewest hours for which hosts had to be paid to serve just that."""
        demand = self.demand()
        if not any(demand.wanted):
            return 0.0
        steps = tuple(self.steps)
        if self._known[0] != steps or demand.wanted[-1]:
            hours = optimal_paid_hours(demand, delivery=_NONE, wipe=WIPE)
            self._known = (steps, hours)
        return self._known[1]


def paid_hours(ordered: Iterable[Mac], now: float) -> float:
    """Return the hours that are paid for hosts by now, from delivery to end, the floor at least."""
    return sum(_seconds(mac, now) for mac in ordered) / HOUR


def _seconds(mac: Mac, now: float) -> float:
    """Return for how long a host is paid; it is let by the day, so its floor tells its delivery."""
    if mac.deletable is None:
        return 0.0
    delivered = mac.deletable - LEASE
    return max(LEASE, (now if mac.ended is None else mac.ended) - delivered)
