"""Recorded: observing, and ending, where ownership stands in our records alone.

On such hosts nothing can be written, so that a provider knows them and none of the machines on
them: what a machine has of a host is added by its binding, as an engine adds it.
"""

from collections.abc import Iterable
from datetime import datetime

from hostler.domain.hosts.lifecycle import decide_hosts
from hostler.domain.ids import AccountName, HostId, InstallationId, MachineId
from hostler.domain.model.capabilities import Ownership
from hostler.domain.model.host import Host, HostCondition, HostGoal
from hostler.domain.model.machine import Machine
from hostler.domain.model.provider import Capabilities
from hostler.domain.model.resource import Observation, Scope
from hostler.domain.model.snapshot import AccountSnapshot, HostTransition, Snapshot
from hostler.domain.observation.allocations import Allocations, scopes_of_hosts
from hostler.ports.provider import Provider


def is_recorded(capabilities: Capabilities) -> bool:
    """Tell whether our records alone say which machine has which host."""
    hosts = capabilities.hosts
    return hosts is not None and hosts.ownership is Ownership.RECORD


async def observe(
    provider: Provider,
    scopes: tuple[Scope, ...],
    installation: InstallationId,
    machines: Iterable[Machine],
) -> Observation:
    """Observe as an engine does that has these machines in its records, with their hosts."""
    capabilities = provider.capabilities
    observation = await provider.observe(scopes_of_hosts(scopes, capabilities))
    if not is_recorded(capabilities):
        return observation
    by_id = {machine.id: machine for machine in machines}
    allocations = Allocations(
        capabilities=capabilities,
        installation=installation,
        bindings=_bindings(by_id.values()),
        machines=by_id,
    )
    return allocations.observed(scopes, observation)


def _bindings(machines: Iterable[Machine]) -> dict[HostId, MachineId]:
    return {machine.host: machine.id for machine in machines if machine.host is not None}


def let_go(machine: Machine, now: datetime) -> Host:
    """Return the record of the host that a machine has let go of: somebody used it."""
    return Host(
        id=machine.host or HostId(""),
        account=AccountName("kit"),
        zone=machine.offer.zone,
        condition=HostCondition.DIRTY,
        since=now,
        goal=HostGoal.CLEAN,
    )


def decided(host: Host, snapshot: Snapshot) -> HostTransition:
    """Return what an engine's cycle makes of a host that no machine has."""
    cycle = AccountSnapshot(
        cycle=snapshot.cycle,
        now=snapshot.now,
        account=host.account,
        hosts={host.id: host},
        bindings={},
        machines={},
        past={},
        issued=frozenset(),
        inventory=snapshot.inventory,
        capabilities=snapshot.capabilities,
        epoch=snapshot.epoch,
        took=snapshot.took,
        steady=snapshot.steady,
        ours=snapshot.ours,
    )
    return next(one for one in decide_hosts(cycle) if one.host.id == host.id)
