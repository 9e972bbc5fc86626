"""Backtest: a demand played against a policy, event by event, by the functions that buy for real.

Deliveries and wipes take the time that the lead says, and everything that is decided is done at
once: a cycle of the engine, lost calls and other faults are not in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId
from hostler.domain.policy.demand import Demand, Span, demand_of
from hostler.domain.policy.purchasing import (
    Lead,
    Leased,
    Limits,
    Policy,
    Purchase,
    Situation,
    let_go_first,
    taken_first,
)

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


class Life(Struct, frozen=True, kw_only=True):
    """What became of one host: from when to when it was paid, and when it was at work."""

    host: HostId
    delivered: datetime
    ended: datetime
    worked: tuple[Span, ...]


class Played(Struct, frozen=True, kw_only=True):
    """What came of a demand: every host, how long each machine waited, and what was served."""

    lives: tuple[Life, ...]
    waits: tuple[timedelta, ...]
    served: Demand

    @property
    def paid_hours(self) -> float:
        """The hours that are paid, from deliveries to ends."""
        return paid_hours(self.lives)

    @property
    def used_hours(self) -> float:
        """The hours in which a machine was on a host."""
        return sum((end - start) / _HOUR for life in self.lives for start, end in life.worked)


def paid_hours(lives: tuple[Life, ...]) -> float:
    """Return the hours that hosts are paid for in all."""
    return sum((life.ended - life.delivered) / _HOUR for life in lives)


class Rules(Struct, frozen=True, kw_only=True):
    """What a backtest is played by: how long things take, what may be bought, and the price."""

    lead: Lead = Lead()
    limits: Limits = Limits()
    price: float = 0.0


@dataclass(slots=True)
class _Stay:
    """A host under way: since when a machine is on it, and when there was one before."""

    host: Leased
    begun: datetime
    worked: list[Span] = field(default_factory=list[Span])


class Backtest:
    """One demand under one policy. What is bought by the end of the demand is paid to the end."""

    def __init__(self, demand: Demand, policy: Policy, rules: Rules | None = None) -> None:
        self._demand, self._policy, self._rules = demand, policy, rules or Rules()
        self._now = demand.start
        self._stays = dict[HostId, _Stay]()
        self._waiting = list[datetime]()
        self._coming = list[datetime]()
        self._ordered = list[datetime]()
        self._lives = list[Life]()
        self._waits = list[timedelta]()
        self._served = list[tuple[datetime, int]]()
        self._bought = 0

    def play(self) -> Played:
        """Play the demand to its end, and pay what is still paid then."""
        steps = dict(zip(self._demand.times, self._demand.wanted, strict=True))
        pending = [*self._demand.times, self._demand.until]
        while self._now < self._demand.until:
            if self._now in steps:
                self._want(steps[self._now])
                pending.pop(0)
            self._deliver()
            self._take()
            due = self._decide()
            self._served.append((self._now, len(self._at_work())))
            self._now = min([pending[0], *self._next(due)])
        return self._closed()

    def _next(self, due: datetime | None) -> Iterator[datetime]:
        """Return when something happens by itself."""
        yield from self._coming[:1]
        for stay in self._stays.values():
            if stay.host.free_from is not None and stay.host.free_from > self._now:
                yield stay.host.free_from
        if due is not None:
            yield due

    def _closed(self) -> Played:
        """End everything: nothing is wanted any more, and windows are paid to their end."""
        self._want(0)
        for at in self._coming:
            self._add(at)
        for stay in list(self._stays.values()):
            self._end(stay, max(self._now, stay.host.paid_until))
        served = demand_of(self._served, self._now)
        return Played(lives=tuple(self._lives), waits=tuple(self._waits), served=served)

    # ------------------------------------------------------------ what happens

    def _want(self, wanted: int) -> None:
        """Let so many machines be wanted; when there are fewer, those that wait go first."""
        at_work = self._at_work()
        change = wanted - len(at_work) - len(self._waiting)
        self._waiting += [self._now] * change
        while change < 0 and self._waiting:
            self._waits.append(self._now - self._waiting.pop())
            change += 1
        for host in let_go_first(at_work)[: max(0, -change)]:
            stay = self._stays[host.id]
            stay.worked.append((stay.begun, self._now))
            stay.host = replace(host, free_from=self._now + self._rules.lead.wipe)

    def _at_work(self) -> list[Leased]:
        return [stay.host for stay in self._stays.values() if stay.host.busy]

    def _deliver(self) -> None:
        while self._coming and self._coming[0] <= self._now:
            self._add(self._coming.pop(0))

    def _add(self, at: datetime) -> None:
        self._bought += 1
        name, end = HostId(f"h-{self._bought:05}"), at + self._rules.lead.floor
        host = Leased(id=name, delivered=at, paid_until=end, free_from=at)
        self._stays[name] = _Stay(host, at)

    def _take(self) -> None:
        """Let machines that wait have the free hosts."""
        if not self._waiting:
            return
        hosts = [stay.host for stay in self._stays.values()]
        free = [
            host for host in hosts if host.free_from is not None and host.free_from <= self._now
        ]
        for host in taken_first(free)[: len(self._waiting)]:
            self._waits.append(self._now - self._waiting.pop(0))
            stay = self._stays[host.id]
            stay.begun, stay.host = self._now, replace(host, free_from=None)

    # ------------------------------------------------------------ what is decided

    def _decide(self) -> datetime | None:
        """Do what the policy says, and return when it is to be asked again."""
        decided = self._policy(self._situation())
        self._do(decided)
        return decided.due

    def _do(self, decided: Purchase) -> None:
        for ended in decided.ends:
            self._end(self._stays[ended.host], self._now)
        self._ordered += [self._now] * decided.order
        self._coming += [self._now + self._rules.lead.delivery] * decided.order

    def _end(self, stay: _Stay, at: datetime) -> None:
        host = self._stays.pop(stay.host.id).host
        worked = tuple(stay.worked)
        life = Life(host=host.id, delivered=host.delivered, ended=at, worked=worked)
        self._lives.append(life)

    def _situation(self) -> Situation:
        self._ordered = [at for at in self._ordered if at > self._now - _DAY]
        return Situation(
            now=self._now,
            hosts=tuple(stay.host for stay in self._stays.values()),
            past=self._demand.known(self._now),
            coming=tuple(self._coming),
            waiting=tuple(self._waiting),
            ordered=tuple(self._ordered),
            price=self._rules.price,
            lead=self._rules.lead,
            limits=self._rules.limits,
        )
