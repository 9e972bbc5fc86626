"""Renamed hosts: those that a file calls otherwise while machines have them.

Under a new name a host is one that nobody has: it would be switched off with the machine on it.
"""

from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Store


async def renamed_hosts(store: Store, config: Config) -> tuple[Fault, ...]:
    """Return a fault for each host with another name by now, and a machine under the old one."""
    fleets = [fleet for fleet in config.fleets if config.host_addresses.get(fleet.account)]
    if not fleets:
        return ()
    recorded = {str(host.id) for host in await store.hosts()}
    found = list[Fault]()
    for fleet in fleets:
        at = config.host_addresses[fleet.account]
        new = {where: name for name, where in at.items() if name not in recorded}
        for machine in await store.machines(fleet.name):
            name = new.get(machine.address.lower())
            if name is not None and machine.phase is not Phase.DELETED and machine.host not in at:
                found.append(_fault(fleet, machine, name))
    return tuple(found)


def _fault(fleet: Fleet, machine: Machine, name: str) -> Fault:
    return Fault(
        path=f"provider.{fleet.account}",
        value=name,
        expected=f"{machine.host}, as the host at {machine.address} was called: machine "
        f"{machine.id} has it, and under another name nobody has it, and it is switched off",
        hint=f"call it {machine.host} again, and rename it when no machine has it",
    )
