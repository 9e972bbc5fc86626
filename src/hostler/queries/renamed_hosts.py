"""Renamed hosts: those that a file calls otherwise while machines have them.

Under another name a host is one that nobody has, or that another machine has: it would be switched
off with the machine on it.
"""

from collections import defaultdict

from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.ports.store import Store


async def renamed_hosts(store: Store, config: Config) -> tuple[Fault, ...]:
    """Return a fault for each host with another name by now, and a machine under the old one."""
    found = list[Fault]()
    for fleet in config.fleets:
        names = defaultdict[str, list[str]](list)
        for name, address in config.host_addresses.get(fleet.account, {}).items():
            names[address].append(name)
        for machine in await store.machines(fleet.name) if names else ():
            called = names.get(machine.address.lower(), [])
            living = machine.phase is not Phase.DELETED and machine.host is not None
            if living and called and machine.host not in called:
                found.append(_fault(fleet, machine, called[0]))
    return tuple(found)


def _fault(fleet: Fleet, machine: Machine, name: str) -> Fault:
    return Fault(
        path=f"provider.{fleet.account}",
        value=name,
        expected=f"{machine.host}, as the host at {machine.address} was called: machine "
        f"{machine.id} has it, and under another name it is switched off for want of a machine",
        hint=f"call it {machine.host} again, and rename it when no machine has it; or give the "
        "address to another host only once the engine has taken the new one of this",
    )
