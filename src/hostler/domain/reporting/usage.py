"""Usage: for how long machines were paid and used, and how many were wanted when, from records."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from hostler.domain.ids import MachineId
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.domain.policy.demand import Demand, demand_of

_HOUR = timedelta(hours=1)
_USED = frozenset({Phase.READY, Phase.DRAINING})

Image = tuple[datetime, Machine]
"""A machine's record after a change, and when that was."""


class Usage(Struct, frozen=True, kw_only=True):
    """What machines came to: hours paid and used, euros, and euros an hour from now on."""

    machines: int = 0
    paid_hours: float = 0.0
    used_hours: float = 0.0
    cost: float = 0.0
    price: float = 0.0

    def plus(self, other: "Usage") -> "Usage":
        """Return both together."""
        return Usage(
            machines=self.machines + other.machines,
            paid_hours=self.paid_hours + other.paid_hours,
            used_hours=self.used_hours + other.used_hours,
            cost=self.cost + other.cost,
            price=self.price + other.price,
        )

    @property
    def has_overhead(self) -> bool:
        """Whether hours were paid and used: what is owned is used, and nobody is paid for it."""
        return bool(self.paid_hours and self.used_hours)

    @property
    def overhead(self) -> float:
        """Paid hours that nothing was made of, as a part of the used ones; 0 where it has none."""
        return self.paid_hours / self.used_hours - 1 if self.has_overhead else 0.0


def usage(images: Iterable[Image], now: datetime) -> Usage:
    """Return what the machines of these images, in order of time, came to up to now."""
    total = Usage()
    for life in lives(images).values():
        total = total.plus(_of_one(life, now))
    return total


def cost_since(images: Iterable[Image], start: datetime, now: datetime) -> float:
    """Return what the machines of these images cost between two times, in euros."""
    found = lives(images).values()
    return sum(_cost(life, now) - _cost(life, start) for life in found)


def _cost(life: Sequence[Image], at: datetime) -> float:
    """Return what a machine had cost by then.

    A price may be learnt without an image: a later one says from when on it was paid.
    """
    for time, machine in reversed(life):
        if time <= at or _paid_since(machine, at):
            return machine.billing.cost(at)
    return 0.0


def _paid_since(machine: Machine, at: datetime) -> bool:
    """Tell whether a machine's price of this image was in force by then."""
    since = machine.billing.billed_from
    return _is_paid(machine) and since is not None and since <= at


def deleted_since(images: Iterable[Image], at: datetime) -> tuple[Machine, ...]:
    """Return the machines that are deleted, and were not by then, as they ended."""
    found = list[Machine]()
    for life in lives(images).values():
        before = [machine for time, machine in life if time < at]
        newest = life[-1][1]
        if newest.phase is Phase.DELETED and not (before and before[-1].phase is Phase.DELETED):
            found.append(newest)
    return tuple(found)


def staying(images: Iterable[Image], living: Collection[MachineId]) -> tuple[Image, ...]:
    """Return the images of machines that are living, or deleted: no others are this fleet's.

    A machine that went over to another fleet has its images there from then on, with all its cost.
    """
    known = tuple(images)
    ended = {id_ for id_, life in lives(known).items() if life[-1][1].phase is Phase.DELETED}
    return tuple((at, machine) for at, machine in known if machine.id in {*living, *ended})


def lives(images: Iterable[Image]) -> dict[MachineId, list[Image]]:
    """Return each machine's images by themselves."""
    found = dict[MachineId, list[Image]]()
    for time, machine in images:
        found.setdefault(machine.id, []).append((time, machine))
    return found


def _of_one(life: Sequence[Image], now: datetime) -> Usage:
    ends = (*(time for time, _ in life[1:]), now)
    spans = [(m, max(0.0, (end - at) / _HOUR)) for (at, m), end in zip(life, ends, strict=True)]
    pairs = zip(life[1:], life, strict=False)
    learnt = sum(_paid_before(image, before) for image, before in pairs)
    newest = life[-1][1]
    return Usage(
        machines=1,
        paid_hours=learnt + sum(hours for machine, hours in spans if _is_paid(machine)),
        used_hours=sum(hours for machine, hours in spans if machine.phase in _USED),
        cost=newest.billing.cost(now),
        price=newest.billing.price if _is_paid(newest) else 0.0,
    )


def _paid_before(image: Image, before: Image) -> float:
    """Return the hours between two images that were paid, of which only the later one tells."""
    time, machine = image
    since = machine.billing.billed_from
    if _is_paid(before[1]) or not _is_paid(machine) or since is None:
        return 0.0
    return max(0.0, (time - max(since, before[0])) / _HOUR)


def _is_paid(machine: Machine) -> bool:
    return (
        machine.billing.price > 0
        and machine.billing.billed_from is not None
        and machine.phase is not Phase.DELETED
    )


def recorded(images: Iterable[Image], now: datetime) -> Demand:
    """Return how many machines were wanted when, as far as the images reach back."""
    changes, wanted = list[tuple[datetime, int]](), 0
    counted = set[MachineId]()
    for time, machine in images:
        is_wanted = machine.wanted
        if is_wanted and machine.id not in counted:
            counted.add(machine.id)
            wanted += 1
        elif not is_wanted and machine.id in counted:
            counted.remove(machine.id)
            wanted -= 1
        changes.append((time, wanted))
    return demand_of(changes, max([now, *(time for time, _ in changes[-1:])]))
