"""Removed fleets: what the store still holds of fleets that the file has no longer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from hostler.config.values import Config
from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import FleetRow
from hostler.domain.model.host import Host, HostCondition
from hostler.ports.store import Store

from .wording import clock_time, euros


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFleet:
    """A fleet that the file has no longer, with what is on the bill in its name."""

    row: FleetRow
    machines: int
    hosts: int
    cost: float

    def sentence(self, unreadable: Mapping[FleetName, str], now: datetime) -> str:
        """Return what a person must know of it."""
        name, row = self.row.name, self.row
        since = f" since {clock_time(row.removed, now)}" if row.removed else ""
        cost = f", {euros(self.cost)} so far" if self.cost else ""
        about = f"the fleet {name} is not in the file{since}, and has {self._what}{cost}"
        if why := unreadable.get(name):
            return f"{about}: nobody looks after them, for {why}"
        if row.ends:
            return f"{about}: they end"
        return f"{about}: kept as they are; put it back, or end them: hostler delete FILE {name}"

    @property
    def _what(self) -> str:
        parts = [_counted(self.machines, "machine")] if self.machines or not self.hosts else []
        parts += [_counted(self.hosts, "host")] if self.hosts else []
        return " and ".join(parts)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


async def removed_fleets(store: Store, config: Config, now: datetime) -> tuple[RemovedFleet, ...]:
    """Return the fleets of the store that the file lacks, and that still hold anything."""
    names = {fleet.name for fleet in config.fleets if not fleet.removed}
    hosts = await store.hosts()
    found = [
        await _removed(store, row, hosts, now)
        for row in await store.fleets()
        if row.name not in names
    ]
    return tuple(one for one in found if one.machines or one.hosts or one.row.orders)


async def _removed(
    store: Store, row: FleetRow, hosts: Iterable[Host], now: datetime
) -> RemovedFleet:
    machines = await store.machines(row.name)
    taken = {machine.host for machine in machines}
    bought = [
        host
        for host in hosts
        if host.purchase.buyer == row.name
        and host.id not in taken
        and host.condition is not HostCondition.ABSENT
    ]
    return RemovedFleet(
        row=row,
        machines=len(machines),
        hosts=len(bought),
        cost=sum(machine.billing.cost(now) for machine in machines),
    )
