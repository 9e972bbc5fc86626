"""Replay: a real plan, host by host, where it is known from when to when each host is there."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hostler.domain.ids import HostId
from hostler.domain.policy.demand import Demand
from hostler.domain.policy.purchasing import Lead

from .backtest import Life
from .optimum import Stay, changes_of

_S = timedelta(seconds=1)


def replayed(stays: tuple[Stay, ...], demand: Demand, lead: Lead) -> tuple[Life, ...]:
    """Return what each host does, all of which can be done.

    Who is at work is let go by the nearest end, and who is there the longest is taken first. Where
    nobody is free although the count says so, a host is kept beyond its end, or another is bought:
    so this may pay a little more than the stays do, never less.
    """
    plan = _Plan([_Host(stay.delivered, stay.end) for stay in stays], lead)
    for time, by in changes_of(demand):
        if by < 0:
            plan.let_go(time, -by)
        else:
            plan.take(time, by)
    return tuple(_life(host, n, demand.start) for n, host in enumerate(plan.hosts))


@dataclass(slots=True)
class _Host:
    """A host, in seconds; `begun` is since when it is at work."""

    delivered: int
    end: int
    free: int = 0
    begun: int | None = None
    worked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


class _Plan:
    def __init__(self, hosts: list[_Host], lead: Lead) -> None:
        self.hosts = hosts
        self._wipe, self._floor = round(lead.wipe / _S), round(lead.floor / _S)

    def let_go(self, time: int, count: int) -> None:
        """Let hosts go, those first that end first."""
        at_work = [(host, host.begun) for host in self.hosts if host.begun is not None]
        for host, begun in sorted(at_work, key=lambda entry: entry[0].end)[:count]:
            host.worked.append((begun, time))
            host.begun, host.free = None, time + self._wipe

    def take(self, time: int, count: int) -> None:
        """Take hosts that are free, those first that end last; and then whatever it takes."""
        there = [host for host in self.hosts if host.begun is None and host.delivered <= time]
        free = [h for h in there if h.free <= time and time - h.end < self._floor]
        chosen = sorted(free, key=lambda host: -host.end)[:count]
        bought = [_Host(time, time + self._floor) for _ in range(count - len(chosen))]
        self.hosts += bought
        for host in (*chosen, *bought):
            host.begun = time


def _life(host: _Host, number: int, start: datetime) -> Life:
    worked = tuple((start + a * _S, start + b * _S) for a, b in host.worked)
    last = max([host.end, *(end for _, end in host.worked)])
    return Life(
        host=HostId(f"o-{number:05}"),
        delivered=start + host.delivered * _S,
        ended=start + last * _S,
        worked=worked,
    )
