"""Removed fleets: what the store still holds of fleets that the file has no longer."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from hostler.config.values import Config
from hostler.domain.hosts.purchasing import ORDER_COUNTS
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition
from hostler.domain.model.resource import OrphanClass
from hostler.domain.model.snapshot import Orphan
from hostler.ports.store import Store

from .orphans import orphan_cost
from .wording import clock_time, euros


class RemovedFleet(Struct, frozen=True, kw_only=True):
    """A fleet that the file has no longer, with what is on the bill in its name.

    `orphans` are the resources that bear its name and that no record explains, `orders` those whose
    hosts have not come yet. `taker` is the fleet that takes its machines over, and `successor` one
    of the file that came as this one left: perhaps it was only renamed.
    """

    row: FleetRow
    machines: int
    hosts: int
    cost: float
    orphans: int = 0
    orders: int = 0
    taker: FleetName | None = None
    successor: FleetName | None = None

    def sentence(self, unreadable: Mapping[FleetName, str], now: datetime) -> str:
        """Return what a person must know of it."""
        name, row = self.row.name, self.row
        since = f" since {clock_time(row.removed, now)}" if row.removed else ""
        cost = f", {euros(self.cost)} so far" if self.cost else ""
        about = f"the fleet {name} is not in the file{since}, and has {self.what}{cost}"
        if why := unreadable.get(name):
            return f"{about}: nobody looks after them, for {why}"
        if not self.needs_engine:
            return f"{about}: see hostler orphans FILE"
        if self.taker:
            return f"{about}: fleet {self.taker} takes them over"
        if row.ends:
            return f"{about}: they end"
        ways = f"put it back, or end them: hostler delete FILE {name}"
        if self.successor:
            ways += (
                f"; or, if it was renamed to {self.successor}, carry them over: hostler adopt FILE "
                f"--fleet {self.successor} --from-fleet {name}"
            )
        return f"{about}: kept as they are; {ways}"

    @property
    def needs_engine(self) -> bool:
        """Whether it has what an engine must see to its end, and not orphans alone."""
        return bool(self.machines or self.hosts or self.orders)

    @property
    def what(self) -> str:
        """What it has, counted."""
        others = (
            _counted(number, word)
            for number, word in (
                (self.hosts, "host"),
                (self.orders, "order"),
                (self.orphans, "orphan"),
            )
            if number
        )
        machines = _counted(self.machines, "machine")
        return " and ".join(others if not self.machines else (machines, *others)) or machines


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


async def removed_fleets(store: Store, config: Config, now: datetime) -> tuple[RemovedFleet, ...]:
    """Return the fleets of the store that the file lacks, and that still hold anything.

    One that is an object of a cluster does not lack, whether it can be read here or not.
    """
    names = {fleet.name for fleet in config.fleets if not fleet.removed}
    hosts, rows = await store.hosts(), {row.name: row for row in await store.fleets()}
    orphans = await store.orphans()
    takers = {row.adopts: row.name for row in rows.values() if row.adopts}
    found = [
        replace(
            await held_of(store, row, (hosts, orphans), now),
            taker=takers.get(row.name),
            successor=_successor(row, rows, config, now),
        )
        for row in rows.values()
        if row.name not in names and not config.is_object(row.name)
    ]
    return tuple(one for one in found if one.machines or one.hosts or one.orphans or one.orders)


_AT_ONCE = timedelta(minutes=1)
"""How long before another left a fleet may have been recorded that came in its place: an engine
finds both in one file, and records one after the other."""


def _successor(
    left: FleetRow, rows: Mapping[FleetName, FleetRow], config: Config, now: datetime
) -> FleetName | None:
    """Return the fleet of the file and of the same account that is new since one left; else None.

    Of several it is the one that is most like it; where that is no single one, none is.
    """
    known = config.known(left.name)
    if known is None:
        return None
    came = [
        fleet
        for fleet in config.fleets
        if not fleet.removed
        and fleet.account == known.account
        and _came_as_it_left(rows.get(fleet.name), left, now)
    ]
    made_alike = [f for f in came if (f.template, f.offers) == (known.template, known.offers)]
    alike = [fleet for fleet in made_alike if fleet.size == known.size]
    return next((some[0].name for some in (alike, made_alike, came) if len(some) == 1), None)


def _came_as_it_left(row: FleetRow | None, left: FleetRow, now: datetime) -> bool:
    """Tell whether a fleet came in the place of one that left, and was not there along with it."""
    if row is None:
        return True
    went = left.removed or now
    return row.created >= went - _AT_ONCE and abs(went - row.created) < row.created - left.created


async def held_of(
    store: Store,
    row: FleetRow,
    others: tuple[Iterable[Host], Iterable[Orphan]],
    now: datetime,
) -> RemovedFleet:
    """Return what is on the bill in a fleet's name, of these hosts and orphans too."""
    machines, (hosts, orphans) = await store.machines(row.name), others
    left = [o for o in orphans if o.fleet == row.name and o.cls is not OrphanClass.ABANDONED]
    taken = {machine.host for machine in machines}
    bought = [
        host
        for host in hosts
        if host.purchase.buyer == row.name
        and host.id not in taken
        and host.condition is not HostCondition.ABSENT
    ]
    came = {host.purchase.order for host in hosts}
    late = now - ORDER_COUNTS
    return RemovedFleet(
        row=row,
        orders=sum(order.at > late and order.id not in came for order in row.orders),
        machines=len(machines),
        hosts=len(bought),
        orphans=len(left),
        cost=await store.spent(row.name)
        + sum(machine.billing.cost(now) for machine in machines)
        + sum(orphan_cost(orphan, now) for orphan in left),
    )
