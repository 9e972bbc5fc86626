"""Host records: the hosts of objects as the store has them, each with its machine and power."""

from collections.abc import Iterable, Mapping

from hostler.config.values import Config
from hostler.domain.ids import AccountName, MachineId
from hostler.domain.model.machine import Machine
from hostler.queries.hosts import recorded_hosts
from hostler.queries.power_states import power_statuses

from .hosts import Known
from .reported import Reported


async def known_hosts(
    of: Reported, accounts: Iterable[AccountName], config: Config
) -> Mapping[tuple[str, str], Known]:
    """Return the hosts on record by their account and their name. StoreError goes through."""
    hosts = await recorded_hosts(of.store, accounts)
    machines = dict[MachineId, Machine]()
    for host in hosts:
        if host.binding is not None:
            machine = await of.store.machine(host.binding)
            machines |= {host.binding: machine} if machine is not None else {}
    power = power_statuses(hosts, machines.values(), config.fleets, of.clock.now())
    return {
        (str(host.account), name): Known(
            host=host,
            machine=machines.get(host.binding) if host.binding is not None else None,
            power=power.get(host.id),
            node=of.node(host.binding) if host.binding is not None else None,
        )
        for host in hosts
        for name in {host.name or str(host.id), str(host.id)}
    }
