"""Renamed hosts: those that a file calls otherwise while machines have them.

Under another name a host is one that nobody has, or that another machine has: it would be switched
off with the machine on it.
"""

from collections import defaultdict

from hostler.config.errors import Fault
from hostler.config.values import Config
from hostler.domain.ids import AccountName
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.ports.addresses import canonical
from hostler.ports.store import Store

Place = tuple[AccountName, str]
"""An account, and how it calls a host."""


async def renamed_hosts(store: Store, config: Config) -> tuple[Fault, ...]:
    """Return a fault for each host with another name by now, and a machine under the old one."""
    names = defaultdict[str, list[Place]](list)
    for account, hosts in config.host_addresses.items():
        for name, address in hosts.items():
            names[address].append((account, name))
    found = list[Fault]()
    for fleet in config.fleets:
        switched = names and fleet.account in config.host_addresses
        for machine in await store.machines(fleet.name) if switched else ():
            called = names.get(canonical(machine.address), [])
            if machine.host and called and (fleet.account, machine.host) not in called:
                found.append(_fault(fleet, machine, called[0]))
    return tuple(found)


def _fault(fleet: Fleet, machine: Machine, place: Place) -> Fault:
    account, name = place
    return Fault(
        path=f"provider.{account}",
        value=name,
        expected=f"{machine.host} of {fleet.account}, as the host at {machine.address} was called: "
        f"machine {machine.id} has it; under another name nobody has it, and it is switched off",
        hint=f"call it {machine.host} again, and rename it when no machine has it; or give the "
        "address to another host only once the engine has taken the new one of this",
    )
